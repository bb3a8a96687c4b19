#!/usr/bin/env python3
"""Injects one fault into the after side of each unit and counts what the verdicts say.

No fault of the sandbox, the network or the fleet may ever be called a regression, and each has to be told by its own
reason. Prints expected and seen for each class; the exit code is 1 where they differ.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "fleet")]
import engine_relay  # noqa: E402
import harness  # noqa: E402
import module_proxy  # noqa: E402

# Every repository has this switch; the change turns it.
SWITCH = "package p\n\nconst broken = false\n"
DIFF = ("--- a/switch.go\n+++ b/switch.go\n@@ -1,3 +1,3 @@\n package p\n \n-const broken = false\n+const broken = true\n")

TEST = """package p

import (
%(imports)s	"testing"
)

%(more)sfunc TestIt(t *testing.T) {
	if !broken {
		return
	}
%(body)s}
"""
HOG = """func hog() {
	var kept [][]byte
	for {
		piece := make([]byte, 1<<20)
		for i := range piece {
			piece[i] = 1
		}
		kept = append(kept, piece)
		if len(kept) > 1<<16 {
			panic("never limited")
		}
	}
}

"""
FILL = """	file := filepath.Join(t.TempDir(), "big")
	out, err := os.Create(file)
	for piece := make([]byte, 1<<16); err == nil; {
		_, err = out.Write(piece)
	}
"""


def code(body="", imports=(), more=""):
    return TEST % {"imports": "".join(f'\t"{name}"\n' for name in imports), "more": more, "body": body}


# What the after side of a class does, and the answer that it has to get.
SANDBOX = {
    "timeout": (code("\ttime.Sleep(time.Hour)\n", ["time"]), ("inconclusive", "timeout")),
    "memory": (code("\thog()\n", more=HOG), ("inconclusive", "resource_memory")),
    "memory of a child": (
        code('\tif os.Getenv("HOG") != "" {\n\t\thog()\n\t}\n\tcommand := exec.Command(os.Args[0], "-test.run=TestIt")\n'
             '\tcommand.Env = append(os.Environ(), "HOG=1")\n\tif err := command.Run(); err != nil {\n'
             '\t\tt.Fatal("the child did not do its work")\n\t}\n', ["os", "os/exec"], HOG),
        ("inconclusive", "resource_memory")),
    "disk": (code(FILL + "\tt.Fatal(err)\n", ["os", "path/filepath"]), ("inconclusive", "resource_disk")),
    "disk, not told": (
        code(FILL + '\tout.Close()\n\tos.Remove(file)\n\tt.Fatal("the answer is wrong")\n', ["os", "path/filepath"]),
        ("inconclusive", "resource_disk")),
    "processes": (
        code('\tfor {\n\t\tcommand := exec.Command("sleep", "60")\n\t\tif err := command.Start(); err != nil {\n'
             "\t\t\tt.Fatal(err)\n\t\t}\n\t\tdefer command.Process.Kill()\n\t}\n", ["os/exec"]),
        ("inconclusive", "resource_pids")),
    "none (control)": (code(), ("compatible", "none")),
}
UPSTREAM = {name: ("inconclusive", "upstream") for name in module_proxy.FAULTS}
UPSTREAM |= {"other-content": ("refused", "checksum_mismatch"), "silent": ("inconclusive", "timeout"),
             "recovers": ("compatible", "none"), "none": ("compatible", "none")}
# These meet a patch of go.mod as well, whose modules are fetched by acquire and not by mutate.
PATCHED = ("server-error", "reset", "other-content")
SLOW = code("\ttime.Sleep(%d * time.Second)\n", ["time"])
# The smallest set that has every class of the list in the requirements.
QUICK = {"timeout", "memory", "disk", "too-many-requests", "server-error", "reset", "other-content"}


def repository(directory, name, test):
    path = harness.module(directory, name, test)
    (path / "switch.go").write_text(SWITCH)
    return path


def user_of(directory, name, module):
    """A repository that uses a module of the proxy."""
    path = harness.module(directory, name, harness.PASSING)
    before, after = module_proxy.BEFORE, module_proxy.AFTER
    (path / "go.mod").write_text(f"module example.com/{name}\n\ngo 1.21\n\nrequire {module_proxy.ROOT}{module} {before}\n")
    (path / "go.sum").write_text(module_proxy.sum_lines(module, before) + module_proxy.sum_lines(module, after))
    (path / "use.go").write_text(f'package p\n\nimport up "{module_proxy.ROOT}{module}"\n\nvar _ = up.Version\n')
    return path


def campaign(name, paths, change, infra=0, timeout=0, **sandbox):
    """A campaign file (JSON is YAML). Lists and runs the tests only: the faults are in those."""
    return json.dumps({
        "apiVersion": "cupel/v1", "kind": "Campaign", "name": name,
        "repositories": [{"path": str(path)} for path in paths],
        "change": change,
        "validate": {"build": {"enabled": False}, "vet": {"enabled": False}},
        "sandbox": {"private": {"gonosumdb": module_proxy.ROOT.split("/")[0]}, **sandbox},
        "strategy": {"retries": {"infra_error": infra, "timeout": timeout}}})


class Proof:
    """`stack` closes what is started here."""

    def __init__(self, stack, bin_dir, each, quick):
        self.each, self.quick = each, quick
        self.rows = []
        self.results = []
        gateway = harness.bridge_gateway()
        self.proxy = stack.enter_context(contextlib.closing(module_proxy.ModuleProxy(gateway)))
        scratch = pathlib.Path(stack.enter_context(harness.scratch()))
        self.repositories = scratch / "repositories"
        self.relay = stack.enter_context(
            contextlib.closing(engine_relay.EngineRelay(scratch / "engine.sock", harness.ENGINE_SOCKET)))
        # The proxies of this machine are not to stand between a container and ours.
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        self.fleet = harness.Fleet(
            bin_dir, workers=1, slots=2, namespaces=False, environment=environment,
            coordinator_settings={"backoff-ms": "200"},
            worker_settings={"engine-socket": self.relay.path, "module-proxy": self.proxy.url,
                             "checksum-database": "sum.example.com", "reap-period": "1s"})
        stack.callback(self.fleet.close)
        # Beside the campaign file that the fleet's submit() writes.
        (self.fleet.dir / "change.diff").write_text(DIFF)

    def names(self, classes):
        return [name for name in classes if not self.quick or name in QUICK]

    def submit(self, name, paths, change, **settings):
        return self.fleet.submit(campaign(name, paths, change, **settings))

    def note(self, group, name, expected, results, met=None):
        """One row: the results are those of units with this fault."""
        seen = collections.Counter((row["verdict"], row["reason"]) for row in results)
        self.results += results
        self.rows.append((group, name, len(results), met, expected, seen))

    # -- faults of the sandbox, and of the module proxy ---------------------------------------------

    def sandbox_and_upstream(self):
        wanted = [name for name in self.names(SANDBOX) if name != "timeout"]
        folders = {}

        def make(kind, name, build):
            paths = [build(f"{kind}{len(folders)}n{i}") for i in range(self.each)]
            folders[kind, name] = {f"example.com/{path.name}" for path in paths}
            return paths

        limits = {"memory": "256MiB", "tmp": "64MiB", "pids": 200}
        patch = {"patch": {"file": "change.diff"}}
        started = {}
        paths = [path for name in wanted for path in
                 make("s", name, lambda unit, name=name: repository(self.repositories, unit, SANDBOX[name][0]))]
        started["s"] = self.submit("sandbox", paths, patch, limits=limits)
        if "timeout" in self.names(SANDBOX):
            paths = make("t", "timeout", lambda unit: repository(self.repositories, unit, SANDBOX["timeout"][0]))
            started["t"] = self.submit("timeout", paths, patch, timeouts={"check": "20s"}, timeout=0 if self.quick else 1)
        modules = self.names(UPSTREAM)
        paths = [path for name in modules for path in
                 make("u", name, lambda unit, name=name: user_of(self.repositories, unit, name))]
        upgrade = {"upgrade": {"modules": [
            {"module": module_proxy.ROOT + name, "version": module_proxy.AFTER} for name in modules]}}
        started["u"] = self.submit("upstream", paths, upgrade, infra=1 if self.quick else 2, timeouts={"acquire": "40s"})

        results = {kind: self.fleet.wait(started[kind]) for kind in started}
        for (kind, name), units in folders.items():
            rows = [row for row in results[kind] if row["module"] in units]
            if kind == "u":
                self.note("module proxy", name, UPSTREAM[name], rows, self.proxy.met[name])
            else:
                self.note("sandbox", name, SANDBOX[name][1], rows)

    def patched_manifests(self):
        for name in PATCHED:
            before = self.proxy.met[name]
            line = f"require {module_proxy.ROOT}{name} "
            (self.fleet.dir / "manifest.diff").write_text(
                f"--- a/go.mod\n+++ b/go.mod\n@@ -5 +5 @@\n-{line}{module_proxy.BEFORE}\n+{line}{module_proxy.AFTER}\n")
            paths = [user_of(self.repositories, f"p{name}{i}", name) for i in range(self.each)]
            running = self.submit(f"patch-{name}", paths, {"patch": {"file": "manifest.diff"}}, infra=1)
            rows = self.fleet.wait(running)
            self.note("module proxy", name + ", patched go.mod", UPSTREAM[name], rows, self.proxy.met[name] - before)

    # -- faults of the fleet ------------------------------------------------------------------------

    def after_side_runs(self, campaign_id):
        """Returns the container in which the after side's tests run; they sleep, so there is time."""
        executes = 0
        for event in self.fleet.events(campaign_id, 300):
            if event["type"] != "task.started" or event.get("kind") != "execute":
                continue
            executes += 1
            if executes == 2:
                deadline = time.monotonic() + 60
                while time.monotonic() < deadline:
                    for container in harness.containers(**{"cupel.task": event["task"]}):
                        if container["State"] == "running" and " go test " in container["Command"]:
                            return container["Id"]
                    time.sleep(0.05)
                break
        raise AssertionError("the after side was never executed\n" + self.fleet.tails())

    def strike(self, fault, number, infra):
        """One unit whose after side meets the fault; its results."""
        name = f"{fault}{number}i{infra}"
        path = repository(self.repositories, name, SLOW % (30 if infra == 0 else 6))
        running = self.submit(name, [path], {"patch": {"file": "change.diff"}}, infra=infra)
        container = self.after_side_runs(running)
        if fault == "worker":
            self.fleet.workers[0].kill()
            self.fleet.start_worker(1)
        elif fault == "container":
            harness.ENGINE.kill(container)
        else:
            self.relay.cut()
            if infra == 0:
                self.fleet.wait(running)
            else:
                time.sleep(3)  # the fault itself
            self.relay.mend()
        return self.fleet.wait(running)

    def fleet_faults(self):
        # An engine that answers all the time and a container that is killed: memory is the usual cause.
        for fault, words, reason in (("worker", "worker killed (kill -9)", "lease_lost"),
                                     ("container", "container killed on the engine", "resource_memory"),
                                     ("engine", "engine stopped", "engine")):
            if self.quick and fault == "container":
                continue
            rows = [row for i in range(self.each) for row in self.strike(fault, i, infra=0)]
            self.note("fleet", words, ("inconclusive", reason), rows)
            if self.quick or fault == "container":
                continue
            rows = [row for i in range(self.each) for row in self.strike(fault, i, infra=3)]
            self.note("fleet", words + ", retried", ("compatible", "none"), rows)

    def settle(self):
        """What the faults left on the engine is the worker's to remove."""
        deadline = time.monotonic() + 60
        while self.fleet.own_containers():
            if time.monotonic() > deadline:
                raise AssertionError(f"containers left: {self.fleet.own_containers()}\n{self.fleet.tails()}")
            time.sleep(0.2)

    # -- the answer -----------------------------------------------------------------------------------

    def report(self):
        good = True
        print(f"{'':12} {'fault on the after side':34} {'injected':>8} {'wrong answers':>13}  {'expected':32} seen")
        for group, name, injected, met, expected, seen in self.rows:
            # A fault that was never met proves nothing.
            right = seen == {expected: self.each} and (met is None or (met > 0) == (name != "none"))
            good = good and right
            words = ", ".join(f"{count} {':'.join(word for word in answer if word != 'none')}"
                              for answer, count in sorted(seen.items()))
            wanted = f"{self.each} " + ":".join(word for word in expected if word != "none")
            print(f"{group:12} {name:34} {injected:8} {'' if met is None else met:>13}  {wanted:32} {words}"
                  f"{'' if right else '   <-- DIFFERS'}")
        regressed = [row for row in self.results if row["verdict"] == "regressed"]
        print(f"{len(self.results)} units, {len(regressed)} of them regressed (expected 0)")
        for row in self.results:
            if not good:
                print(f"  {row['module']}: {row['verdict']} {row['reason']}: {row['message'][:300]}")
        return good and not regressed


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--each", type=int, default=1, help="units of each class")
    arguments.add_argument("--quick", action="store_true", help="only the classes of the requirements, no recovery")
    arguments.add_argument("--bin", default=os.environ.get("CUPEL_BIN_DIR"), help="directory of the built programs")
    chosen = arguments.parse_args()
    if not chosen.bin:
        arguments.error("--bin or CUPEL_BIN_DIR names the directory of the built programs")
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        proof = Proof(stack, chosen.bin, chosen.each, chosen.quick)
        proof.sandbox_and_upstream()
        if not chosen.quick:
            proof.patched_manifests()
        proof.fleet_faults()
        good = proof.report()
        proof.settle()
    print(f"{time.monotonic() - started:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
