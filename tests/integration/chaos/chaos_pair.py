"""A fleet that can be struck, with two coordinators on one PostgreSQL server, which can be struck as well."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "standby"), str(HERE.parents[1] / "support")]
import chaos_fleet  # noqa: E402
import harness  # noqa: E402
import pair as standby  # noqa: E402
import postgres_cluster  # noqa: E402

DATABASE_DISK = "192m"  # a fresh cluster takes 40 MB, its log of writes some times 16
NAMES = ("a", "b")


class DatabaseHost(harness.Host):
    """Each coordinator knows it by an address of its own, so that one of them can be cut off alone."""

    def __init__(self, index):
        super().__init__(index)
        outside, other = f"10.213.{index}.5", f"10.213.{index}.6"
        harness.run(["ip", "addr", "add", f"{outside}/30", "dev", self.cable])
        self.run(["ip", "addr", "add", f"{other}/30", "dev", "eth0"])
        self.addresses = [self.inside, other]

    def address_for(self, name):
        return self.addresses[NAMES.index(name)]

    def drop(self, chain, address):
        self.run(["iptables", "-A", chain, "-p", "tcp", "-d" if chain == "INPUT" else "-s", address, "-j", "DROP"])


class ChaosPair(chaos_fleet.ChaosFleet):
    def __init__(self, bin_dir, engine):
        self.pair, self.active, self.postgres, self.database_host = [], None, None, None
        self.database_disk = pathlib.Path(tempfile.mkdtemp(prefix="cupel-pg-disk-", dir="/tmp"))
        super().__init__(bin_dir, engine)

    # -- parts ----------------------------------------------------------------------------------

    def start_coordinator(self, wait=True):
        """Both, once."""
        self.database_host = DatabaseHost(chaos_fleet.WORKERS + 1)
        harness.run(["mount", "-t", "tmpfs", "-o", f"size={DATABASE_DISK},mode=0755", "tmpfs", str(self.database_disk)])
        self.mounted.append(self.database_disk)
        # Small, so that its log is recycled within a run, and a disk that filled up is one within seconds.
        self.postgres = postgres_cluster.Cluster({"max_wal_size": "64MB", "min_wal_size": "32MB"}, self.database_disk,
                                                 self.database_host.name)
        self.postgres.sql("CREATE DATABASE fleet")
        self._small_disk(self.dir / "shared", chaos_fleet.COORDINATOR_DISK)
        self.pair = [standby.Coordinator(self, name, self.clocked(f"coordinator-{name}")) for name in NAMES]
        for coordinator in self.pair:
            coordinator.start()
            self._wait_for_file(self.dir / f"{coordinator.name}.json", coordinator)
        self.ready = json.loads((self.dir / "a.json").read_text())
        deadline = time.monotonic() + 60
        while self.find_leader() is None:
            if time.monotonic() > deadline:
                raise AssertionError(f"nobody leads\n{self.tails()}")
            time.sleep(0.1)

    def store_for(self, name):
        return f"postgresql://{postgres_cluster.USER}@{self.database_host.address_for(name)}:{self.postgres.port}/fleet"

    def coordinators(self):
        return self.pair

    def coordinator_disk(self):
        return self.dir / "shared"

    def planes(self):
        return [c.control for c in self.pair], [c.bulk for c in self.pair]

    def ports(self):
        return [port for c in self.pair for port in (c.control, c.bulk, c.http)]

    def set_clock(self, which, seconds):
        if which != "coordinator":
            super().set_clock(which, seconds)
        elif seconds == 0:
            for name in NAMES:
                super().set_clock(f"coordinator-{name}", 0)
        else:
            super().set_clock(f"coordinator-{self.leading_name()}", seconds)  # the other one's stays right

    # -- who leads ------------------------------------------------------------------------------

    def find_leader(self):
        """The last one is asked first: one that stands still keeps whoever asks for a second."""
        leader = standby.leading(sorted(self.pair, key=lambda c: c is not self.active))
        self.active = leader or self.active
        return leader

    def leading_name(self):
        """Who leads, or did when somebody last led."""
        return (self.find_leader() or self.active).name

    @property
    def http_port(self):
        return (self.find_leader() or self.active).http

    def request(self, method, path, body=None, headers=None, timeout=None):
        leader = self.find_leader()
        if leader is None:
            raise AssertionError("nobody leads")
        self.ready["http"] = f"127.0.0.1:{leader.http}"
        return super().request(method, path, body, headers, timeout)

    def struck(self, event):
        return self.leading_name() if event.target == "coordinator" else event.target

    # -- the supervisor ---------------------------------------------------------------------------

    def daemons(self):
        workers = {name: daemon for name, daemon in super().daemons().items() if name != "coordinator"}
        return {**{c.name: c for c in self.pair}, **workers}

    def supervise(self):
        super().supervise()
        with self.lock:
            if not self.postgres.alive() and time.monotonic() >= self.downs.get("database", 0):
                self.ends.append(("database", self.postgres.process.returncode))
                self.hold_down("database", 1)
                self.postgres.start(wait=False)

    def crashes(self):
        return [line for line in super().crashes() if not line.startswith("database ")]

    def story(self):
        return f"; the lead was won {self.postgres.sql('SELECT epoch FROM leadership', 'fleet')[0]} times"

    def doubts(self):
        leaders = [c.name for c in self.pair if c.readiness() == ""]
        return super().doubts() + ([f"{leaders} lead"] if len(leaders) != 1 else [])

    # -- blows ------------------------------------------------------------------------------------

    def cut_database(self, addresses, amount):
        """Both ways, only what it hears, or only what it says: then a commit succeeds, and nobody is told."""
        chains = (("INPUT", "OUTPUT"), ("INPUT",), ("OUTPUT",))[min(2, int(amount * 3))]
        for address in addresses:
            for chain in chains:
                self.database_host.drop(chain, address)

    def tails(self):
        return "\n".join(daemon.tail() for daemon in [*self.pair, *self.workers] if pathlib.Path(daemon.log).exists())

    def close(self, check=True, keep=False):
        if self.postgres:
            if keep:
                shutil.copy(self.postgres.log, self.dir / "database.log")
            self.unfill(self.database_disk)
        try:
            super().close(check, keep)
        finally:
            if self.postgres:
                self.postgres.close()
            if self.database_host:
                self.database_host.remove()
            subprocess.run(["umount", "-l", str(self.database_disk)], capture_output=True, check=False)
            shutil.rmtree(self.database_disk, ignore_errors=True)
