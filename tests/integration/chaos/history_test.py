#!/usr/bin/env python3
"""The judge of histories sees each fault that is planted in one, and nothing in a good one."""

import copy
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import history  # noqa: E402


def event(seq, type, **more):
    return {"seq": seq, "type": type, "campaign": "c-1", **more}


def attempt(token, how, worker="w-1"):
    return {"token": token, "how": how, "worker": worker}


def good():
    """Two tasks; the first was interrupted once."""
    return history.Record(
        events=[event(1, "campaign.created"),
                event(2, "task.started", task="t-1", token=1), event(3, "task.started", task="t-2", token=2),
                event(4, "task.retried", task="t-1", token=1), event(5, "task.started", task="t-1", token=3),
                event(6, "task.finished", task="t-2", token=2), event(7, "task.finished", task="t-1", token=3),
                event(8, "unit.finished", unit="u-1"), event(9, "campaign.finished")],
        units={"c-1": [{"id": "u-1", "verdict": "passing"}]},
        tasks={"t-1": {"state": "done", "result": {"outcome": "passing"},
                       "attempts": [attempt(1, "the worker is gone"), attempt(3, "passing", "w-2")]},
               "t-2": {"state": "done", "result": {"outcome": "passing"}, "attempts": [attempt(2, "passing")]}},
        runs=[({"cupel.task": "t-1", "cupel.token": "1", "cupel.worker": "w-1"}, 10.0, 20.0),
              ({"cupel.task": "t-1", "cupel.token": "3", "cupel.worker": "w-2"}, 20.5, 30.0)],
        outbox={"w1": []})


class Judge(unittest.TestCase):
    def expect(self, record, *words):
        wrong = history.judge(record)
        self.assertTrue(wrong, "not seen")
        for word in words:
            self.assertTrue(any(word in line for line in wrong), wrong)

    def test_finds_nothing_in_a_good_history(self):
        self.assertEqual(history.judge(good()), [])

    def test_sees_a_second_accepted_result(self):
        record = good()
        record.tasks["t-2"]["attempts"].append(attempt(4, "failing"))
        self.expect(record, "t-2: more than one result was accepted")

    def test_sees_a_second_result_in_the_events(self):
        record = good()
        record.events.append(event(10, "task.finished", task="t-2", token=2))
        self.expect(record, "t-2: a result of the old attempt 2 was accepted", "more than one result")

    def test_sees_a_lost_result(self):
        record = good()
        record.tasks["t-2"]["result"] = None
        self.expect(record, "t-2 is done, but its accepted result is lost")

    def test_sees_a_result_that_was_never_accepted(self):
        record = good()
        record.tasks["t-2"].update(state="leased", attempts=[], result=None)
        self.expect(record, "t-2 has not come to an end: leased")

    def test_sees_a_result_of_an_old_attempt(self):
        record = good()
        record.events[6]["token"] = 1
        self.expect(record, "t-1: a result of the old attempt 1 was accepted")

    def test_sees_a_token_that_was_given_out_twice(self):
        record = good()
        for line in record.events:
            if line.get("token") == 3:
                line["token"] = 2
        self.expect(record, "token 2 was given out after 2")

    def test_knows_that_one_commit_is_told_campaign_by_campaign(self):
        record = good()
        record.events[1].update(ts="1", token=2, task="t-2")
        record.events[2].update(ts="1", token=1, task="t-1", campaign="c-2")
        self.assertEqual(history._tokens(record.events), [])
        record.events[2]["ts"] = "2"
        self.assertIn("t-1: token 1 was given out after 2", "".join(history._tokens(record.events)))
        record.events[2].update(ts="1", token=2)
        self.assertIn("t-1: token 2 was given out after 2", "".join(history._tokens(record.events)))

    def test_sees_a_lease_after_the_result(self):
        record = good()
        record.events.append(event(10, "task.started", task="t-2", token=4))
        self.expect(record, "t-2: leased again after its result was accepted")

    def test_sees_a_leftover_container(self):
        record = good()
        record.left.append({"Id": "0123456789abcdef", "State": "exited",
                            "Labels": {"cupel.task": "t-1", "cupel.token": "1", "cupel.worker": "w-1"}})
        self.expect(record, "leftover container 0123456789ab (exited) of task t-1, attempt 1, worker w-1")

    def test_sees_a_result_that_waits_for_ever(self):
        record = good()
        record.outbox["w1"].append("00000000000000000001.result")
        self.expect(record, "still waits in the outbox")

    def test_sees_two_attempts_at_once(self):
        record = good()
        record.runs[0] = (record.runs[0][0], 10.0, 22.0)
        self.expect(record, "ran until 1.5 s after one of attempt 3 began")
        record.excused = [("w-1", 15.0, 25.0, 1.0)]
        self.expect(record, "ran until 1.5 s after one of attempt 3 began")

    def test_lets_a_dead_workers_container_end(self):
        record = good()
        record.runs[0] = (record.runs[0][0], 10.0, 22.0)
        record.excused = [("w-1", 15.0, 25.0, 5.0)]
        self.assertEqual(history.judge(record), [])

    def test_sees_a_campaign_that_ends_twice_or_never(self):
        record = good()
        record.events.append(event(10, "campaign.finished"))
        self.expect(record, "campaign c-1 ended 2 times")
        record = good()
        record.events.pop()
        self.expect(record, "campaign c-1 ended 0 times")

    def test_sees_units_without_or_with_two_verdicts(self):
        record = good()
        record.units["c-1"][0]["verdict"] = None
        self.expect(record, "units without a verdict: ['u-1']")
        record = good()
        record.events.append(event(10, "unit.finished", unit="u-1"))
        self.expect(record, "more than one verdict: ['u-1']")

    def test_sees_an_event_that_was_told_twice(self):
        record = good()
        record.events.append(copy.deepcopy(record.events[0]))
        self.expect(record, "event 1 was told 2 times")


if __name__ == "__main__":
    unittest.main(verbosity=2)
