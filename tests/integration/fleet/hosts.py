"""Where the daemons of a fleet run, each with a network that can be cut, and the daemons themselves."""

import os
import pathlib
import signal
import subprocess


def run(command, **kwargs):
    """A command that must succeed; its output is shown when it does not."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=kwargs.pop("timeout", 120), **kwargs)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Host:
    """A network namespace with one cable to the coordinator's side."""

    def __init__(self, index):
        self.name = f"cupel-t{os.getpid()}-{index}"
        self.cable = f"cup{os.getpid() % 100000}{index}"
        self.outside = f"10.213.{index}.1"
        self.inside = f"10.213.{index}.2"
        run(["ip", "netns", "add", self.name])
        run(["ip", "link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name])
        run(["ip", "addr", "add", f"{self.outside}/30", "dev", self.cable])
        run(["ip", "link", "set", self.cable, "up"])
        self.run(["ip", "addr", "add", f"{self.inside}/30", "dev", "eth0"])
        self.run(["ip", "link", "set", "eth0", "up"])
        self.run(["ip", "link", "set", "lo", "up"])

    def command(self, command):
        return ["ip", "netns", "exec", self.name, *command]

    def run(self, command):
        return run(self.command(command))

    def cut(self, chains=("INPUT", "OUTPUT"), share=1.0):
        """Drops what comes in, what goes out, or both; of every packet or of a share of them."""
        some = [] if share >= 1 else ["-m", "statistic", "--mode", "random", "--probability", f"{share:.3f}"]
        for chain in chains:
            self.run(["iptables", "-A", chain, "-p", "tcp", *some, "-j", "DROP"])

    def mend(self):
        for chain in ("INPUT", "OUTPUT"):
            self.run(["iptables", "-F", chain])

    def remove(self):
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.cable], check=False, capture_output=True)


class Loopback:
    """No namespace: for fleets whose network is never cut."""

    inside = outside = "127.0.0.1"

    @staticmethod
    def command(command):
        return command

    def remove(self):
        pass


class Daemon:
    """A child process with its log in a file."""

    def __init__(self, name, command, log, environment=None):
        self.name = name
        self.log = log
        self.command = command
        self.environment = environment
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, env=self.environment)

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def terminate(self, timeout=120):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def tail(self, size=4000):
        text = pathlib.Path(self.log).read_text(errors="replace")
        return f"--- {self.name}\n{text[-size:]}"
