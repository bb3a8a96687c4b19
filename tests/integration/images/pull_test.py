#!/usr/bin/env python3
"""cupel image pull against a registry of Debian's docker-registry package on loopback: by this machine's engine, and by
Podman's service.

usage: pull_test.py CUPEL
"""
import ctypes
import glob
import gzip
import hashlib
import http.client
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "ops", "lib"))
import engine_api  # noqa: E402

CUPEL = ""
OWN_ENGINE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "engines", "own_engine")
MEDIA = "application/vnd.docker."


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def inside(process, function):
    """The function's answer, from a thread in the network namespace of a process; None: in ours."""
    if process is None:
        return function()
    answers = []

    def go():
        with open(f"/proc/{process}/ns/net") as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        answers.append(function())

    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    if not answers:
        raise RuntimeError("it failed in the other network namespace")
    return answers[0]


class Registry:
    """The daemon, with one image pushed by its HTTP API. `process`: whose network namespace it listens in."""

    def __init__(self, folder, process=None, port=None):
        self.port = port or free_port()
        self.process_inside = process
        config = folder + "/registry.yml"
        with open(config, "w") as out:
            out.write(f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {folder}/data}}}}\n"
                      f"http: {{addr: '127.0.0.1:{self.port}', secret: 'of the test'}}\n")
        program = shutil.which("docker-registry")
        self.log = open(folder + "/registry.log", "wb")
        way_in = ["nsenter", f"--net=/proc/{process}/ns/net"] if process else []
        self.process = subprocess.Popen([*way_in, program, "serve", config], stdin=subprocess.DEVNULL, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        self.wait()

    def wait(self):
        for _ in range(200):
            if inside(self.process_inside, self.listens):
                return
            if self.process.poll() is not None:
                raise RuntimeError("docker-registry ended")
            # The daemon says nothing when it is ready.
            self.process_wait(0.05)
        raise RuntimeError("docker-registry does not listen")

    def listens(self):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def process_wait(self, seconds):
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            pass

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.log.close()

    def call(self, method, path, body=None, kind="application/octet-stream"):
        return inside(self.process_inside, lambda: self.call_here(method, path, body, kind))

    def call_here(self, method, path, body, kind):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body, {"Content-Type": kind})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status}")
        return answer

    def push_blob(self, name, data):
        place = self.call("POST", f"/v2/{name}/blobs/uploads/").headers["Location"]
        path = place[place.index("/v2/"):]
        self.call("PUT", path + ("&" if "?" in path else "?") + "digest=" + digest(data), data)
        return {"size": len(data), "digest": digest(data)}

    def push_image(self, name):
        layer = io.BytesIO()
        with tarfile.open(fileobj=layer, mode="w") as tar:
            info = tarfile.TarInfo("hello")
            # The registry and the engine keep what they know; a new body makes it a new image.
            data = os.urandom(64)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        packed = gzip.compress(layer.getvalue(), mtime=0)
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {},
                             "rootfs": {"type": "layers", "diff_ids": [digest(layer.getvalue())]}}).encode()
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": MEDIA + "distribution.manifest.v2+json",
            "config": {"mediaType": MEDIA + "container.image.v1+json", **self.push_blob(name, config)},
            "layers": [{"mediaType": MEDIA + "image.rootfs.diff.tar.gzip", **self.push_blob(name, packed)}],
        }).encode()
        self.call("PUT", f"/v2/{name}/manifests/1.26", manifest, MEDIA + "distribution.manifest.v2+json")
        return digest(manifest)


class PodmanService:
    """Podman's service with a store and a network namespace of its own (tests/integration/engines/own_engine)."""

    def __init__(self, registries):
        # Short: a unix socket's path has 107 bytes. ops/uninstall knows the folder.
        self.folder = "/var/lib/cupel-own-engines/podman-" + os.urandom(4).hex()
        self.socket = self.folder + "/engine.sock"
        # The newer name of the variable and the older one.
        environment = dict(os.environ, CONTAINERS_REGISTRIES_CONF=registries, REGISTRIES_CONFIG_PATH=registries)
        self.script = subprocess.Popen([OWN_ENGINE, "podman", self.folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, env=environment)
        self.said = ""
        for line in self.script.stdout:
            self.said += line
            if line == "ready\n":
                break
        self.answers = self.said.endswith("ready\n")

    def process(self):
        """Its id."""
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                with open(path, "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if words[0].endswith(b"podman") and f"{self.folder}/root".encode() in words and b"service" in words:
                return int(path.split("/")[2])
        raise RuntimeError("podman is not there")

    def stop(self):
        self.script.stdin.close()
        self.script.wait()
        self.script.stdout.close()


class PullTest(unittest.TestCase):
    """By this machine's engine."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="cupel-registry-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket = None
        self.start()
        self.addCleanup(self.registry.stop)
        self.name = "cupel-test/go-" + os.urandom(4).hex()

    def start(self):
        self.registry = Registry(self.folder)

    def table(self, wanted):
        path = os.path.join(self.folder, "table.json")
        with open(path, "w") as out:
            json.dump({"version": 1, "entries": [{
                "minor": "1.26", "go": "1.26.8",
                "registry": {"name": self.name, "tag": "1.26", "digest": wanted}}]}, out)
        return path

    def cupel(self, *arguments):
        environment = dict(os.environ, XDG_STATE_HOME=self.folder + "/state", NO_COLOR="1")
        if self.socket:
            environment["DOCKER_HOST"] = "unix://" + self.socket
        return subprocess.run([CUPEL, *arguments], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120)

    def pull(self, table, *more):
        return self.cupel("image", "pull", "1.26", "--table", table, "--registry", f"127.0.0.1:{self.registry.port}",
                          *more)

    def remove(self, identity):
        reference = f"127.0.0.1:{self.registry.port}/{self.name}@{identity}"
        engine_api.Engine(self.socket).request("DELETE", f"/images/{reference}?force=1")

    def test_pulls_by_digest_and_finds_the_image_by_it(self):
        identity = self.registry.push_image(self.name)
        self.addCleanup(self.remove, identity)
        table = self.table(identity)

        first = self.pull(table)
        listed = self.cupel("--json", "image", "ls", "--table", table)
        second = self.pull(table)

        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertIn("pulled", first.stdout)
        rows = [row for row in json.loads(listed.stdout) if row.get("identity") == identity]
        self.assertEqual([(row["go"], row["present"]) for row in rows], [("1.26.8", True)])
        self.assertEqual(second.returncode, 0, second.stderr)
        self.assertIn("is here", second.stdout)

    def test_says_that_the_registry_has_no_such_digest(self):
        self.registry.push_image(self.name)
        answer = self.pull(self.table("sha256:" + "0" * 64))
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("cupel image build 1.26", answer.stderr)

    def test_says_that_the_registry_does_not_answer(self):
        table = self.table("sha256:" + "0" * 64)
        self.registry.stop()
        answer = self.pull(table)
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("error:", answer.stderr)

    def test_refuses_a_version_that_the_table_has_not(self):
        answer = self.cupel("image", "pull", "1.19", "--table", self.table("sha256:" + "0" * 64))
        self.assertEqual(answer.returncode, 2, answer.stderr)
        self.assertIn("1.19", answer.stderr)


class PodmanPullTest(PullTest):
    """By Podman's service, which wants to be told that a registry has no TLS, on loopback as well."""

    def start(self):
        port = 5000  # of a network namespace in which nobody else listens
        registries = self.folder + "/registries.conf"
        with open(registries, "w") as out:
            out.write(f'[[registry]]\nlocation = "127.0.0.1:{port}"\ninsecure = true\n')
        service = PodmanService(registries)
        self.addCleanup(service.stop)
        if not service.answers:
            self.skipTest(service.said)
        self.socket = service.socket
        self.registry = Registry(self.folder, service.process(), port)


if __name__ == "__main__":
    CUPEL = sys.argv.pop(1)
    unittest.main()
