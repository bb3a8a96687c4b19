"""Two coordinators on one PostgreSQL server of their own, and workers that know both."""

import contextlib
import http.client
import json
import pathlib
import signal
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fleet"), str(HERE.parent.parent / "support")]
import harness  # noqa: E402
import postgres_cluster  # noqa: E402


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Coordinator(harness.Daemon):
    """One of the pair, which says where it finds the database."""

    def __init__(self, pair, name, environment=None):
        self.directory = pair.dir / name
        self.control, self.bulk, self.http = (free_port() for _ in range(3))
        settings = {"config": pair.config, "data-dir": self.directory, "name": name, "store": pair.store_for(name),
                    "shared-dir": pair.dir / "shared",
                    "listen": f"127.0.0.1:{self.http}", "control": f"tcp://127.0.0.1:{self.control}",
                    "bulk": f"tcp://127.0.0.1:{self.bulk}", "key-file": pair.dir / "coordinator.key", "trusted-keys": pair.trusted,
                    "token-file": pair.dir / "token", "ready-file": pair.dir / f"{name}.json", **pair.coordinator_settings}
        command = [str(pair.bin / "cupel-coordinator")]
        for key, value in settings.items():
            command += [f"--{key}", str(value)]
        super().__init__(name, command, pair.dir / f"{name}.log", environment)

    def ask(self, method, path, body=None, token=None, timeout=5):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=timeout)
        with contextlib.closing(connection):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(method, path, body=body, headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.getheader("Content-Type"), answer.read()

    def readiness(self):
        """'' when it is ready, else its own words; None when it doesn't answer."""
        try:
            status, _, body = self.ask("GET", "/-/ready", timeout=1)
        except (OSError, http.client.HTTPException):
            return None
        return "" if status == 200 else json.loads(body)["detail"]


def leading(coordinators):
    """The one of them that is ready right now."""
    return next((c for c in coordinators if c.alive() and c.readiness() == ""), None)


class Pair(harness.Fleet):
    """`engine` False: workers without one, that only keep a session."""

    def __init__(self, bin_dir, workers=2, slots=1, engine=True, worker_settings=None, coordinator_settings=None, cluster=None):
        self.postgres = cluster or postgres_cluster.Cluster()
        self.postgres.sql("CREATE DATABASE fleet")
        self.store = self.postgres.url("fleet")
        self.with_engine = engine
        self.pair = []
        settings = dict(worker_settings or {})
        if not engine:
            settings["engine-socket"] = "/nonexistent/engine.sock"
        try:
            super().__init__(bin_dir, workers, slots, settings, coordinator_settings, namespaces=False)
        except BaseException:
            self.postgres.close()
            raise

    # -- the pair -------------------------------------------------------------------------------

    def start_coordinator(self):
        (self.dir / "shared").mkdir(mode=0o700, exist_ok=True)
        self.pair = [Coordinator(self, name) for name in ("a", "b")]
        for coordinator in self.pair:
            coordinator.start()
            self._wait_for_file(self.dir / f"{coordinator.name}.json", coordinator)
            if coordinator is self.pair[0]:
                self.wait_for_leader()
        self.coordinator = self.pair[0]
        self.wait_until(lambda: "standby" in (self.pair[1].readiness() or ""), "a coordinator that stands by")

    def store_for(self, name):
        return self.store

    def coordinators(self):
        return self.pair

    def leader(self, but=None):
        """Who is ready right now; one that stands still is not to be asked."""
        return leading(c for c in self.pair if c is not but)

    def wait_for_leader(self, seconds=30, other_than=None):
        def found():
            self.active = self.leader(but=other_than)
            return self.active is not None
        self.wait_until(found, "a leader", seconds)
        self.ready = json.loads((self.dir / f"{self.active.name}.json").read_text())
        return self.active

    def standby(self):
        return next(c for c in self.pair if c is not self.active)

    def wait_until(self, condition, what, seconds=30):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what}: not within {seconds} s\n{self.tails()}")
            time.sleep(0.05)

    def epochs(self):
        return self.postgres.sql("SELECT epoch, name FROM leadership", "fleet")

    def rows(self):
        """All that is recorded, but for who leads."""
        done = subprocess.run([self.postgres.bin / "pg_dump", "--data-only", "--exclude-table=leadership", self.store],
                              capture_output=True, text=True, timeout=60, check=True)
        # Newer versions of pg_dump write a random word at both ends.
        return [line for line in done.stdout.splitlines() if not line.startswith(("--", "\\restrict", "\\unrestrict"))]

    # -- workers --------------------------------------------------------------------------------

    def endpoints_for(self, host):
        return (",".join(f"tcp://{host.outside}:{c.control}" for c in self.pair),
                ",".join(f"tcp://{host.outside}:{c.bulk}" for c in self.pair))

    def start_worker(self, index, wait=True):
        super().start_worker(index, wait and self.with_engine)

    def wait_until_work_is_taken(self, seconds=60):
        if self.with_engine:
            super().wait_until_work_is_taken(seconds)

    def token(self):
        return (self.dir / "token").read_text().split()[0]

    def connected(self, coordinator):
        """Names of the workers that have a session with it."""
        try:
            status, _, body = coordinator.ask("GET", "/api/v1/workers", token=self.token(), timeout=2)
        except (OSError, http.client.HTTPException):
            return set()
        if status != 200:
            return set()
        return {worker["name"] for worker in json.loads(body)["workers"] if worker["state"] != "lost"}

    def wait_for_workers(self, seconds=30):
        wanted = {worker.name for worker in self.workers}
        self.wait_until(lambda: self.connected(self.active) == wanted, f"workers {wanted} at {self.active.name}", seconds)

    def takeover(self, how, seconds=30):
        """Takes the leader away by a signal. Seconds until the other leads, and until every worker has a session there."""
        gone, began = self.active, time.monotonic()
        gone.signal(how)
        self.wait_for_leader(seconds, other_than=gone)
        led = time.monotonic() - began
        self.wait_for_workers(seconds)
        return gone, led, time.monotonic() - began

    # -- the rest -------------------------------------------------------------------------------

    def tails(self):
        return "\n".join(daemon.tail() for daemon in [*self.pair, *self.workers] if pathlib.Path(daemon.log).exists())

    def close(self, check=True):
        for coordinator in self.pair:
            with contextlib.suppress(ProcessLookupError, AttributeError):
                coordinator.signal(signal.SIGCONT)
        self.coordinator = None  # ended here, after the workers
        try:
            super().close(check)
        finally:
            for coordinator in self.pair:
                if coordinator.alive():
                    try:
                        coordinator.terminate(30)
                    except subprocess.TimeoutExpired:
                        coordinator.kill()
            self.postgres.close()
