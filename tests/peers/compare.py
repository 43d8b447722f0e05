#!/usr/bin/env python3
"""Compares oddrank with py-spy and pystack, process by process: the same threads, frames, lines and locals.

    compare.py --oddrank PATH --pyspy PATH --pystack PATH [--python PATH ...]

`scripts/test --peers` installs the peers and runs this. A difference that no row of REASONS explains is an
error; what was compared is printed at the end. This makes the "measured" column of README's table.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
from programs import PROGRAMS

# (tool, what differs, pattern of the detail) -> why oddrank is not wrong there.
REASONS = [
    ("py-spy", "local", r"oddrank: -?\d{19,}.*peer: .*bigint", "py-spy has no ints beyond 64 bits"),
    ("py-spy", "local", r"peer: <[\w.]+ at 0x", "py-spy does not decode the type"),
    ("pystack", "local", r"peer: <UNRESOLVED BIG INT>", "pystack has no ints beyond 64 bits"),
    ("pystack", "local", r"peer: <\S+( object)? at 0x", "pystack does not decode the type"),
    ("py-spy", "local", r"oddrank: .*peer: .*\.\.\.", "py-spy cuts at its width"),
    ("pystack", "local", r"oddrank: .*peer: .*\.\.\.", "pystack cuts at its width"),
    ("py-spy", "refused", r"", "this py-spy does not know this Python"),
    ("pystack", "refused", r"", "this pystack does not know this Python"),
]

Frame = collections.namedtuple("Frame", "function file line locals")


def last_part(name):
    return name.rsplit(".", 1)[-1]


def output_of(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                         check=False, encoding="utf-8", errors="replace")
    return run.returncode, run.stdout, run.stderr


def read_oddrank(options, pid):
    status, out, err = output_of([options.oddrank, "node", str(pid), "--locals=3", "--samples", "1",
                                  "--json", "-"])
    if status != 0:
        raise RuntimeError(err)
    threads = {}
    for thread in json.loads(out)["ranks"][0]["threads"]:
        shown = collections.deque(thread.get("locals", []))
        frames = []
        for frame in thread["frames"]:
            if frame["kind"] != "python":
                continue
            variables = {}
            if shown and shown[0]["function"] == frame["name"]:
                variables = shown.popleft()["locals"]
            frames.append(Frame(last_part(frame["name"]), os.path.basename(frame["filename"]),
                                frame["line"], variables))
        if frames:
            threads[thread["tid"]] = frames
    return threads


def read_pyspy(options, pid):
    status, out, err = output_of([options.pyspy, "dump", "--pid", str(pid), "--json", "--locals"])
    if status != 0:
        return None, err.strip()[:200]
    threads = {}
    for thread in json.loads(out):
        threads[thread["os_thread_id"]] = [
            Frame(last_part(frame["name"]), os.path.basename(frame["filename"]), frame["line"],
                  {one["name"]: one["repr"] for one in frame["locals"] or []})
            for frame in thread["frames"]]
    return threads, ""


def read_pystack(options, pid):
    status, out, err = output_of([options.pystack, "remote", str(pid), "--locals", "--no-block",
                                  "--no-color"])
    if status != 0 or "Traceback for thread" not in out:
        return None, (err or out).strip()[:200]
    threads, frames = {}, []
    for line in out.splitlines():
        head = re.match(r"Traceback for thread (\d+) ", line)
        place = re.match(r'    \(Python\) File "(.*)", line (\d+), in (.*)$', line)
        value = re.match(r"        {1,4}(\w+|\.\d+): (.*)$", line)
        if head:
            frames = threads.setdefault(int(head.group(1)), [])
        elif place:
            frames.insert(0, Frame(last_part(place.group(3)), os.path.basename(place.group(1)),
                                   int(place.group(2)), {}))
        elif value and frames:
            frames[0].locals[value.group(1)] = value.group(2)
    return {tid: found for tid, found in threads.items() if found}, ""


def normal(text):
    """Returns the value without what tools write in different ways."""
    text = text.replace('"', "'").replace(" ", "")
    return re.sub(r"^\((.*),\)$", r"(\1)", text)


def same_value(ours, theirs):
    return normal(ours) == normal(theirs)


class Comparison:
    def __init__(self, tool):
        self.tool = tool
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.unexplained = []

    def differs(self, what, where, detail):
        for tool, kind, pattern, reason in REASONS:
            if (tool, kind) == (self.tool, what) and re.search(pattern, detail, re.DOTALL):
                self.reasons[reason] += 1
                return
        self.unexplained.append(f"{self.tool}: {where}: {what}: {detail}")

    def compare(self, where, ours, theirs):
        if set(ours) != set(theirs):
            self.differs("threads", where, f"oddrank: {sorted(ours)} peer: {sorted(theirs)}")
        for tid in sorted(set(ours) & set(theirs)):
            self.counts["threads"] += 1
            self.compare_frames(where, ours[tid], theirs[tid])

    def compare_frames(self, where, ours, theirs):
        def places(frames):
            return [(frame.function, frame.file, frame.line) for frame in frames]
        if places(ours) != places(theirs):
            different = [pair for pair in zip(places(ours), places(theirs)) if pair[0] != pair[1]]
            self.differs("frames", where, f"{len(ours)} and {len(theirs)} frames, {different[:2]}")
            return
        for mine, other in zip(ours, theirs):
            self.counts["frames"] += 1
            for name, value in other.locals.items():
                self.counts["locals"] += 1
                own = mine.locals.get(name)
                if own is None:
                    self.differs("missing local", f"{where} {mine.function}", f"{name}, peer: {value}")
                elif not same_value(own, value):
                    self.differs("local", f"{where} {mine.function} {name}",
                                 f"oddrank: {own} peer: {value}")


def version_of(python):
    return subprocess.run([python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                          stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.strip()


def compare_program(options, python, name, comparisons):
    victim = subprocess.Popen([python, os.path.join(HERE, "programs.py"), name],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert victim.stdout.readline() == b"ready\n"
        where = f"{version_of(python)} {name}"
        ours = read_oddrank(options, victim.pid)
        for comparison, read in zip(comparisons, (read_pyspy, read_pystack)):
            theirs, why = read(options, victim.pid)
            if theirs is None:
                comparison.differs("refused", where, why)
            else:
                comparison.compare(where, ours, theirs)
    finally:
        victim.kill()
        victim.communicate()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--oddrank", "--pyspy", "--pystack"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python", action="append", required=True)
    options = parser.parse_args()
    comparisons = [Comparison("py-spy"), Comparison("pystack")]
    for python in options.python:
        for name in PROGRAMS:
            compare_program(options, python, name, comparisons)
    for comparison in comparisons:
        counts = comparison.counts
        print(f"{comparison.tool}: {counts['threads']} threads, {counts['frames']} frames and "
              f"{counts['locals']} locals compared; {len(comparison.unexplained)} differences "
              "without a reason")
        for reason, times in sorted(comparison.reasons.items()):
            print(f"  {times}: {reason}")
        for line in comparison.unexplained[:40]:
            print(f"  {line}")
    sys.exit(1 if any(one.unexplained for one in comparisons) else 0)


if __name__ == "__main__":
    main()
