#!/usr/bin/env python3
"""A PostgreSQL server of a test's own: a fresh cluster in a temporary directory, on a unix socket and a loopback port.

It needs the programs of Debian's package, and nothing of the clusters that the system may run. PostgreSQL refuses to be
root, so root starts it as another user. As a program: prints one line of JSON with what a client needs, and ends the
server when its standard input ends, however its parent dies.
"""

import contextlib
import glob
import json
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

USER = "cupel"
PASSWORD = "not a secret: 'quoted' \\ pass"


def programs():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(path.split("/")[4]))
    if found:
        return pathlib.Path(found[-1])
    beside = shutil.which("pg_ctl")
    if beside:
        return pathlib.Path(beside).resolve().parent
    raise RuntimeError("PostgreSQL is not installed: apt-get install postgresql (ops/lib/packages.list)")


def another_user():
    """How subprocess shall run as somebody who is not root."""
    if os.geteuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    raise RuntimeError("there is no user postgres or nobody to run PostgreSQL as")


class Cluster:
    """`settings` go to postgresql.conf; fsync is off unless they say otherwise. `directory`: below which it is made.
    `namespace`: of the network in which the server runs; there it listens on every address, and believes who comes."""

    def __init__(self, settings=None, directory="/tmp", namespace=None):
        self.bin = programs()
        self.owner = another_user()
        self.namespace = namespace
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="cupel-pg-", dir=directory))
        if self.owner:
            os.chown(self.dir, self.owner["user"], self.owner["group"])
        self.data = self.dir / "data"
        self.log = self.dir / "log"
        self.process = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        try:
            passwords = self.dir / "password"
            passwords.write_text(PASSWORD + "\n")
            passwords.chmod(0o644)
            self._run("initdb", "-D", self.data, "-U", USER, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--auth-local=trust",
                      "--auth-host=scram-sha-256", f"--pwfile={passwords}")
            if namespace:
                with open(self.data / "pg_hba.conf", "a") as rules:
                    rules.write("host all all samenet trust\n")
            chosen = {"listen_addresses": "*" if namespace else "127.0.0.1", "port": self.port, "unix_socket_directories": str(self.dir), "fsync": "off",
                      "full_page_writes": "off", "shared_buffers": "16MB", "max_connections": 60, **(settings or {})}
            with open(self.data / "postgresql.conf", "a") as conf:
                conf.writelines(f"{name} = '{value}'\n" for name, value in chosen.items())
            self.start()
        except BaseException:
            self.close()
            raise

    def _run(self, program, *arguments, check=True):
        done = subprocess.run([self.bin / program, *arguments], capture_output=True, text=True, timeout=120, cwd=self.dir,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, **self.owner)
        if check and done.returncode != 0:
            raise RuntimeError(f"{program}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def start(self, wait=True):
        command, owner = [self.bin / "postgres", "-D", self.data], self.owner
        if self.namespace:
            # The namespace is entered as root, so who runs the server is changed in there.
            command = ["nsenter", f"--net=/var/run/netns/{self.namespace}", "setpriv", f"--reuid={owner['user']}",
                       f"--regid={owner['group']}", "--clear-groups", *command]
            owner = {}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.dir,
                                            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}, start_new_session=True, **owner)
        deadline = time.monotonic() + 60
        while wait and self._run("pg_isready", "-h", self.dir, "-p", str(self.port), "-q", check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start:\n{self.log.read_text(errors='replace')}")
            time.sleep(0.02)

    def stop(self, how=signal.SIGQUIT):
        """SIGINT: cleanly, its clients are sent away; SIGQUIT: as in a crash; SIGKILL never (its children would stay: kill())."""
        if self.alive():
            self.send(signal.SIGCONT)
            self.process.send_signal(how)
            self.process.wait(60)

    def kill(self):
        """All of its processes at once, as when its host loses power, but for what the kernel still writes."""
        if self.alive():
            self.process.send_signal(signal.SIGSTOP)  # or it would start others
            self.send(signal.SIGKILL)
            self.process.wait(60)

    def send(self, number):
        """To every one of its processes."""
        pids = self.pids() if self.alive() else []
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def pids(self):
        """The server's processes, the first one first."""
        children = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return [self.process.pid, *map(int, children.stdout.split())]

    def url(self, database="postgres", tcp=False):
        if tcp:
            return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"
        return f"postgresql://{USER}@/{database}?host={self.dir}&port={self.port}"

    def sql(self, text, database="postgres"):
        """Rows of the last statement, their columns separated by '|'."""
        done = subprocess.run([self.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, self.url(database)],
                              capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"psql: {text}: {done.stderr}")
        return done.stdout.splitlines()

    def close(self):
        try:
            self.stop()
        finally:
            shutil.rmtree(self.dir, ignore_errors=True)


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    cluster = Cluster()
    try:
        print(json.dumps({"socket": str(cluster.dir), "port": cluster.port, "user": USER, "password": PASSWORD}), flush=True)
        sys.stdin.read()
    finally:
        cluster.close()


if __name__ == "__main__":
    main()
