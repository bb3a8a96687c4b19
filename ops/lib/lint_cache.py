#!/usr/bin/env python3
"""clang-tidy on files, of which it need not look again at those that were clean.

A clean file is remembered by what clang-tidy saw: its version, the .clang-tidy files above the source, the compile
command, and the content of the source and of every header that it includes. A header that would newly be found ahead of
one of these is not noticed; ops/lint --again is for that. Each file is remembered at once, so a run that was ended goes on.
"""
import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

TIDY = "clang-tidy-19"


@functools.lru_cache(maxsize=None)
def digest_of(path):
    """None: there is no such file."""
    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


def digest_of_text(*parts):
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Compiled:
    """How one source is compiled; see compile_commands.json."""

    def __init__(self, entry):
        self.folder = entry["directory"]
        self.words = entry.get("arguments") or shlex.split(entry["command"])

    def headers(self):
        """Every file that the compiler reads, or None where it doesn't get so far."""
        words = []
        rest = iter(self.words)
        for word in rest:
            if word == "-o":
                next(rest, None)
            elif word != "-c":
                words.append(word)
        done = subprocess.run([*words, "-M"], cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            return None
        # "name.o: first \", and a blank in a path is "\ ".
        listed = done.stdout.replace("\\\n", " ").split(":", 1)[1]
        paths = shlex.split(listed)
        return sorted({os.path.normpath(os.path.join(self.folder, path)) for path in paths})


class Cache:
    def __init__(self, root, folder, commands):
        self.root, self.folder = root, folder
        self.commands = {os.path.normpath(os.path.join(one["directory"], one["file"])): Compiled(one) for one in commands}
        self.version = subprocess.run([TIDY, "--version"], check=True, capture_output=True, text=True).stdout
        folder.mkdir(parents=True, exist_ok=True)

    def key(self, source):
        """None: nobody says how it is compiled, and so it is looked at each time."""
        compiled = self.commands.get(str(self.root / source))
        if compiled is None:
            return None
        above = [self.root, *(self.root / parent for parent in reversed(Path(source).parents) if parent.name)]
        rules = [digest_of(str(place / ".clang-tidy")) or "" for place in above]
        return digest_of_text(self.version, *rules, compiled.folder, *compiled.words)

    def record_of(self, source):
        return self.folder / (digest_of_text(source) + ".json")

    def was_clean(self, source, key):
        try:
            record = json.loads(self.record_of(source).read_text())
            return record["key"] == key and all(digest_of(path) == known for path, known in record["read"].items())
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False

    def what_is_read(self, source):
        headers = self.commands[str(self.root / source)].headers()
        return None if headers is None else {path: digest_of(path) for path in headers}

    def remember(self, source, key, read):
        record = self.record_of(source)
        fresh = record.with_suffix(".new")
        fresh.write_text(json.dumps({"source": source, "key": key, "read": read}))
        fresh.rename(record)


def look_at(cache, source, options):
    """The exit code of clang-tidy and what it said, or None where it need not look."""
    key = cache.key(source)
    if key is not None and not options.again and cache.was_clean(source, key):
        return None
    # Before clang-tidy looks: what changes meanwhile is then not what is remembered.
    read = None if key is None else cache.what_is_read(source)
    done = subprocess.run([TIDY, "-p", str(options.build), "--quiet", source], cwd=cache.root, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == 0 and read is not None:
        cache.remember(source, key, read)
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path.cwd())
    parser.add_argument("--build", type=Path, required=True, help="holds compile_commands.json")
    parser.add_argument("--cache", type=Path, required=True, help="a folder")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--again", action="store_true", help="look at every file, whatever is remembered")
    parser.add_argument("sources", nargs="*", help="relative to the root; none: one a line of standard input")
    options = parser.parse_args()
    root = options.root.resolve()
    sources = options.sources or sys.stdin.read().splitlines()
    commands = json.loads((options.build / "compile_commands.json").read_text())
    options.build = options.build.resolve()
    cache = Cache(root, options.cache, commands)

    words = threading.Lock()
    known = bad = 0

    def one(source):
        nonlocal known, bad
        answer = look_at(cache, source, options)
        with words:
            if answer is None:
                known += 1
            elif answer[0] != 0:
                bad += 1
                print(answer[1], end="", flush=True)

    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, options.jobs)) as pool:
        list(pool.map(one, sources))
    print(f"lint: {len(sources)} files, {known} known to be clean, {bad} with findings", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
