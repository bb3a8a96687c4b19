"""What can go wrong in a chaos run: a schedule from a seed, and each event as a pair of blow and mending.

An event strikes one thing for some seconds. Two events may hold at once, but not on the same thing: the schedule sees to that,
so that it is the same for a seed whatever the machine's speed.
"""

import dataclasses
import random

# kind: (weight, shortest and longest time in seconds, what it strikes)
KINDS = {
    "stop": (4, 2, 20, "worker"),               # SIGSTOP, then CONT
    "term": (3, 0, 0, "worker"),                # drains and ends; the supervisor starts it again
    "kill": (5, 0, 4, "worker"),                # SIGKILL; down for so long
    "cut": (4, 3, 25, "worker"),                # packets dropped both ways
    "cut_up": (3, 3, 20, "worker"),             # only what it says
    "cut_down": (3, 3, 20, "worker"),           # only what it hears
    "loss": (3, 5, 20, "worker"),               # a share of the packets, both ways
    "delay": (3, 5, 20, "worker"),              # each way, by a relay
    "rate": (2, 5, 20, "worker"),               # token bucket on its cable, both ways
    "twin": (2, 4, 10, "worker"),               # a second process with a copy of key, id and directory
    "coordinator_kill": (4, 0, 4, "coordinator"),
    "coordinator_term": (2, 0, 0, "coordinator"),
    "coordinator_stop": (3, 2, 15, "coordinator"),
    "coordinator_disk": (2, 2, 8, "coordinator"),  # its data directory is full
    "worker_disk": (2, 3, 12, "disk"),             # the one whose directory is small
    "engine_term": (1, 0, 0, "engine"),
    "engine_kill": (1, 0, 3, "engine"),
    "engine_stop": (1, 2, 8, "engine"),            # answers nothing, and then goes on
    "clock_coordinator": (2, 5, 20, "clock c"),    # its wall clock is wrong, and then right again
    "clock_workers": (2, 5, 20, "clock w"),        # that of their host
    "garbage": (3, 3, 10, "ports"),                # bytes that are no greeting, on every port
    "slow_handshakes": (2, 5, 15, "ports"),        # many connections that never get on
}
# With PostgreSQL, where "coordinator" is the one that leads just then.
DATABASE_KINDS = {
    "database_kill": (3, 0, 4, "database"),     # SIGKILL of all its processes; down for so long
    "database_stop": (3, 2, 15, "database"),
    "database_term": (2, 0, 0, "database"),     # sends its clients away and ends; the supervisor starts it again
    "database_backend": (2, 0, 0, "database"),  # one of its processes is killed, and it starts anew by itself
    "database_cut": (3, 3, 20, "database"),     # from both coordinators
    "leader_cut": (4, 3, 20, "database"),       # from the one that leads
    "database_disk": (2, 2, 8, "database"),     # its file system is full
}
GAP = (1.0, 4.0)  # between two blows


@dataclasses.dataclass
class Event:
    number: int
    kind: str
    target: str  # "w1"…, "coordinator", "engine", …
    at: float  # seconds after the start
    seconds: float
    amount: float  # between 0 and 1: how much of it
    state: str = "planned"

    @property
    def end(self):
        return self.at + self.seconds

    def __str__(self):
        return f"#{self.number} {self.at:6.1f} s {self.kind} {self.target} for {self.seconds:.1f} s ({self.amount:.2f})"


def kinds_of(store):
    return KINDS | DATABASE_KINDS if store == "postgres" else KINDS


def schedule(seed, seconds, workers, small, without=(), store="sqlite"):
    """Events until `seconds`; `small` is the worker whose disk can be filled."""
    rng = random.Random(seed)
    known = kinds_of(store)
    kinds = [kind for kind in known if kind not in without]
    weights = [known[kind][0] for kind in kinds]
    events, free, now = [], {}, rng.uniform(*GAP)
    while now < seconds:
        kind = rng.choices(kinds, weights)[0]
        _, shortest, longest, strikes = known[kind]
        target = f"w{rng.randint(1, workers)}" if strikes == "worker" else f"w{small}" if strikes == "disk" else strikes
        lasts, amount = rng.uniform(shortest, longest), rng.random()
        # Its end lies before the end of the faults, and a second blow comes after a rest.
        if free.get(target, 0) <= now and now + lasts < seconds:
            events.append(Event(len(events) + 1, kind, target, now, lasts, amount))
            free[target] = now + lasts + 5
        now += rng.uniform(*GAP)
    return events
