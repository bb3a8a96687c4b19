"""A real fleet on one machine for tests: coordinator, workers in network namespaces of their own, one engine.

Everything is started from the built programs, driven through the command line and the HTTP API, and judged
from the outside. Needs root, iproute2, iptables and a running engine with a toolchain image.
"""

import contextlib
import http.client
import ipaddress
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "ops" / "lib")]
import engine_api  # noqa: E402
import hosts  # noqa: E402
from hosts import Daemon, Host, Loopback  # noqa: E402

ENGINE_SOCKET = os.environ.get("CUPEL_TEST_ENGINE_SOCKET", "/var/run/docker.sock")
ENGINE = engine_api.Engine(ENGINE_SOCKET)
run = hosts.run


@contextlib.contextmanager
def scratch():
    """A directory of one test. Under /var/tmp: the engine mounts what is below, and /tmp may be a tmpfs."""
    path = tempfile.mkdtemp(prefix="cupel-test-", dir="/var/tmp")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def containers(**labels):
    """Containers in every state that carry the labels."""
    return ENGINE.containers(**labels)


def bridge_gateway():
    """Address of this machine on the engine's default bridge. An engine that has made it just now names the subnet only."""
    pool = ENGINE.call("GET", "/networks/bridge")["IPAM"]["Config"][0]
    return pool.get("Gateway") or str(ipaddress.ip_network(pool["Subnet"])[1])


def clean_up_on_term():
    """A program that is told to end runs its `finally` blocks: nothing is left of its fleet."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


class Fleet:
    """`namespaces` False needs neither root nor iproute2; `environment` is the workers'; `worker_data` is a folder for
    their data instead of the fleet's own."""

    def __init__(self, bin_dir, workers=2, slots=1, worker_settings=None, coordinator_settings=None, namespaces=True,
                 environment=None, engine=ENGINE, worker_data=None):
        self.bin = pathlib.Path(bin_dir)
        self.worker_data = worker_data
        self.environment = environment
        self.engine = engine
        # Under /var/tmp: the engine mounts directories below it, and /tmp may be a tmpfs.
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cupel-fleet-", dir="/var/tmp"))
        self.hosts = []
        self.workers = []
        self.worker_settings = {"seed-dir": "/var/tmp/cupel-test-seeds", "engine-socket": engine.path,
                                **(worker_settings or {})}
        self.coordinator_settings = coordinator_settings or {}
        self.slots = slots
        self.coordinator = None
        self.ready = None
        self.trusted = self.dir / "trusted"
        self.trusted.write_text("")
        # What this machine's own daemons are configured with is not for these.
        self.config = self.dir / "empty.yaml"
        self.config.write_text("{}\n")
        try:
            self._make_key("coordinator")
            for index in range(1, workers + 1):
                self.hosts.append(Host(index) if namespaces else Loopback())
            self.start_coordinator()
            for index in range(1, workers + 1):
                self.add_worker(index)
            self.wait_until_work_is_taken()
        except BaseException:
            self.close(check=False)
            raise

    # -- processes ------------------------------------------------------------------------------

    def cupel(self, *arguments, check=True, timeout=600):
        command = [str(self.bin / "cupel"), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, cwd=self.dir)
        if check and done.returncode != 0:
            raise AssertionError(f"cupel {arguments}: exit {done.returncode}\n{done.stdout}\n{done.stderr}\n{self.tails()}")
        return done

    def _make_key(self, name):
        key = self.dir / f"{name}.key"
        self.cupel("key", "generate", key)
        return key, self.cupel("key", "show", key).stdout.split()[-1]

    def _port_free(self):
        with socket.socket() as probe:
            probe.bind(("0.0.0.0", 0))
            return probe.getsockname()[1]

    def start_coordinator(self, wait=True):
        if self.coordinator is None:
            self.http_port, self.control_port, self.bulk_port = self._port_free(), self._port_free(), self._port_free()
            command = [self.bin / "cupel-coordinator", "--config", self.config, "--data-dir", self.dir / "coordinator",
                       "--listen", f"127.0.0.1:{self.http_port}",
                       "--control", f"tcp://0.0.0.0:{self.control_port}", "--bulk", f"tcp://0.0.0.0:{self.bulk_port}",
                       "--key-file", self.dir / "coordinator.key", "--trusted-keys", self.trusted,
                       "--ready-file", self.dir / "coordinator.json", "--token-file", self.dir / "token"]
            for name, value in self.coordinator_settings.items():
                command += [f"--{name}", str(value)]
            self.coordinator = Daemon("coordinator", [str(part) for part in command], self.dir / "coordinator.log",
                                      self.coordinator_environment())
        with contextlib.suppress(FileNotFoundError):
            (self.dir / "coordinator.json").unlink()
        self.coordinator.start()
        if wait:
            self.ready = self._wait_for_file(self.dir / "coordinator.json", self.coordinator)

    def add_worker(self, index):
        key, public = self._make_key(f"w{index}")
        with open(self.trusted, "a") as trusted:
            trusted.write(f"w{index} {public}\n")
        for coordinator in self.coordinators():
            coordinator.signal(signal.SIGHUP)
        host = self.hosts[index - 1]
        control, bulk = self.endpoints_for(host)
        command = [self.bin / "cupel-worker", "--config", self.config, "--data-dir", self.data_of(index), "--name", f"w{index}",
                   "--coordinator-control", control, "--coordinator-bulk", bulk,
                   "--coordinator-key", self.ready["public_key"], "--key-file", key, "--slots", self.slots,
                   "--metrics-listen", "127.0.0.1:0", "--ready-file", self.dir / f"w{index}.json"]
        for name, value in self.worker_settings.items():
            command += [f"--{name}", str(value)]
        worker = Daemon(f"w{index}", host.command([str(part) for part in command]), self.dir / f"w{index}.log",
                        self.environment)
        self.workers.append(worker)
        self.start_worker(index)

    def data_of(self, index):
        return pathlib.Path(self.worker_data or self.dir) / f"w{index}"

    def coordinators(self):
        return [self.coordinator]

    def coordinator_environment(self):
        return None

    def endpoints_for(self, host):
        """Where a worker on this host finds the control and the bulk plane, in a worker's own words."""
        return f"tcp://{host.outside}:{self.control_port}", f"tcp://{host.outside}:{self.bulk_port}"

    def start_worker(self, index, wait=True):
        ready = self.dir / f"w{index}.json"
        with contextlib.suppress(FileNotFoundError):
            ready.unlink()
        self.workers[index - 1].start()
        if wait:
            self._wait_for_file(ready, self.workers[index - 1], seconds=120)

    def wait_until_work_is_taken(self, seconds=60):
        """Until the coordinator has heard of every worker that it takes tasks: only then a campaign is divided among all."""
        deadline = time.monotonic() + seconds
        while sum(worker["slots"] > 0 for worker in self.get("/api/v1/workers")["workers"]) < len(self.workers):
            if time.monotonic() > deadline:
                raise AssertionError(f"not every worker takes tasks: {self.get('/api/v1/workers')}\n{self.tails()}")
            time.sleep(0.05)

    def _wait_for_file(self, path, daemon, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if path.exists():
                return json.loads(path.read_text())
            if not daemon.alive():
                raise AssertionError(f"{daemon.name} ended with {daemon.process.returncode}\n{daemon.tail()}")
            time.sleep(0.05)
        raise AssertionError(f"{daemon.name} is not ready\n{daemon.tail()}")

    def tails(self):
        return "\n".join(daemon.tail() for daemon in [self.coordinator, *self.workers] if daemon)

    def close(self, check=True, keep=False):
        """Stops everything; with `check`, nothing may be left of it on the engine or in the data directories. `keep` leaves the
        directory as evidence."""
        problems = []
        # A worker that was left dead sweeps its directory at its next start, which never comes here.
        ended_well = [index for index, worker in enumerate(self.workers, 1) if worker.alive()]
        for daemon in [*self.workers, self.coordinator]:
            if daemon and daemon.alive():
                try:
                    daemon.terminate()
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    problems.append(f"{daemon.name} did not end on TERM\n{daemon.tail()}")
        if check:
            left = self.own_containers()
            if left:
                problems.append(f"containers left: {[c['Names'] for c in left]}")
            for index in ended_well:
                caches = self.data_of(index) / "gocache"
                if caches.exists() and any(caches.iterdir()):
                    problems.append(f"build caches left: {list(caches.iterdir())}")
        for container in self.own_containers():
            self.engine.remove(container["Id"])
        for host in self.hosts:
            host.remove()
        if problems and check:
            raise AssertionError("\n".join(problems) + "\n" + self.tails())
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)

    def unsettled(self):
        """What the workers still have after their last result: '' once it is removed and acknowledged."""
        left = self.own_containers()
        if left:
            return f"containers are left: {[(one['Names'], one['State']) for one in left]}"
        waiting = [str(file) for file in self.dir.glob("w*/outbox/*.result")]
        return f"results wait: {waiting}" if waiting else ""

    def settle(self, seconds=60):
        deadline = time.monotonic() + seconds
        while self.unsettled():
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.unsettled()}\n{self.tails()}")
            time.sleep(0.05)

    def own_containers(self):
        return [c for worker in self.worker_ids().values() for c in self.engine.containers(**{"cupel.worker": worker})]

    def worker_ids(self):
        ids = {}
        for index in range(1, len(self.workers) + 1):
            file = self.data_of(index) / "worker.id"
            if file.exists():
                ids[f"w{index}"] = "w-" + file.read_text().strip()
        return ids

    # -- API ------------------------------------------------------------------------------------

    http_timeout = 60

    def request(self, method, path, body=None, headers=None, timeout=None):
        connection = http.client.HTTPConnection(self.ready["http"], timeout=timeout or self.http_timeout)
        with contextlib.closing(connection):
            token = (self.dir / "token").read_text().split()[0]
            connection.request(method, path, body=body, headers={"Authorization": f"Bearer {token}", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def get(self, path):
        status, body = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {body[:500]!r}\n{self.tails()}")
        return json.loads(body)

    def submit(self, campaign):
        file = self.dir / "campaign.yaml"
        file.write_text(campaign)
        done = self.cupel("run", "--server", f"http://{self.ready['http']}", "--token-file", self.dir / "token",
                          "-f", file, "--detach", "--json")
        return json.loads(done.stdout)["id"]

    def events(self, campaign, deadline_s=600):
        """Events of a campaign until it is finished; survives a restart of the coordinator."""
        last = 0
        deadline = time.monotonic() + deadline_s
        while True:
            if time.monotonic() > deadline:
                raise AssertionError(f"campaign {campaign} did not end in {deadline_s} s\n{self.tails()}")
            try:
                for event in self._stream(campaign, last, deadline):
                    last = event["seq"]
                    yield event
                    if event["type"] == "campaign.finished":
                        return
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)

    def _stream(self, campaign, last, deadline):
        connection = http.client.HTTPConnection(self.ready["http"], timeout=max(1, min(30, deadline - time.monotonic())))
        with contextlib.closing(connection):
            token = (self.dir / "token").read_text().split()[0]
            connection.request("GET", f"/api/v1/campaigns/{campaign}/events",
                               headers={"Authorization": f"Bearer {token}", "Last-Event-ID": str(last)})
            answer = connection.getresponse()
            if answer.status != 200:
                raise AssertionError(f"events: {answer.status} {answer.read()[:300]!r}")
            for line in answer:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])

    def wait(self, campaign, deadline_s=600):
        for _ in self.events(campaign, deadline_s):
            pass
        return self.results(campaign)

    def results(self, campaign):
        rows, token = [], ""
        while True:
            page = self.get(f"/api/v1/campaigns/{campaign}/results?limit=200" + (f"&page_token={token}" if token else ""))
            rows += page["results"]
            token = page.get("next_page_token")
            if not token:
                return rows

    def campaigns(self):
        rows, token = [], ""
        while True:
            page = self.get("/api/v1/campaigns?limit=100" + (f"&page_token={token}" if token else ""))
            rows += page["campaigns"]
            token = page.get("next_page_token")
            if not token:
                return rows

    def verdicts(self, campaign):
        return {row["module"]: (row["verdict"], row["reason"]) for row in self.results(campaign)}

    def attempts(self, campaign):
        """Per task of the campaign: its attempts as the store recorded them."""
        return {row["task"]: self.get(f"/api/v1/tasks/{row['task']}") for row in self.results(campaign)}


def module(directory, name, test):
    """A Go module without dependencies and one test file."""
    path = pathlib.Path(directory) / name
    path.mkdir(parents=True)
    (path / "go.mod").write_text(f"module example.com/{name}\n\ngo 1.21\n")
    (path / "p.go").write_text("package p\n\nfunc Answer() int { return 42 }\n")
    (path / "p_test.go").write_text(test)
    return path


PASSING = 'package p\n\nimport "testing"\n\nfunc TestAnswer(t *testing.T) {\n\tif Answer() != 42 {\n\t\tt.Fatal("no")\n\t}\n}\n'
FAILING = 'package p\n\nimport "testing"\n\nfunc TestAnswer(t *testing.T) { t.Fatal("wrong on purpose") }\n'
SLOW = ('package p\n\nimport (\n\t"testing"\n\t"time"\n)\n\nfunc TestSlow(t *testing.T) { time.Sleep(%d * time.Second) }\n')


def campaign_of(paths, name="fleet", extra=""):
    lines = ["apiVersion: cupel/v1", "kind: Campaign", f"name: {name}", "repositories:"]
    lines += [f"  - path: {path}" for path in paths]
    return "\n".join(lines) + "\n" + extra


# Units whose check costs next to nothing: what is asked of the fleet is the same as for a test.
QUICK_PASS, QUICK_FAIL, QUICK_SLEEP = "exit 0\n", "echo no; exit 1\n", "sleep %d\n"


def quick_module(directory, name, script):
    path = module(directory, name, PASSING)
    (path / "check.sh").write_text(script)
    return path


def quick_campaign(paths, name, check_s=60, build_cache="empty"):
    """JSON, which is YAML. Of the checks only the list and the script; interrupted as often as may be."""
    off = {"enabled": False}
    return json.dumps({
        "apiVersion": "cupel/v1", "kind": "Campaign", "name": name, "repositories": [{"path": str(path)} for path in paths],
        "validate": {"build": off, "vet": off, "test": off,
                     "checks": [{"name": "script", "command": ["sh", "./check.sh"], "timeout": f"{check_s}s"}]},
        "sandbox": {"build_cache": build_cache, "timeouts": {"check": f"{check_s}s"}},
        "strategy": {"retries": {"infra_error": 10, "timeout": 1}}})
