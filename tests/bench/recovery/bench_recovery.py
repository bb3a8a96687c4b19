#!/usr/bin/env python3
"""How long a fleet of the real programs stands still after a part of it died. One JSON object a line.

recovery_worker_lost: kill -9 of a worker that stays dead, until the task that it ran runs in a container of the other worker, its
  workspace acquired again. Most of it is waiting on purpose: the lease, so that no task ever runs twice.
recovery_worker_restarted: the same worker is started again at once.
recovery_coordinator: kill -9 with 100,000 queued tasks, until the restarted one has leased its first task; recovery_coordinator_ready
  until it answers /-/ready, and recovery_coordinator_cpu the processor time that it has used by then.
recovery_takeover: the leader of two coordinators on PostgreSQL is killed, or stopped, with as many queued tasks, until the other one
  has leased its first task; recovery_takeover_ready until that one leads, recovery_takeover_workers until every worker is there.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import statistics
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "integration" / folder) for folder in ("fleet", "standby")]
import harness  # noqa: E402
import pair as standby  # noqa: E402

UNREACHABLE = (OSError, AssertionError, harness.http.client.HTTPException)


def until(condition, what, seconds=150):
    """When it held, in seconds of the monotonic clock."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(*UNREACHABLE):
            if condition():
                return time.monotonic()
        time.sleep(0.005)
    raise AssertionError(f"{what}: not within {seconds} s")


def moments(conditions, seconds=150):
    """When each held for the first time, in seconds from now."""
    began, seen = time.monotonic(), {}
    while len(seen) < len(conditions):
        for name in [name for name in conditions if name not in seen]:
            with contextlib.suppress(*UNREACHABLE):
                if conditions[name]():
                    seen[name] = time.monotonic() - began
        if time.monotonic() > began + seconds:
            raise AssertionError(f"{set(conditions) - set(seen)}: not within {seconds} s")
        time.sleep(0.005)
    return seen


def figure(name, values, **conditions):
    print(json.dumps({"name": name, "value": round(statistics.median(values), 3), "unit": "s",
                      "conditions": {"spread": [round(min(values), 3), round(max(values), 3)], "rounds": len(values),
                                     "processors": os.cpu_count(), "load": round(os.getloadavg()[0], 1), **conditions}}), flush=True)


def asleep(fleet, campaign, worker=None):
    """The container in which the slow test runs."""
    return [run for run in fleet.own_containers()
            if run["Labels"]["cupel.campaign"] == campaign and " go test " in run["Command"] and run["State"] == "running"
            and worker in (None, run["Labels"]["cupel.worker"])]


def worker_lost(options, restarted):
    values = []
    for number in range(options.rounds):
        fleet = harness.Fleet(options.bin, workers=2, namespaces=False,
                              coordinator_settings={"lease-ms": options.lease_ms, "holder-grace-ms": options.lease_ms})
        try:
            path = harness.module(fleet.dir / "repositories", f"slow{number}", harness.SLOW % 60)
            campaign = fleet.submit(harness.campaign_of([path], extra="sandbox:\n  timeouts: {check: 90s}\n"))
            until(lambda: asleep(fleet, campaign), "the test runs")
            victim = asleep(fleet, campaign)[0]["Labels"]["cupel.worker"]
            index = next(int(name[1:]) for name, text in fleet.worker_ids().items() if text == victim)
            other = next(text for text in fleet.worker_ids().values() if text != victim)
            died = time.monotonic()
            fleet.workers[index - 1].kill()
            if restarted:
                fleet.start_worker(index, wait=False)
                # Its old container is gone with it; what runs now is the new attempt.
                until(lambda: not asleep(fleet, campaign), "the old container ends")
                again = until(lambda: asleep(fleet, campaign), "the test runs again")
            else:
                again = until(lambda: asleep(fleet, campaign, other), "the test runs on the other worker")
            values.append(again - died)
            fleet.request("POST", f"/api/v1/campaigns/{campaign}/cancel", body="{}")
            until(lambda: not asleep(fleet, campaign), "the cancelled test ends")
        finally:
            fleet.close(check=False)
    figure("recovery_worker_restarted" if restarted else "recovery_worker_lost", values, lease_ms=options.lease_ms,
           holder_grace_ms=options.lease_ms, workers=2)


def refused(first, count):
    """Repositories that a worker refuses at a look, without a container: as many tasks as a campaign can have."""
    return json.dumps({"apiVersion": "cupel/v1", "kind": "Campaign", "name": f"queued{first}", "repositories": [
        {"git": f"https://127.0.0.1/{first + i}", "ref": "main"} for i in range(count)]})


def cpu_seconds(daemon):
    fields = pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def leases(answer):
    """Leases that this life of the coordinator has granted, by what it answers to GET /metrics."""
    status, text = answer
    rows = [line.split()[-1] for line in text.decode().splitlines() if line.startswith("cupel_task_queue_wait_seconds_count")]
    return sum(map(float, rows)) if status == 200 else 0


def submit_queued(fleet, queued):
    status, body = fleet.request("POST", "/api/v1/campaigns", body=refused(0, queued), timeout=300,
                                 headers={"Content-Type": "application/yaml"})
    if status != 201:
        raise AssertionError(f"the campaign was not taken: {status} {body[:300]!r}")


def coordinator_restarted(options):
    fleet = harness.Fleet(options.bin, workers=1, slots=1, namespaces=False)
    first, ready, cpu = [], [], []
    try:
        fleet.request("POST", "/api/v1/workers/w1/drain", body="{}")
        submit_queued(fleet, options.queued)
        for _ in range(options.rounds):
            # So that the restarted one has work to give as soon as it can.
            fleet.request("POST", "/api/v1/workers/w1/undrain", body="{}")
            fleet.coordinator.kill()
            began = time.monotonic()
            fleet.start_coordinator(wait=False)
            ready.append(until(lambda: fleet.request("GET", "/-/ready", timeout=5)[0] == 200, "the coordinator is ready") - began)
            cpu.append(cpu_seconds(fleet.coordinator))
            first.append(until(lambda: leases(fleet.request("GET", "/metrics")) > 0, "a task was leased") - began)
            fleet.request("POST", "/api/v1/workers/w1/drain", body="{}")
    finally:
        fleet.close(check=False)
    figure("recovery_coordinator_ready", ready, queued=options.queued)
    figure("recovery_coordinator_cpu", cpu, queued=options.queued)
    figure("recovery_coordinator", first, queued=options.queued, workers=1)


def taken_over(options):
    times = {how: [] for how in ("kill -9", "SIGSTOP")}
    fleet = standby.Pair(options.bin, workers=2)
    workers = {worker.name for worker in fleet.workers}
    try:
        order_all(fleet, "drain")
        submit_queued(fleet, options.queued)
        for number in range(2 * options.rounds):
            how = list(times)[number % 2]
            gone, other = fleet.active, fleet.standby()
            granted = leases(metrics_of(other))
            order_all(fleet, "undrain")
            gone.signal(signal.SIGKILL if how == "kill -9" else signal.SIGSTOP)
            times[how].append(moments({"recovery_takeover_ready": lambda: other.readiness() == "",
                                       "recovery_takeover_workers": lambda: fleet.connected(other) == workers,
                                       "recovery_takeover": lambda: leases(metrics_of(other)) > granted}))
            fleet.wait_for_leader(other_than=gone)
            order_all(fleet, "drain")
            if how == "kill -9":
                gone.process.wait(10)
                gone.start()
            else:
                gone.signal(signal.SIGCONT)
            until(lambda: "standby: coordinator" in (gone.readiness() or ""), "the old leader stands by")
    finally:
        fleet.close(check=False)
    for how, rounds in times.items():
        for name in rounds[0]:
            figure(name, [seen[name] for seen in rounds], how=how, queued=options.queued, workers=2)


def order_all(fleet, order):
    for worker in fleet.workers:
        fleet.request("POST", f"/api/v1/workers/{worker.name}/{order}", body="{}")


def metrics_of(coordinator):
    status, _, text = coordinator.ask("GET", "/metrics")
    return status, text


def main():
    arguments = argparse.ArgumentParser(prog="ops/bench recovery", description=__doc__)
    arguments.add_argument("--bin", default=os.environ.get("CUPEL_BIN_DIR"), help="directory of the built programs")
    arguments.add_argument("--rounds", type=int, default=3, help="of each part (default: 3)")
    arguments.add_argument("--queued", type=int, default=100_000, help="tasks that wait when the coordinator restarts (default: 100000)")
    arguments.add_argument("--lease-ms", type=int, default=30_000, help="of tasks and of a worker that is lost (default: 30000)")
    arguments.add_argument("--only", choices=["lost", "restarted", "coordinator", "takeover"], help="one of the parts")
    options = arguments.parse_args()
    harness.clean_up_on_term()
    if options.only in (None, "lost"):
        worker_lost(options, restarted=False)
    if options.only in (None, "restarted"):
        worker_lost(options, restarted=True)
    if options.only in (None, "coordinator"):
        coordinator_restarted(options)
    if options.only in (None, "takeover"):
        taken_over(options)


if __name__ == "__main__":
    main()
