#!/usr/bin/env python3
"""The systemd units as they are installed: no warning, a bound on what a service can reach, users and folders as they should be.

Works without a running systemd. ops/boot-units starts the same units for real.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

UNITS = "usr/lib/systemd/system"
# Tenths of the exposure level that `systemd-analyze security` computes: 0 is shut in, 100 is open.
EXPOSURE_MAX = {"cupel-coordinator.service": 20, "cupel-worker.service": 50}


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.returncode, done.stdout


def installed(root):
    code, said = run("env", f"DESTDIR={root}", os.environ["CMAKE"], "--install", os.environ["CUPEL_BUILD_DIR"], "--prefix", "/usr")
    if code != 0:
        raise RuntimeError(f"the installation failed: {said[-2000:]}")


class Units(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="cupel-units-")
        cls.root = pathlib.Path(cls.scratch.name)
        installed(cls.root)
        # The targets that ours are ordered by.
        shutil.copytree("/usr/lib/systemd/system", cls.root / UNITS, symlinks=True, dirs_exist_ok=True,
                        ignore=lambda folder, names: [name for name in names if name.startswith("cupel-")])

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def verify(self):
        return run("systemd-analyze", "verify", "--man=no", f"--root={self.root}", *EXPOSURE_MAX)

    def security(self, unit):
        return run("systemd-analyze", "security", "--offline=true", f"--root={self.root}", f"--threshold={EXPOSURE_MAX[unit]}", unit)

    def altered(self, unit, change):
        """Changes a unit until the test is over."""
        file = self.root / UNITS / unit
        text = file.read_text()
        self.addCleanup(file.write_text, text)
        file.write_text(change(text))
        self.assertNotEqual(file.read_text(), text)

    def test_have_nothing_that_systemd_complains_of(self):
        self.assertEqual(self.verify(), (0, ""))

    def test_a_word_that_is_no_setting_would_be_seen(self):
        self.altered("cupel-worker.service", lambda text: text.replace("UMask=", "Umask="))
        self.assertIn("'Umask'", self.verify()[1])

    def test_a_missing_program_would_be_seen(self):
        self.altered("cupel-worker.service", lambda text: text.replace("/usr/bin/cupel-worker", "/usr/bin/cupel-wurker"))
        self.assertIn("/usr/bin/cupel-wurker", self.verify()[1])

    def test_shut_the_services_in(self):
        for unit in EXPOSURE_MAX:
            with self.subTest(unit):
                code, said = self.security(unit)
                self.assertEqual(code, 0, said)

    def test_an_open_service_would_be_seen(self):
        for unit in EXPOSURE_MAX:
            self.altered(unit, lambda text: text.replace("CapabilityBoundingSet=\n", "").replace("NoNewPrivileges=yes\n", ""))
            self.assertNotEqual(self.security(unit)[0], 0, unit)

    def test_name_documents_that_are_installed(self):
        for unit in EXPOSURE_MAX:
            for line in (self.root / UNITS / unit).read_text().splitlines():
                if line.startswith("Documentation=file://"):
                    self.assertTrue((self.root / line.removeprefix("Documentation=file:///")).is_file(), line)

    @unittest.skipUnless(os.geteuid() == 0, "needs root: folders are given to their user")
    def test_come_with_a_user_and_its_folders(self):
        for folder in ("etc", "var/lib"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        code, said = run("systemd-sysusers", f"--root={self.root}", "cupel.conf")
        self.assertEqual(code, 0, said)
        users = {line.split(":")[0]: line.split(":") for line in (self.root / "etc/passwd").read_text().splitlines()}
        self.assertEqual(users["cupel"][5:], ["/var/lib/cupel", "/usr/sbin/nologin"])
        code, said = run("systemd-tmpfiles", "--create", f"--root={self.root}", "cupel.conf")
        self.assertEqual(code, 0, said)
        uid = int(users["cupel"][2])
        for folder, mode, owner in (("var/lib/cupel", 0o755, uid), ("etc/cupel", 0o750, 0)):
            facts = (self.root / folder).stat()
            self.assertEqual((stat.S_IMODE(facts.st_mode), facts.st_uid), (mode, owner), folder)


if __name__ == "__main__":
    if shutil.which("systemd-analyze") is None:
        print("SKIPPED: systemd-analyze is not on this machine (package systemd)")
        sys.exit(77)
    unittest.main()
