#!/usr/bin/env python3
"""The installed units under a systemd that is process 1: started, killed, drained, refused.

A container of a minimal Debian, without a network, with what systemd needs (CAP_SYS_ADMIN; the kernel's settings are read-only
there) and what a look at the services' mounts needs (CAP_SYS_PTRACE). The worker finds no engine in it: what is looked at are the
services, not tasks.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

RUNTIME = ["systemd-sysv", "curl", "libarchive13", "libcapnp-0.9.2", "libcurl4", "libfmt9", "libgit2-1.5", "libpq5",
           "libprometheus-cpp-core1.0", "libseccomp2", "libsoci-core4.0", "libsoci-postgresql4.0", "libsoci-sqlite3-4.0", "libsodium23",
           "libspdlog1.10", "libssl3", "libsystemd0", "libyaml-cpp0.7", "libzmq5"]
NAME = f"cupel-units-{os.getpid()}"
WAIT_S = 60
SERVICES = ("cupel-coordinator", "cupel-worker")


def run(*command, check=True, timeout=600, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout, check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def inside(*command, **options):
    return run("docker", "exec", NAME, *command, **options)


def eventually(what, look):
    end = time.monotonic() + WAIT_S
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {WAIT_S} s\n" + inside("journalctl", "--no-pager", "-n", "40", check=False))
        time.sleep(0.2)


def unit(name):
    said = inside("systemctl", "show", name, "-p",
                  "Type,ActiveState,SubState,Result,NRestarts,MainPID,ExecMainStatus,StatusText,User")
    return dict(line.split("=", 1) for line in said.splitlines())


def journal(name):
    return inside("journalctl", "--no-pager", "-o", "cat", "-u", name)


def package_sources():
    """This host's own, and its way to them."""
    found = [file for file in [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
             if file.suffix in (".list", ".sources") and file.is_file() and "bookworm" in file.read_text()]
    proxies = run("apt-config", "dump", "--format", '%f "%v";%n', "Acquire::http::Proxy", "Acquire::https::Proxy").splitlines()
    return [str(file) for file in found], [f"--aptopt={line}" for line in proxies if line and '""' not in line]


def boot(build, cmake, base, scratch):
    if not base.exists():
        sources, proxies = package_sources()
        run("mmdebstrap", "--variant=minbase", "--include=" + ",".join(RUNTIME), *proxies, "bookworm", str(base), *sources)
    image = run("docker", "import", str(base)).split()[-1]
    root = pathlib.Path(scratch, "root")
    run("env", f"DESTDIR={root}", cmake, "--install", build, "--prefix", "/usr")
    # Docker's package makes it.
    (root / "usr/lib/sysusers.d/docker.conf").write_text("g docker -\n")
    run("docker", "create", "--name", NAME, "--label", "cupel.units=boot", "--network", "none", "--cap-add", "SYS_ADMIN", "--cap-add", "SYS_PTRACE",
        "--security-opt", "seccomp=unconfined", "--security-opt", "apparmor=unconfined", "--tmpfs", "/run", "--tmpfs", "/run/lock",
        "-v", "/sys/fs/cgroup:/sys/fs/cgroup:ro", "-v", "/sys/fs/cgroup/systemd:/sys/fs/cgroup/systemd:rw", "-e", "container=docker",
        image, "/lib/systemd/systemd", "--unit=multi-user.target", "--log-target=console")
    run("docker", "cp", f"{root}/.", f"{NAME}:/")
    shutil.rmtree(root)
    run("docker", "start", NAME)
    return image


class Units(unittest.TestCase):
    """In the order of their names, one after another: each begins with both services running, or says that it stops one."""

    @classmethod
    def setUpClass(cls):
        eventually("systemd is up", lambda: inside("systemctl", "is-system-running", check=False).strip() in ("running", "degraded"))
        inside("sh", "-c", "cp /usr/share/doc/cupel/examples/coordinator.yaml /etc/cupel/ && systemctl start cupel-coordinator")
        key = inside("cupel", "key", "show", "/var/lib/cupel/coordinator/coordinator.key").strip()
        example = inside("cat", "/usr/share/doc/cupel/examples/worker.yaml")
        lines = [f'coordinator_key: "{key}"' if line.startswith("coordinator_key:") else line.replace("coordinator.example.com", "127.0.0.1")
                 for line in example.splitlines()]
        run("docker", "exec", "-i", NAME, "sh", "-c", "cat > /etc/cupel/worker.yaml", input="\n".join(lines) + "\n")
        inside("sh", "-c", """set -e
            cupel -q key generate /etc/cupel/worker.key && chown cupel: /etc/cupel/worker.key
            runuser -u cupel -- cupel -q key trust w1 /etc/cupel/worker.key.pub --list /var/lib/cupel/coordinator/trusted_keys
            systemctl start cupel-worker""")

    @staticmethod
    def sessions():
        return journal("cupel-worker").count("session with fleet")

    def test_1_start_and_are_ready(self):
        for name in SERVICES:
            facts = unit(name)
            self.assertEqual([facts[key] for key in ("Type", "ActiveState", "SubState", "NRestarts", "User")],
                             ["notify", "active", "running", "0", "cupel"], name)
        self.assertEqual(inside("curl", "-s", "http://127.0.0.1:8080/-/ready").strip(), "ready")
        eventually("the worker has a session", self.sessions)
        self.assertIn(unit("cupel-worker")["StatusText"], ("waits for its coordinator", "takes no tasks"))

    def test_2_are_shut_in(self):
        for name in SERVICES:
            pid = unit(name)["MainPID"]
            status = dict(line.split(":", 1) for line in inside("cat", f"/proc/{pid}/status").splitlines())
            self.assertEqual([status[key].strip() for key in ("NoNewPrivs", "CapBnd", "CapEff", "Seccomp")], ["1", "0" * 16, "0" * 16, "2"], name)
            for folder, allowed in (("/usr", False), ("/etc", False), (f"/var/lib/cupel/{name.removeprefix('cupel-')}", True)):
                made = inside("nsenter", f"--mount=/proc/{pid}/ns/mnt", "sh", "-c", f"touch {folder}/try 2>&1 && rm {folder}/try; true")
                self.assertEqual("Read-only" not in made, allowed, f"{name} {folder}: {made}")

    def test_3_come_back_when_they_are_killed(self):
        for name in SERVICES:
            killed, before = unit(name)["MainPID"], self.sessions()
            inside("systemctl", "kill", "--signal=KILL", "--kill-who=main", name)
            facts = eventually(f"{name} is back", lambda name=name, killed=killed: self.back(name, killed))
            self.assertEqual(facts["NRestarts"], "1", name)
            eventually("the worker has a session again", lambda before=before: self.sessions() > before)

    @staticmethod
    def back(name, killed):
        facts = unit(name)
        return facts if facts["ActiveState"] == "active" and facts["MainPID"] not in ("0", killed) else None

    def test_4_stop_in_order(self):
        for name, words in (("cupel-worker", "leaving: drained"), ("cupel-coordinator", "cupel-coordinator has stopped")):
            inside("systemctl", "stop", name)
            facts = unit(name)
            self.assertEqual([facts[key] for key in ("ActiveState", "Result", "ExecMainStatus")], ["inactive", "success", "0"], name)
            self.assertIn(words, journal(name))
        inside("systemctl", "start", *SERVICES)

    def test_5_are_not_started_again_with_a_wrong_configuration(self):
        for name in SERVICES:
            file = f"/etc/cupel/{name.removeprefix('cupel-')}.yaml"
            inside("sh", "-c", f"cp {file} {file}.good; echo 'no_such_setting: 1' >> {file}; systemctl stop {name}")
            self.assertIn("failed", inside("systemctl", "start", name, check=False))
            facts = unit(name)
            # "auto-restart" where it will be tried again.
            self.assertEqual([facts[key] for key in ("SubState", "NRestarts", "ExecMainStatus")], ["failed", "0", "2"], name)
            inside("sh", "-c", f"mv {file}.good {file}; systemctl start {name}")


def main():
    parser = argparse.ArgumentParser(prog="ops/boot-units", description=__doc__)
    parser.add_argument("--build", required=True, help="a build folder with all programs")
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--base", type=pathlib.Path, help="the minimal Debian, *.tar: made and left there where it is missing")
    chosen, rest = parser.parse_known_args()
    scratch = tempfile.mkdtemp(prefix="cupel-units-", dir="/var/tmp")
    image = None
    try:
        image = boot(chosen.build, chosen.cmake, chosen.base or pathlib.Path(scratch, "base.tar"), scratch)
        return 0 if unittest.main(argv=[sys.argv[0], *rest], exit=False).result.wasSuccessful() else 1
    finally:
        run("docker", "rm", "-f", NAME, check=False)
        if image:
            run("docker", "rmi", image, check=False)
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
