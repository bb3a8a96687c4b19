#!/usr/bin/env python3
"""What ops/cases does with cases that are none: said with the place, and the others run all the same."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "ops/lib"))
import case_format  # noqa: E402

# A client that says "passing" of each repository, takes no campaign with a repository called *-poison, and no version
# "v9". It keeps the campaigns that it took.
CLIENT = """#!/usr/bin/env python3
import json, pathlib, sys
words = sys.argv
campaign = json.loads(pathlib.Path(words[words.index("-f") + 1]).read_text())
paths = [one["path"] for one in campaign["repositories"]]
if any("-poison" in path for path in paths):
    print("error: repositories: refused (CUP-1012)")
    sys.exit(2)
for number, one in enumerate(campaign["repositories"]):
    if any(target["version"] == "v9" for target in one.get("upgrade", [])):
        print(f'x.yaml:1:1: repositories[{number}].upgrade[0].version: "v9" is no version (CUP-1012)')
        sys.exit(2)
with open(pathlib.Path(words[0]).parent / "taken", "a") as taken:
    taken.write(json.dumps(campaign) + "\\n")
place = pathlib.Path(words[words.index("--report-dir") + 1])
place.mkdir()
(place / "report.json").write_text(json.dumps(
    {"results": [{"repository": path, "verdict": "passing", "findings": []} for path in paths]}))
"""


def good(**more):
    return {"kind": "validate", "right_outcome": "passing", "expected_findings": [], **more}


class CasesTest(unittest.TestCase):
    def setUp(self):
        self.place = Path(tempfile.mkdtemp(prefix="cupel-cases-test-"))
        self.addCleanup(subprocess.run, ["rm", "-rf", str(self.place)], check=True)
        self.cases = self.place / "cases"
        self.cases.mkdir()
        self.client = self.place / "client"
        self.client.write_text(CLIENT)
        self.client.chmod(0o755)

    def case(self, name, expect=None, repo=True):
        folder = self.cases / name
        folder.mkdir()
        if repo:
            (folder / "repo").mkdir()
            (folder / "repo/go.mod").write_text("module ex.test/m\n")
        if isinstance(expect, dict):
            expect = json.dumps({"id": name, **expect})
        if expect is not None:
            (folder / "expect.json").write_bytes(expect if isinstance(expect, bytes) else expect.encode())
        return folder

    def run_cases(self, *ids):
        environment = {**os.environ, "TMPDIR": str(self.place), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, str(ROOT / "ops/lib/cases.py"), str(self.cases), *ids, "--cupel", str(self.client),
             "--state", str(self.place / "state")], env=environment, capture_output=True, text=True, check=False)

    def test_what_is_no_case_is_named_with_its_place_and_the_others_run(self):
        self.case("001-good", good())
        broken = {
            "002-none": (None, "002-none/expect.json: there is no such file"),
            "003-cut": ('{\n "id": "003', "003-cut/expect.json:2:8: no JSON"),
            "004-list": ("[]", "004-list/expect.json: must be an object"),
            "005-bytes": (b'{"id": "\xff"}', "005-bytes/expect.json: "),
            "006-kind": (good(kind="upgrad"), ".kind: 'upgrad' is none of validate, acquire, upgrade, scan"),
            "007-class": (good(right_outcome="green"), ".right_outcome: 'green' is none of passing"),
            "008-reason": (good(right_outcome="refused:bad_gomod"), "'bad_gomod' is no reason of refused"),
            "009-reason": (good(right_outcome="failing:timeout"), "'timeout' is no reason of failing"),
            "010-finding": (good(expected_findings=[{"kind": "note"}, {"kind": "oops"}]),
                            ".expected_findings[1].kind: 'oops' is none of"),
            "011-pattern": (good(expected_findings=[{"kind": "note", "message_pattern": "a(b"}]),
                            ".expected_findings[0].message_pattern: 'a(b' is no regular expression"),
            "012-extra": (good(allow_extra="["), ".allow_extra: '[' is no regular expression"),
            "013-setting": (good(settings={"limits": {"memory": "lots"}}), ".settings.limits.memory: 'lots': must be"),
            "014-setting": (good(settings={"limits": {"cpus": 1}}), ".settings.limits.cpus: the runner has no such"),
            "015-target": (good(kind="upgrade", upgrade_target="ex.test/dep"), ".upgrade_target: 'ex.test/dep': must"),
            "016-target": (good(kind="upgrade"), ".upgrade_target: is missing"),
            "017-type": (good(tests_not_run="TestA"), ".tests_not_run: must be a list"),
            "018-runner": (good(runner="me"), ".runner: 'me' is none of fleet, parser"),
            "019-missing": ({"kind": "validate"}, ".right_outcome: is missing"),
            "021-id": ({**good(), "id": "../021"}, ".id: '../021'"),
            "022-id": ({**good(), "id": "001-good"}, "'001-good' is the case in 001-good/, too"),
        }
        for name, (expect, _) in broken.items():
            self.case(name, expect)
        self.case("020-no-tree", good(), repo=False)
        self.case("023-good", good())
        done = self.run_cases()
        self.assertEqual(done.stderr.count("Traceback"), 0, done.stderr)
        for name, (_, words) in broken.items():
            line = next((line for line in done.stdout.splitlines() if line.startswith(f"BAD   {name}/")), "")
            self.assertIn(words, line, done.stdout)
        self.assertIn("BAD   020-no-tree/expect.json: there is no tree repo/ and no script make.sh", done.stdout)
        self.assertIn("ok    001-good: passing", done.stdout)
        self.assertIn("ok    023-good: passing", done.stdout)
        self.assertRegex(done.stdout, r"cases: 2 agree, 0 differ, 0 skipped, 21 unreadable, \d+ s")
        self.assertEqual(done.returncode, 2)

    def test_a_repository_that_cannot_be_made_stops_no_other_case(self):
        for name, script in (("001-fails", "echo no disk >&2; exit 3"), ("002-nothing", "true")):
            (self.case(name, good(), repo=False) / "make.sh").write_text(script)
        self.case("003-good", good())
        done = self.run_cases()
        self.assertIn("BAD   001-fails: make.sh ended with 3: no disk", done.stdout)
        self.assertIn("BAD   002-nothing: make.sh made no DEST/repo", done.stdout)
        self.assertIn("ok    003-good: passing", done.stdout)
        self.assertEqual(done.returncode, 2)

    def test_a_case_that_no_campaign_takes_stands_alone(self):
        for number in range(1, 8):
            self.case(f"00{number}-good", good())
        self.case("010-poison", good())
        done = self.run_cases()
        self.assertIn("FAIL  010-poison: cupel run ended with 2", done.stdout)
        self.assertRegex(done.stdout, "cases: 7 agree, 1 differ, 0 skipped")
        self.assertEqual(done.returncode, 1)

    def test_each_repository_has_the_upgrade_of_its_case(self):
        for number, version in ((1, "v1.1.0"), (2, "v1.2.0"), (3, "latest")):
            self.case(f"00{number}-up", good(kind="upgrade", upgrade_target="ex.test/dep@" + version))
        self.case("004-no-version", good(kind="upgrade", upgrade_target="ex.test/dep@v9",
                                         right_outcome="refused:bad_version_query",
                                         expected_findings=[{"kind": "upgrade_error", "message_pattern": "v9"}]))
        self.case("005-none", good())
        done = self.run_cases()
        self.assertRegex(done.stdout, "cases: 5 agree, 0 differ, 0 skipped")
        taken = [json.loads(line) for line in (self.place / "taken").read_text().splitlines()]
        self.assertEqual(len(taken), 2)
        own = [one["upgrade"] for one in taken[0]["repositories"]]
        self.assertEqual(own, [[{"module": "ex.test/dep", "version": version}] for version in
                               ("v1.1.0", "v1.2.0", "latest")])
        self.assertEqual([campaign["change"] for campaign in taken], [{"upgrade": {}}, {"none": {}}])

    def test_a_difference_outweighs_what_is_unreadable(self):
        self.case("001-red", good(right_outcome="failing"))
        self.case("002-none")
        done = self.run_cases()
        self.assertIn("FAIL  001-red: outcome passing, not failing", done.stdout)
        self.assertEqual(done.returncode, 1)

    def test_ids_that_name_nothing_are_an_error(self):
        self.case("001-good", good())
        self.case("002-none")
        done = self.run_cases("001", "9", "x")
        self.assertIn("is called 9, x", done.stderr)
        self.assertEqual(done.returncode, 1)
        done = self.run_cases("1")
        self.assertNotIn("BAD", done.stdout)
        self.assertEqual(done.returncode, 0)
        self.assertIn("BAD   002-none/", self.run_cases("002").stdout)

    def test_what_has_no_file_needs_no_tree(self):
        self.case("001-empty", good(right_outcome="refused:no_go_mod"), repo=False)
        self.assertIn("FAIL  001-empty: outcome passing, not refused:no_go_mod", self.run_cases().stdout)

    def test_the_words_are_those_of_the_programs(self):
        text = (ROOT / "common/core/outcome.hpp").read_text()

        def names(of):
            body = re.search(r"enum class " + of + r" [^{]*\{(.*?)\};", text, re.DOTALL)[1]
            return set(re.findall(r"^\s*(\w+),", body, re.MULTILINE))

        known = {*case_format.INCONCLUSIVE, *case_format.REFUSED}
        self.assertEqual(names("Reason") - {"none"}, known)
        self.assertEqual(names("FindingKind"), set(case_format.FINDING_KINDS))

    def test_every_recorded_case_can_be_read(self):
        folders = [one for one in (ROOT / "tests/fixtures/cases").iterdir() if case_format.is_case(one)]
        self.assertGreater(len(folders), 100)
        for folder in folders:
            case_format.read(folder)


if __name__ == "__main__":
    unittest.main()
