#!/usr/bin/env python3
"""What the scripts of ops/lib do as a user with sudo: the engine of others is left alone, ours is opened, and what an
interrupted installation brought is remembered. The programs that would change the machine are stand-ins that note their
arguments; the shell, curl and the engine's socket are real."""
import os
import shutil
import socketserver
import subprocess
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
USER = GROUP = 65534 if os.geteuid() == 0 else None

# Root's rights, as far as a test needs them: the owner of the socket may open it. SUDO_CURL is what root learns of it.
SUDO = """#!/bin/bash
echo "$*" >>"$NOTES"
case $1 in
  curl) exit "$SUDO_CURL" ;;
  systemctl) ;;
  chgrp) chmod 0600 "$3" ;;
  *) exec "$@" ;;
esac
"""


class Engine(BaseHTTPRequestHandler):
    def do_GET(self):
        text = self.server.answers.get(self.path, "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass


class ScriptsTest(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp(prefix="cupel-scripts-test-"))
        self.addCleanup(shutil.rmtree, self.place)
        shutil.copytree(ROOT / "ops/lib", self.place / "ops/lib")
        (self.place / "bin").mkdir()
        self.program("sudo", SUDO)
        self.socket = self.place / "engine.sock"
        self.notes = self.place / "notes"
        self.state = self.place / "state/cupel/ops"
        self.drop_in = self.place / "units/docker.socket.d/cupel.conf"
        self.environment = {
            "PATH": f"{self.place}/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.place),
            "XDG_STATE_HOME": str(self.place / "state"), "NOTES": str(self.notes), "SUDO_CURL": "0",
            "CUPEL_ENGINE_SOCKET": str(self.socket), "CUPEL_ENGINE_SOCKET_UNIT": str(self.drop_in),
            # No script may come near the machine's own engine.
            "CUPEL_ENGINE_RUN": str(self.place / "run"), "CUPEL_ENGINE_DATA": str(self.place / "data")}

    def program(self, name, text):
        (self.place / "bin" / name).write_text(text)
        (self.place / "bin" / name).chmod(0o755)

    def serve(self):
        """An engine whose socket is closed to all but root."""
        server = socketserver.ThreadingUnixStreamServer(str(self.socket), Engine)
        server.answers = self.answers = {
            "/_ping": "OK", "/version": '{"Components":[{"Name":"Engine","Version":"20.10.24"}]}',
            "/v1.41/containers/json?all=1": "[]", "/v1.41/images/json?all=1": "[]",
            "/v1.41/volumes": '{"Volumes":[],"Warnings":null}'}
        self.socket.chmod(0)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)

    def installed(self, *packages):
        self.state.mkdir(parents=True)
        (self.state / "packages").write_text("".join(name + "\n" for name in packages))
        self.program("dpkg-query", "#!/bin/sh\necho installed\n")

    def run_script(self, text, **environment):
        if USER:
            for entry in [self.place, *self.place.rglob("*")]:
                os.chown(entry, USER, GROUP)
        script = f'. "{self.place}/ops/lib/common.sh"\n' + "".join(
            f'. "$CUPEL_ROOT/ops/lib/{part}.sh"\n' for part in ("packages", "engine", "build")) + text
        done = subprocess.run(["bash", "-c", script], env=self.environment | environment, cwd=self.place, user=USER,
                              group=GROUP, extra_groups=[] if USER else None, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)
        return done, self.notes.read_text().splitlines() if self.notes.exists() else []

    def test_an_engine_of_others_that_is_closed_to_us_is_neither_stopped_nor_replaced(self):
        self.serve()
        for why, code in (("answers root", "0"), ("is slow", "28"), ("root's password was wrong", "1")):
            with self.subTest(why):
                done, notes = self.run_script("ensure_engine", SUDO_CURL=code)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("you may not use it", done.stderr)
                self.assertIn("usermod -aG", done.stderr)
                self.assertEqual([], [note for note in notes if not note.startswith("curl ")])

    def test_our_engine_is_opened_to_the_user_also_after_a_run_that_was_interrupted(self):
        self.serve()
        self.installed("curl", "docker.io")
        done, notes = self.run_script('ensure_engine && echo "$DOCKER_HOST"')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, f"unix://{self.socket}\n")
        self.assertIn("Engine 20.10.24", done.stderr)
        self.assertRegex(self.drop_in.read_text(), r"^\[Socket\]\nSocketGroup=\S+\n$")
        self.assertEqual([], [note for note in notes if " stop " in note or " restart " in note], "it may be at work")

        # Taken back, and twice is as good as once.
        done, notes = self.run_script("stop_our_engine; stop_our_engine")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertFalse(self.drop_in.parent.exists())
        self.assertFalse((self.state / "engine").exists())

    def test_an_engine_is_empty_only_when_it_says_so(self):
        self.serve()
        self.socket.chmod(0o666)
        ask = f'if engine_is_empty "{self.socket}"; then echo empty; else echo used; fi'
        self.assertEqual(self.run_script(ask)[0].stdout, "empty\n")
        for path, answer in (("/v1.41/volumes", '{"Volumes":[{"Name":"v"}]}'), ("/v1.41/images/json?all=1", '[{"Id":"i"}]'),
                             ("/v1.41/containers/json?all=1", "")):
            with self.subTest(path):
                whole = dict(self.answers)
                self.answers[path] = answer
                self.assertEqual(self.run_script(ask)[0].stdout, "used\n")
                self.answers.update(whole)
        self.assertEqual(self.run_script(ask.replace("engine.sock", "no.sock"))[0].stdout, "used\n")

    def test_only_a_compiler_cache_that_was_not_there_is_remembered(self):
        cache = self.place / "cache"
        self.program("ccache", f"#!/bin/sh\necho {cache}\n")
        self.run_script("remember_compiler_cache")
        self.assertEqual((self.state / "compiler_caches").read_text(), f"{cache}\n")
        cache.mkdir()
        (self.state / "compiler_caches").unlink()
        self.run_script("remember_compiler_cache")
        self.assertFalse((self.state / "compiler_caches").exists())

    def test_packages_of_an_interrupted_installation_are_remembered(self):
        self.program("dpkg-query", "#!/bin/sh\nexit 1\n")
        self.program("dpkg", "#!/bin/sh\n")
        self.program("apt-get", '#!/bin/sh\ncase $* in *install*) kill -9 "$VICTIM" ;; esac\n')
        done, _ = self.run_script("export VICTIM=$$; ensure_packages engine")
        self.assertEqual(done.returncode, -9, done.stderr)
        self.assertEqual((self.state / "packages").read_text().split(), ["containerd", "docker.io", "runc"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
