"""What each kind of event of a schedule does to a fleet, and how it is mended."""

import os
import signal
import time

import chaos_fleet

# A container outlives its lease by so much at most when its worker is dead, stopped or cut from its engine: what is left of
# the check's limit, the wrapper's slack, and the engine's own time.
CHECK_S = 60
OUTLIVES_S = CHECK_S + 15 + 30


class Blows:
    """Needs `fleet`, `engine` and `ids` (worker: its id), which whoever inherits makes."""

    def __init__(self):
        self.excused, self.mendings = [], {}

    def strike(self, event):
        self.say(str(event))
        getattr(self, f"on_{event.kind}")(event)
        event.state = "struck"

    def mend(self, event):
        undo = self.mendings.pop(event.number, None)
        if undo:
            undo()
        event.state = "mended"

    def mend_all(self):
        for number in list(self.mendings):
            self.mendings.pop(number)()

    def daemon(self, event):
        return self.fleet.daemons()[self.fleet.struck(event)]

    def host(self, event):
        return self.fleet.hosts[int(event.target[1:]) - 1]

    def excuse(self, event, extra=0.0):
        """Containers of a worker that is down, stopped or cut from its engine may outlive its leases. Those of a worker whose
        coordinator or database is struck may not: it ends them in time."""
        names = [event.target] if event.target in self.ids else list(self.ids)
        now = time.time()
        self.excused += [(self.ids[name], now - 1, now + event.seconds + chaos_fleet.LEASE_S + extra, OUTLIVES_S) for name in names]

    # -- processes --------------------------------------------------------------------------------

    def on_stop(self, event):
        if event.target in self.ids:
            self.excuse(event, extra=30)
        process = self.daemon(event).process
        process.send_signal(signal.SIGSTOP)
        self.mendings[event.number] = lambda: process.send_signal(signal.SIGCONT)

    def on_term(self, event):
        self.daemon(event).signal(signal.SIGTERM)

    def on_kill(self, event):
        if event.target in self.ids:
            self.excuse(event)
        with self.fleet.lock:
            name = self.fleet.struck(event)
            self.fleet.hold_down(name, event.seconds)
            self.fleet.daemons()[name].kill()

    on_coordinator_stop, on_coordinator_term, on_coordinator_kill = on_stop, on_term, on_kill

    def on_twin(self, event):
        self.excuse(event, extra=chaos_fleet.LEASE_S)
        twin = self.fleet.start_twin(int(event.target[1:]))
        self.mendings[event.number] = lambda: twin.alive() and twin.kill()

    # -- the network ------------------------------------------------------------------------------

    def on_cut(self, event, chains=("INPUT", "OUTPUT"), share=1.0):
        host = self.host(event)
        host.cut(chains, share)
        self.mendings[event.number] = host.mend

    def on_cut_up(self, event):
        self.on_cut(event, ("OUTPUT",))

    def on_cut_down(self, event):
        self.on_cut(event, ("INPUT",))

    def on_loss(self, event):
        self.on_cut(event, share=0.05 + 0.35 * event.amount)

    def on_delay(self, event):
        links = self.fleet.links[self.host(event)]
        for link in links:
            link.delay = 0.05 + 2.5 * event.amount

        def undo():
            for link in links:
                link.delay = 0.0

        self.mendings[event.number] = undo

    def on_rate(self, event):
        host = self.host(event)
        self.fleet.limit_rate(host, 24 + int(200 * event.amount))
        self.mendings[event.number] = lambda: self.fleet.unlimit_rate(host)

    def on_garbage(self, event):
        noise = chaos_fleet.Noise(self.fleet.ports(), event.kind, event.amount, event.number)
        self.mendings[event.number] = noise.stop

    on_slow_handshakes = on_garbage

    # -- disks and clocks -------------------------------------------------------------------------

    def fill(self, event, path):
        self.fleet.fill(path)
        self.mendings[event.number] = lambda: self.fleet.unfill(path)

    def on_coordinator_disk(self, event):
        self.fill(event, self.fleet.coordinator_disk())

    def on_worker_disk(self, event):
        self.fill(event, self.fleet.dir / event.target)

    def on_clock(self, event, which):
        far = event.amount * 7200 - 3600
        self.fleet.set_clock(which, int(far))
        self.mendings[event.number] = lambda: self.fleet.set_clock(which, 0)

    def on_clock_coordinator(self, event):
        self.on_clock(event, "coordinator")

    def on_clock_workers(self, event):
        # By a fast clock every container is past its deadline: workers may end one another's.
        self.excuse(event, extra=30)
        self.on_clock(event, "workers")

    # -- the engine -------------------------------------------------------------------------------

    def on_engine_term(self, event):
        self.excuse(event, extra=30)
        self.engine.stop()
        self.engine.start(wait=0)

    def on_engine_kill(self, event):
        self.excuse(event, extra=30)
        self.engine.stop(signal.SIGKILL)
        self.mendings[event.number] = lambda: self.engine.start(wait=0)

    def on_engine_stop(self, event):
        self.excuse(event, extra=30)
        self.engine.send(signal.SIGSTOP)
        self.mendings[event.number] = lambda: self.engine.send(signal.SIGCONT)

    # -- the database -----------------------------------------------------------------------------

    def on_database_kill(self, event):
        with self.fleet.lock:
            self.fleet.hold_down("database", event.seconds)
            self.fleet.postgres.kill()

    def on_database_stop(self, event):
        postgres = self.fleet.postgres
        postgres.send(signal.SIGSTOP)
        self.mendings[event.number] = lambda: postgres.send(signal.SIGCONT)

    def on_database_term(self, event):
        if self.fleet.postgres.alive():
            self.fleet.postgres.process.send_signal(signal.SIGINT)

    def on_database_backend(self, event):
        mine = self.fleet.postgres.pids()[1:]
        if mine and self.fleet.postgres.alive():
            os.kill(mine[int(event.amount * len(mine))], signal.SIGKILL)

    def on_database_cut(self, event):
        self.fleet.cut_database(self.fleet.database_host.addresses, event.amount)
        self.mendings[event.number] = self.fleet.database_host.mend

    def on_leader_cut(self, event):
        name = self.fleet.leading_name()
        self.say(f"#{event.number} cuts {name} off the database")
        self.fleet.cut_database([self.fleet.database_host.address_for(name)], event.amount)
        self.mendings[event.number] = self.fleet.database_host.mend

    def on_database_disk(self, event):
        self.fill(event, self.fleet.database_disk)
