#!/usr/bin/env python3
"""What ops/lint need not look at again, and what makes it look."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# A clang-tidy that finds something where a file says FINDING, and keeps which files it looked at.
TIDY = """#!/usr/bin/env python3
import os, pathlib, sys
place = pathlib.Path(os.environ["LINT_TEST"])
if sys.argv[1:] == ["--version"]:
    print((place / "version").read_text())
    sys.exit(0)
source = pathlib.Path(sys.argv[-1])
with open(place / "seen", "a") as seen:
    seen.write(f"{source}\\n")
if "FINDING" in source.read_text():
    print(f"{source}:1:1: error: a finding")
    sys.exit(1)
"""


class Lint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = Path(folder.name).resolve()
        self.tree = self.dir / "a tree"
        self.write("a.cpp", '#include "a.hpp"\n')
        self.write("below/b.cpp", '#include "a.hpp"\n')
        self.write("a.hpp", "int a();\n")
        (self.dir / "version").write_text("19")
        (self.dir / "bin").mkdir()
        tidy = self.dir / "bin/clang-tidy-19"
        tidy.write_text(TIDY)
        tidy.chmod(0o755)
        self.commands("-O0")

    def write(self, path, text):
        file = self.tree / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commands(self, flag):
        self.write("build/compile_commands.json", json.dumps([
            {"directory": str(self.tree / "build"), "file": str(self.tree / name),
             "command": f"clang++-19 {flag} '-I{self.tree}' -o x.o -c '{self.tree / name}'"}
            for name in ("a.cpp", "below/b.cpp")]))

    def looked_at(self, *sources, code=0, words="", arguments=()):
        """The files that clang-tidy was asked about, in a call for these sources."""
        seen = self.dir / "seen"
        seen.write_text("")
        done = subprocess.run(
            [sys.executable, str(ROOT / "ops/lib/lint_cache.py"), "--root", str(self.tree), "--build",
             str(self.tree / "build"), "--cache", str(self.tree / "cache"), *arguments],
            input="".join(f"{source}\n" for source in sources or ("a.cpp", "below/b.cpp")),
            env=os.environ | {"PATH": f"{self.dir / 'bin'}:{os.environ['PATH']}", "LINT_TEST": str(self.dir)},
            cwd=self.tree, capture_output=True, text=True)
        self.assertEqual(done.returncode, code, done)
        self.assertIn(words, done.stdout + done.stderr)
        return sorted(seen.read_text().split())

    def test_a_clean_file_is_passed_over(self):
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])
        self.assertEqual(self.looked_at(words="2 files, 2 known to be clean"), [])
        self.assertEqual(self.looked_at(arguments=["--again"]), ["a.cpp", "below/b.cpp"])

    def test_what_changed_is_looked_at(self):
        self.looked_at()
        self.write("a.cpp", '#include "a.hpp"\nint b;\n')
        self.assertEqual(self.looked_at(), ["a.cpp"])
        self.write("a.hpp", "long a();\n")
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])
        self.write("below/.clang-tidy", "Checks: -*\n")
        self.assertEqual(self.looked_at(), ["below/b.cpp"])
        self.write(".clang-tidy", "Checks: -*\n")
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])
        self.commands("-O1")
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])
        (self.dir / "version").write_text("20")
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])
        self.assertEqual(self.looked_at(), [])

    def test_a_header_that_is_gone_is_a_change(self):
        self.looked_at()
        (self.tree / "a.hpp").unlink()
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])

    def test_findings_are_told_each_time(self):
        self.write("a.cpp", "// FINDING\n")
        for _ in range(2):
            self.assertIn("a.cpp", self.looked_at(code=1, words="a.cpp:1:1: error: a finding"))
        self.write("a.cpp", "\n")
        self.assertEqual(self.looked_at(), ["a.cpp"])

    def test_a_run_that_was_ended_goes_on(self):
        self.looked_at("a.cpp")
        self.assertEqual(self.looked_at(), ["below/b.cpp"])

    def test_a_file_that_nobody_compiles_is_never_known(self):
        self.write("c.cpp", "\n")
        for _ in range(2):
            self.assertEqual(self.looked_at("c.cpp"), ["c.cpp"])

    def test_a_damaged_record_is_none(self):
        self.looked_at()
        for record in (self.tree / "cache").iterdir():
            record.write_text("[")
        self.assertEqual(self.looked_at(), ["a.cpp", "below/b.cpp"])


if __name__ == "__main__":
    unittest.main()
