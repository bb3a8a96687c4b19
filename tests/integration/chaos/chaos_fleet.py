"""A fleet that can be struck: five workers on hosts of their own, an engine of its own, relays, small disks, two clocks."""

import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import harness  # noqa: E402
import slow_link  # noqa: E402

WORKERS = 5
SMALL = 5  # the worker whose data directory is a small file system of its own
COORDINATOR_DISK = "96m"
WORKER_DISK = "1g"
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
LEASE_S, HEARTBEAT_S = 8, 1
# Exit codes with which a daemon ends by itself under these faults: told to, store or disk failed, session or data locked.
OWN_ENDS = range(0, 100)


class ChaosFleet(harness.Fleet):
    http_timeout = 2  # a stopped coordinator must not stop the faults

    def __init__(self, bin_dir, engine):
        self.own_engine = engine
        self.links = {}
        self.mounted = []
        self.downs = {}
        self.ends = []
        self.twins = []
        self.lock = threading.RLock()
        super().__init__(
            bin_dir, workers=0, slots=1, engine=engine.api,
            coordinator_settings={"heartbeat-ms": HEARTBEAT_S * 1000, "lease-ms": LEASE_S * 1000, "backoff-ms": 200,
                                  "quarantine-ms": 3000, "disk-reserve": "2MiB"},
            worker_settings={"reap-period": "2s", "reap-grace": "5s", "post-run": "10s", "drain-limit": "20s",
                             "disk-reserve": "256MiB", "inode-reserve": "1000",
                             "seed-dir": "/var/tmp/cupel-test-seeds"})
        try:
            self.environment = self.clocked("workers")
            for index in range(1, WORKERS + 1):
                self._add_host(index)
                self.add_worker(index)
        except BaseException:
            self.close(check=False)
            raise

    # -- parts ----------------------------------------------------------------------------------

    def start_coordinator(self, wait=True):
        if self.coordinator is None:
            self._small_disk(self.coordinator_disk(), COORDINATOR_DISK)
        super().start_coordinator(wait)

    def coordinator_environment(self):
        return self.clocked("coordinator")

    def planes(self):
        """Ports of the control and of the bulk plane, for each coordinator."""
        return [self.control_port], [self.bulk_port]

    def ports(self):
        """All that strangers reach."""
        return [port for plane in self.planes() for port in plane] + [self.http_port]

    def coordinator_disk(self):
        """The small disk that holds what a coordinator writes to files."""
        return self.dir / "coordinator"

    def _add_host(self, index):
        host = harness.Host(index)
        self.hosts.append(host)
        self.links[host] = [slow_link.SlowLink(host.outside, ("127.0.0.1", port)) for plane in self.planes() for port in plane]
        if index == SMALL:
            self._small_disk(self.dir / f"w{index}", WORKER_DISK)

    def endpoints_for(self, host):
        ports = iter(link.port for link in self.links[host])
        return [",".join(f"tcp://{host.outside}:{next(ports)}" for _ in plane) for plane in self.planes()]

    def _small_disk(self, path, size, mode=0o700):
        path.mkdir(mode=mode)
        harness.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode={mode:o}", "tmpfs", str(path)])
        self.mounted.append(path)

    def clocked(self, which):
        """The environment of a process whose wall clock `set_clock` moves; its monotonic clock goes on."""
        file = self.dir / f"clock-{which}"
        file.write_text("+0\n")
        return {**os.environ, "LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_CACHE_DURATION": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0"}

    def set_clock(self, which, seconds):
        (self.dir / f"clock-{which}").write_text(f"{'+' if seconds >= 0 else ''}{seconds}\n")

    # -- the supervisor ---------------------------------------------------------------------------

    def daemons(self):
        return {"coordinator": self.coordinator, **{f"w{i}": worker for i, worker in enumerate(self.workers, 1)}}

    def struck(self, event):
        """The name of the daemon that an event is for."""
        return event.target

    def hold_down(self, name, seconds):
        self.downs[name] = time.monotonic() + seconds

    def supervise(self):
        """Starts what has ended, as systemd would; the way it ended is kept."""
        with self.lock:
            for name, daemon in self.daemons().items():
                if daemon.alive() or time.monotonic() < self.downs.get(name, 0):
                    continue
                self.ends.append((name, daemon.process.returncode))
                self.hold_down(name, 0.5)
                daemon.start()

    def crashes(self):
        """Ends that nobody asked for: by a signal of the process itself, such as an abort."""
        asked = {-signal.SIGKILL, -signal.SIGTERM}
        return [f"{name} ended with {code}" for name, code in self.ends if code not in asked and code not in OWN_ENDS]

    def story(self):
        return ""

    def doubts(self):
        """What is wrong with the fleet itself when all is over."""
        return self.crashes()

    # -- blows ------------------------------------------------------------------------------------

    def fill(self, path):
        """Takes all space of a small disk, down to the last block."""
        with open(path / "filler", "ab", buffering=0) as filler, contextlib.suppress(OSError):
            space = os.statvfs(path)
            os.posix_fallocate(filler.fileno(), 0, max(1, (space.f_bavail - 16) * space.f_frsize))
            while True:
                filler.seek(0, os.SEEK_END)
                filler.write(bytes(4096))

    def unfill(self, path):
        with contextlib.suppress(FileNotFoundError):
            (path / "filler").unlink()

    def limit_rate(self, host, kilobits):
        for command in (["tc", "qdisc", "replace", "dev", host.cable, "root", "tbf", "rate", f"{kilobits}kbit", "burst", "8kb",
                         "latency", "400ms"],
                        host.command(["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", f"{kilobits}kbit", "burst",
                                      "8kb", "latency", "400ms"])):
            harness.run(command)

    def unlimit_rate(self, host):
        for command in (["tc", "qdisc", "del", "dev", host.cable, "root"],
                        host.command(["tc", "qdisc", "del", "dev", "eth0", "root"])):
            subprocess.run(command, capture_output=True, check=False)

    def start_twin(self, index):
        """Somebody copied a worker's machine, and started the copy."""
        name = f"twin{len(self.twins) + 1}"
        copy = self.dir / name
        shutil.copytree(self.dir / f"w{index}", copy, ignore=lambda folder, names: [
            entry for entry in names if entry in ("gocache", "lock", "filler") or entry.startswith(("source-", "modcache"))])
        worker = self.workers[index - 1]
        command = [part.replace(str(self.dir / f"w{index}.json"), str(copy / "ready.json")) for part in worker.command]
        command = [str(copy) if part == str(self.dir / f"w{index}") else part for part in command]
        twin = harness.Daemon(name, command, self.dir / f"{name}.log", worker.environment)
        twin.start()
        self.twins.append(twin)
        return twin

    def close(self, check=True, keep=False):
        for twin in self.twins:
            if twin.alive():
                twin.kill()
        for daemon in self.daemons().values():
            if daemon and daemon.alive():
                daemon.signal(signal.SIGCONT)
                daemon.kill()  # what it would leave when it drains was judged before
        for links in self.links.values():
            for link in links:
                link.close()
        if keep:
            # What was on small disks is evidence too.
            for path in self.mounted:
                self.unfill(path)
                with contextlib.suppress(OSError, shutil.Error):
                    shutil.copytree(path, path.with_name(path.name + "-kept"), symlinks=True,
                                    ignore=shutil.ignore_patterns("gocache", "modcache*"))
        super().close(check=False, keep=True)
        for path in self.mounted:
            subprocess.run(["umount", "-l", str(path)], capture_output=True, check=False)
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)


class Noise(threading.Thread):
    """Garbage or endless handshakes on ports that workers and people use, until stopped."""

    GREETING = bytes([0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0x7F, 3, 0]) + b"CURVE"

    def __init__(self, ports, kind, amount, seed):
        super().__init__(daemon=True)
        self.ports, self.kind, self.amount = ports, kind, amount
        self.rng = random.Random(seed)
        self.stopped = threading.Event()
        self.connections = 0
        self.start()

    def run(self):
        many = 5 + int(self.amount * 60)
        held = []
        while not self.stopped.is_set():
            if self.kind == "garbage" or len(held) < many:
                with contextlib.suppress(OSError):
                    held.append(self._connect(self.rng.choice(self.ports)))
            if self.kind == "garbage" and len(held) > 8:
                held.pop(0).close()
            for connection in held if self.kind != "garbage" else ():
                with contextlib.suppress(OSError):
                    connection.send(self.rng.randbytes(1))
            self.stopped.wait(0.02 if self.kind == "garbage" else 0.2)
        for connection in held:
            connection.close()

    def _connect(self, port):
        connection = socket.create_connection(("127.0.0.1", port), timeout=1)
        connection.settimeout(0.2)
        self.connections += 1
        begin = self.rng.choice([b"", self.GREETING[:self.rng.randint(1, 17)], b"GET / HTTP/1.1\r\n",
                                 self.GREETING + bytes(47) + self.rng.randbytes(300)])
        connection.sendall(begin if self.kind != "garbage" else begin + self.rng.randbytes(self.rng.randint(0, 4000)))
        return connection

    def stop(self):
        self.stopped.set()
        self.join(5)
