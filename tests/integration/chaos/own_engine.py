"""A Docker Engine of a test's own, which it may stop, kill and start again: nobody else uses it.

It runs in a network namespace of its own, so that its bridge and its packet filter are apart from those of the machine's
engine. Needs root and Debian's docker.io. The images come from another engine.
"""

import contextlib
import fcntl
import http.client
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "ops" / "lib"))
import engine_api  # noqa: E402

PIECE = 1 << 20


class OwnEngine:
    """`data` outlives the test, so that the images are copied once; `run` is for sockets and logs."""

    def __init__(self, data, run):
        self.data, self.run = pathlib.Path(data), pathlib.Path(run)
        self.data.mkdir(parents=True, exist_ok=True)
        self.run.mkdir(parents=True, exist_ok=True)
        # Held as long as this process lives.
        self.lock = open(self.data.with_name(self.data.name + ".lock"), "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise AssertionError(f"another run uses the engine in {self.data}") from None
        self.log = self.run / "dockerd.log"
        self.api = engine_api.Engine(str(self.run / "engine.sock"))
        self.namespace = f"cupel-engine-{os.getpid()}"
        self.process = None
        subprocess.run(["ip", "netns", "add", self.namespace], check=True)
        subprocess.run(["ip", "-n", self.namespace, "link", "set", "lo", "up"], check=True)

    def start(self, wait=60):
        # Not `ip netns exec`: its own /sys would hide the control groups.
        command = ["nsenter", f"--net=/var/run/netns/{self.namespace}", "dockerd", "--host", f"unix://{self.api.path}",
                   "--pidfile", str(self.run / "dockerd.pid"), "--exec-root", str(self.run / "exec"),
                   "--data-root", str(self.data), "--log-level", "warn"]
        environment = {**os.environ, "PATH": self.filter_path() + os.environ["PATH"]}
        self._forget_the_dead()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment,
                                            start_new_session=True)
        deadline = time.monotonic() + wait
        while wait and not self.api.answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError("the engine did not start\n" + self.log.read_text(errors="replace")[-3000:])
            time.sleep(0.1)

    def _forget_the_dead(self):
        """An engine that was killed leaves its helper's pid; a helper that nobody has buried would be taken for a live one."""
        for file in (self.run / "dockerd.pid", self.run / "exec" / "containerd" / "containerd.pid"):
            state = "gone"
            with contextlib.suppress(OSError, ValueError):
                state = pathlib.Path(f"/proc/{int(file.read_text())}/stat").read_text().rpartition(")")[2].split()[0]
            if state in ("gone", "Z"):
                file.unlink(missing_ok=True)

    @staticmethod
    def filter_path():
        """Some kernels have only the legacy packet filter; ops/lib/engine.sh then keeps links under its names."""
        links = pathlib.Path(os.environ.get("CUPEL_ENGINE_RUN", "/run/cupel-engine")) / "bin"
        return f"{links}:" if links.is_dir() else ""

    def copy_image(self, source, label="cupel.image.identity"):
        """The oldest toolchain image of another engine, which most units get; returns its name."""
        wanted = [image for image in source.call("GET", "/images/json")
                  if label in (image["Labels"] or {}) and not str(image["RepoTags"]).endswith("nocc']")]
        wanted = sorted(wanted, key=lambda image: image["RepoTags"] or [""])[:1]
        if not wanted:
            raise AssertionError("the engine has no toolchain image: cupel image build")
        have = {image["Id"] for image in self.api.call("GET", "/images/json")}
        name = (wanted[0]["RepoTags"] or [wanted[0]["Id"]])[0]
        if wanted[0]["Id"] not in have:
            self._copy(source, name)
        return name

    def _copy(self, source, name):
        reading = engine_api.EngineConnection(source.path, timeout=300)
        writing = engine_api.EngineConnection(self.api.path, timeout=300)
        with contextlib.closing(reading), contextlib.closing(writing):
            reading.request("GET", "/images/get?" + urllib.parse.urlencode({"names": name}))
            tar = reading.getresponse()
            writing.request("POST", "/images/load?quiet=1", body=iter(lambda: tar.read(PIECE), b""),
                            headers={"Content-Type": "application/x-tar"}, encode_chunked=True)
            answer = writing.getresponse()
            said = answer.read()
            if answer.status != 200 or b'"error' in said:
                raise AssertionError(f"image {name} could not be copied: {answer.status} {said[:300]!r}")

    def send(self, number):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    def stop(self, number=signal.SIGTERM, timeout=60):
        """TERM ends its containers first; KILL leaves them to its next start."""
        self.send(number)
        self.process.wait(timeout)

    def close(self):
        with contextlib.suppress(AssertionError, OSError, http.client.HTTPException):
            for container in self.api.call("GET", "/containers/json?all=1"):
                self.api.remove(container["Id"])
        if self.process and self.process.poll() is None:
            try:
                self.stop()
            except subprocess.TimeoutExpired:
                self.stop(signal.SIGKILL)
        self._end_helpers()
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)
        for line in reversed(pathlib.Path("/proc/mounts").read_text().splitlines()):
            target = line.split()[1]
            if target == str(self.data) or target.startswith((f"{self.data}/", f"{self.run}/")):
                subprocess.run(["umount", "-l", target], check=False, capture_output=True)
        shutil.rmtree(self.run, ignore_errors=True)

    def _end_helpers(self):
        """What an engine that was killed has left running: its helper, and one process for each container."""
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{self.run}/".encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                    os.kill(int(entry.name), signal.SIGKILL)
