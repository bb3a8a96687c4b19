"""What a fleet did, as it can be seen from outside, and the verdict on it.

The record is taken when everything has come to its end: the events of the API, each task as the store has it, the containers
that the engine told of and those that are left, and the outboxes. `judge` knows nothing of how a fleet works inside: it holds
the record against what is promised, and returns one line for each promise that was broken.
"""

import collections
import dataclasses
import pathlib

ACCEPTED = {"passing", "failing", "inconclusive", "refused"}
TERMINAL = {"done", "dead", "cancelled"}


@dataclasses.dataclass
class Record:
    events: list = dataclasses.field(default_factory=list)  # of the API, of all campaigns, in any order
    units: dict = dataclasses.field(default_factory=dict)  # campaign: rows of its results
    tasks: dict = dataclasses.field(default_factory=dict)  # id: what GET /api/v1/tasks/ID says
    runs: list = dataclasses.field(default_factory=list)  # (labels, start, end) of containers, in seconds
    left: list = dataclasses.field(default_factory=list)  # containers of the fleet that are there now
    outbox: dict = dataclasses.field(default_factory=dict)  # worker: names of results that wait
    # (worker, from, to, seconds): between these times its containers may outlive its leases, by so many seconds: it was
    # dead, stopped, or cut from its engine, and the wrapper's or the deadline's end is all that holds there.
    excused: list = dataclasses.field(default_factory=list)


def collect(fleet, campaigns, container_events, excused=()):
    """The record of a `harness.Fleet` whose campaigns have ended."""
    record = Record(excused=list(excused))
    for campaign in campaigns:
        record.events += fleet.events(campaign, 60)
        record.units[campaign] = fleet.results(campaign)
    for task in {event["task"] for event in record.events if "task" in event}:
        record.tasks[task] = fleet.get(f"/api/v1/tasks/{task}")
    # Another fleet of this engine has the same numbers of tasks and attempts.
    ours = set(fleet.worker_ids().values())
    record.runs = [run for run in container_events.ended if run[0].get("cupel.worker") in ours] if container_events else []
    record.left = fleet.own_containers()
    for worker in sorted(path.parent for path in pathlib.Path(fleet.dir).glob("w*/outbox")):
        record.outbox[worker.name] = sorted(file.name for file in (worker / "outbox").glob("*.result*"))
    return record


def judge(record):
    """Lines that say which promise was broken, and by what. None: all were kept."""
    wrong = []
    events = sorted(record.events, key=lambda event: event["seq"])
    wrong += _numbered(events)
    wrong += _tokens(events)
    wrong += _one_result(events, record.tasks)
    wrong += _campaigns(events, record.units)
    wrong += _overlaps(record)
    for container in record.left:
        labels = container["Labels"]
        wrong.append(f"leftover container {container['Id'][:12]} ({container['State']}) of task {labels.get('cupel.task')}, "
                     f"attempt {labels.get('cupel.token')}, worker {labels.get('cupel.worker')}")
    for worker, files in sorted(record.outbox.items()):
        wrong += [f"{worker}: {name} still waits in the outbox" for name in files]
    return wrong


def _numbered(events):
    seen = collections.Counter(event["seq"] for event in events)
    return [f"event {seq} was told {times} times" for seq, times in seen.items() if times > 1]


def _tokens(events):
    """One sequence for the whole fleet, which only grows, over restarts as well. What one commit recorded has one time and is
    told campaign by campaign, so that only a campaign's own order counts there."""
    wrong, earlier, moment, now = [], 0, None, {}
    for event in events:
        if event["type"] != "task.started":
            continue
        if moment != event.get("ts", event["seq"]):
            earlier, moment, now = max([earlier, *now.values()]), event.get("ts", event["seq"]), {}
        floor = max(earlier, now.get(event["campaign"], 0))
        if event["token"] <= floor or event["token"] in now.values():
            wrong.append(f"{event['task']}: token {event['token']} was given out after {max([floor, *now.values()])} (event {event['seq']})")
        now[event["campaign"]] = max(now.get(event["campaign"], 0), event["token"])
    return wrong


def _one_result(events, tasks):
    wrong = []
    live, finished = {}, collections.Counter()
    for event in events:
        task = event.get("task")
        if event["type"] == "task.started":
            if finished[task]:
                wrong.append(f"{task}: leased again after its result was accepted (event {event['seq']})")
            live[task] = event["token"]
        elif event["type"] == "task.retried":
            if live.pop(task, None) != event["token"]:
                wrong.append(f"{task}: attempt {event['token']} ended, which was not the live one (event {event['seq']})")
        elif event["type"] == "task.finished":
            finished[task] += 1
            if live.pop(task, None) != event["token"]:
                wrong.append(f"{task}: a result of the old attempt {event['token']} was accepted (event {event['seq']})")
    for task, said in sorted(tasks.items()):
        if said["state"] not in TERMINAL:
            wrong.append(f"{task} has not come to an end: {said['state']}")
        accepted = [attempt["token"] for attempt in said["attempts"] if attempt["how"] in ACCEPTED]
        if len(accepted) > 1 or finished[task] > 1:
            wrong.append(f"{task}: more than one result was accepted: attempts {accepted}, {finished[task]} events")
        if said["state"] == "done" and (len(accepted) != 1 or finished[task] != 1 or not said["result"]):
            wrong.append(f"{task} is done, but its accepted result is lost: attempts {accepted}, {finished[task]} events, "
                         f"result {'kept' if said['result'] else 'missing'}")
        if said["state"] == "cancelled" and finished[task]:
            wrong.append(f"{task} was cancelled, and has a result all the same")
        tokens = [attempt["token"] for attempt in said["attempts"]]
        if len(set(tokens)) != len(tokens):
            wrong.append(f"{task}: an attempt ended twice: {tokens}")
    return wrong


def _campaigns(events, units):
    wrong = []
    for campaign, rows in units.items():
        mine = [event for event in events if event["campaign"] == campaign]
        ends = sum(event["type"] == "campaign.finished" for event in mine)
        reopened = sum(event["type"] == "campaign.reopened" for event in mine)
        if ends != 1 + reopened:
            wrong.append(f"campaign {campaign} ended {ends} times")
        open_units = [row["id"] for row in rows if not row["verdict"]]
        if open_units:
            wrong.append(f"campaign {campaign}: units without a verdict: {open_units}")
        told = collections.Counter(event["unit"] for event in mine if event["type"] == "unit.finished")
        twice = [unit for unit, times in told.items() if times > 1]
        if twice and not reopened:
            wrong.append(f"campaign {campaign}: more than one verdict: {twice}")
        missing = {row["id"] for row in rows} - set(told)
        if missing:
            wrong.append(f"campaign {campaign}: verdicts that no event told: {sorted(missing)}")
    return wrong


def _overlaps(record):
    """Containers of two attempts of one task at the same time."""
    wrong = []
    by_task = collections.defaultdict(list)
    for labels, start, end in record.runs:
        if int(labels.get("cupel.token", 0)) == 0:
            continue  # of no attempt: a worker's own, such as its mount probe
        if labels["cupel.task"] == "t-0":
            continue  # a probe of a worker in quarantine: each is another one
        by_task[labels["cupel.task"]].append((int(labels["cupel.token"]), start, end, labels["cupel.worker"]))
    for task, runs in sorted(by_task.items()):
        for token, _, end, worker in runs:
            for later, began, _, _ in runs:
                if later <= token or began >= end:
                    continue
                allowed = max((seconds for who, a, b, seconds in record.excused if who == worker and a <= end and b >= began),
                              default=0)
                if end - began > allowed:
                    wrong.append(f"{task}: a container of attempt {token} on {worker} ran until {end - began:.1f} s after one of "
                                 f"attempt {later} began")
    return wrong


def figures(record):
    """A line about how much was looked at."""
    how = collections.Counter(event["type"] for event in record.events)
    return (f"{len(record.units)} campaigns, {sum(len(rows) for rows in record.units.values())} units, {len(record.tasks)} tasks, "
            f"{how['task.started']} attempts, {how['task.finished']} results, {how['task.retried']} attempts put back, "
            f"{how['deadletter.added']} dead letters, {len(record.runs)} containers")
