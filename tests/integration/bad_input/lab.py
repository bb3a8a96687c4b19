"""Runs the built programs in a directory of their own and tells what they left behind."""

import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import socketserver
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "fleet"))
import harness  # noqa: E402

BIN = pathlib.Path(os.environ.get("CUPEL_BIN_DIR") or sys.exit("CUPEL_BIN_DIR names the directory of the built programs"))
SEEDS = "/var/tmp/cupel-test-seeds"


class Done:
    """A program that has ended."""

    def __init__(self, command, code, out, err):
        self.command, self.code, self.out, self.err = command, code, out, err

    def __str__(self):
        return f"{' '.join(map(str, self.command))}: exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Running:
    """A program that runs; its output goes to a file."""

    def __init__(self, command, log, env):
        self.command, self.log = [str(part) for part in command], log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_for(self, what, seconds=30):
        """Until the log holds this text or the program has ended; returns the log."""
        deadline = time.monotonic() + seconds
        while what not in self.text():
            if self.process.poll() is not None and what not in self.text():
                raise AssertionError(f"ended with {self.process.returncode} without saying {what!r}\n{self.text()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"never said {what!r}\n{self.text()}")
            time.sleep(0.02)
        return self.text()

    def end(self, seconds=30):
        """TERM, unless it has ended by itself."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.wait(seconds)

    def wait(self, seconds=30):
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"does not end: {' '.join(self.command)}\n{self.text()}") from None


class Lab:
    def __init__(self):
        # Under /var/tmp: the engine mounts directories below it, and /tmp may be a tmpfs.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cupel-bad-", dir="/var/tmp"))
        self.env = {**os.environ, "XDG_STATE_HOME": str(self.dir / "state"), "XDG_CONFIG_HOME": str(self.dir / "config"),
                    "NO_COLOR": "1"}
        for name in list(self.env):
            if name.startswith("CUPEL_"):
                del self.env[name]
        self.running = []
        self.mounts = []

    # -- programs -------------------------------------------------------------------------------

    def run(self, program, *arguments, stdin="", seconds=60, env=None):
        command = [str(BIN / program), *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=seconds, cwd=self.dir,
                              env={**self.env, **(env or {})})
        return Done(command, done.returncode, done.stdout, done.stderr)

    def cupel(self, *arguments, **kwargs):
        return self.run("cupel", *arguments, **kwargs)

    def start(self, program, *arguments):
        log = self.dir / f"{program}-{len(self.running)}.log"
        child = Running([BIN / program, *arguments], log, self.env)
        self.running.append(child)
        return child

    def coordinator(self, data_dir=None, **settings):
        """The arguments of a coordinator here."""
        own = {"data-dir": data_dir or self.dir / "coordinator", "listen": "127.0.0.1:0", "control": "tcp://127.0.0.1:0",
               "bulk": "tcp://127.0.0.1:0", "trusted-keys": self.dir / "trusted", "token-file": self.dir / "token",
               "key-file": self.key("coordinator"), "ready-file": self.dir / "coordinator.json", **settings}
        (self.dir / "trusted").touch()
        return ["cupel-coordinator", *self.flags(own)]

    def worker(self, name="w", **settings):
        own = {"data-dir": self.dir / name, "name": name, "coordinator-control": "tcp://127.0.0.1:9",
               "coordinator-bulk": "tcp://127.0.0.1:9", "coordinator-key": self.public("coordinator"),
               "key-file": self.key(name), "metrics-listen": "127.0.0.1:0", "seed-dir": SEEDS, "slots": 1,
               "engine-socket": harness.ENGINE_SOCKET, **settings}
        return ["cupel-worker", *self.flags(own)]

    @staticmethod
    def flags(settings):
        return [part for name, value in settings.items() for part in (f"--{name}", str(value))]

    def key(self, name):
        file = self.dir / f"{name}.key"
        if not file.exists():
            done = self.cupel("key", "generate", file)
            assert done.code == 0, done
        return file

    def public(self, name):
        return self.cupel("key", "show", self.key(name)).out.split()[-1]

    def ready(self):
        return json.loads((self.dir / "coordinator.json").read_text())

    def links(self):
        """What a worker needs to reach the coordinator that runs here."""
        ready = self.ready()
        return {"coordinator-control": ready["control"], "coordinator-bulk": ready["bulk"],
                "coordinator-key": ready["public_key"]}

    def server(self):
        return ["--server", f"http://{self.ready()['http']}", "--token-file", self.dir / "token"]

    # -- things that are in the way -------------------------------------------------------------

    def campaign(self, *sources, extra="", name="campaign.yaml"):
        text = "apiVersion: cupel/v1\nkind: Campaign\nname: bad\nrepositories:\n"
        file = self.dir / name
        file.write_text(text + "".join(f"  - {source}\n" for source in sources) + extra)
        return file

    def file(self, name, text):
        path = self.dir / name
        path.write_text(text)
        return path

    def small_disk(self, name, mebibytes):
        path = self.dir / name
        path.mkdir(mode=0o700)
        harness.run(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=0700", "tmpfs", str(path)])
        self.mounts.append(path)
        return path

    @staticmethod
    def fill(disk, leave=0):
        """Until nothing, or `leave` bytes, of a small disk is free. Returns the file that fills it."""
        filler = disk / "filler"
        with open(filler, "wb", buffering=0) as out:
            facts = os.statvfs(disk)
            left = facts.f_bavail * facts.f_frsize - leave
            while left > 0:
                try:
                    left -= out.write(b"\0" * min(left, 1 << 20))
                except OSError:
                    break
        return filler

    @staticmethod
    def taken_port():
        """A socket of another program: keep it, and its port."""
        taken = socket.socket()
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        return taken, taken.getsockname()[1]

    def tls_before(self, address):
        """A TLS proxy before a plain server. Returns its port on localhost and its certificate's file."""
        key, certificate = self.dir / "tls.key", self.dir / "tls.pem"
        harness.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                     "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out",
                     str(certificate)])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        listener = socket.create_server(("127.0.0.1", 0))

        def copy(source, target):
            try:
                while piece := source.recv(65536):
                    target.sendall(piece)
                target.shutdown(socket.SHUT_WR)
            except OSError:
                pass

        def carry(plain):
            host, port = address.rsplit(":", 1)
            try:
                with context.wrap_socket(plain, server_side=True) as inside, \
                        socket.create_connection((host, int(port))) as outside:
                    back = threading.Thread(target=copy, args=(outside, inside), daemon=True)
                    back.start()
                    copy(inside, outside)
                    back.join()
            except OSError:
                plain.close()  # a client that does not trust us

        def serve():
            while True:
                threading.Thread(target=carry, args=listener.accept()[:1], daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        return listener.getsockname()[1], certificate

    def empty_engine(self, security=("name=seccomp,profile=default",)):
        """The socket of an engine that holds no image, and confines its containers by `security`."""
        path = str(self.dir / "engine.sock")
        answers = {"version": {"Version": "20.10.24", "ApiVersion": "1.41", "MinAPIVersion": "1.12"},
                   "info": {"ID": "x", "SecurityOptions": list(security)}}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = answers.get(self.path.split("?")[0].rsplit("/", 1)[-1], [])
                data = b"OK" if self.path.endswith("_ping") else json.dumps(body).encode()
                self.send_response(200)
                self.send_header("Api-Version", "1.41")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_HEAD = do_GET

            def address_string(self):
                return "local"

            def log_message(self, *_):
                pass

        class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
            daemon_threads = True

        threading.Thread(target=Server(path, Handler).serve_forever, daemon=True).start()
        return path

    # -- what is left ---------------------------------------------------------------------------

    def processes(self):
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0].startswith(str(BIN).encode()) and any(str(self.dir).encode() in word for word in words):
                found.append(b" ".join(words).decode(errors="replace"))
        return found

    def containers(self):
        ids = ["w-" + file.read_text().strip() for file in self.dir.rglob("worker.id")]
        return [container for worker in ids for container in harness.containers(**{"cupel.worker": worker})]

    def leftovers(self):
        """What must not be there once nothing runs: processes, containers, work of attempts."""
        left = [f"process {text}" for text in self.processes()]
        left += [f"container {container['Names']}" for container in self.containers()]
        left += [f"build cache {path}" for path in self.dir.rglob("gocache/*")]
        left += [f"half a file {path}" for path in self.dir.rglob("*.new")]
        return left

    def close(self):
        for child in self.running:
            if child.process.poll() is None:
                child.process.kill()
                child.process.wait()
        for path in self.mounts:
            subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
        shutil.rmtree(self.dir, ignore_errors=True)
