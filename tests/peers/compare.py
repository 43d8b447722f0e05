#!/usr/bin/env python3
"""Compares oddrank with py-spy and pystack, process by process and then core by core: the same threads, frames,
lines and locals, and the same words for what the interpreter does.

    compare.py --oddrank PATH --pyspy PATH --pystack PATH [--python PATH ...]

`scripts/test --peers` installs the peers and runs this. A difference that no row of REASONS explains is an
error; what was compared is printed at the end. This makes the "measured" column of README's table.
"""

import argparse
import collections
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
# pylint: disable=wrong-import-position
from programs import PROGRAMS

ANY = ""  # tool

# (tool, what differs, pattern of the detail) -> why oddrank is not wrong there.
REASONS = [
    ("py-spy", "local", r"oddrank: -?\d{19,}.*peer: .*bigint", "py-spy has no ints beyond 64 bits"),
    ("py-spy", "core local", r"oddrank: (True|False|<class\w+>) peer: [01]$",
     "py-spy misses types whose memory is in files, not in the core"),
    ("py-spy", "local", r"oddrank: <class\w+> peer: 0$", "py-spy takes a class for a number"),
    ("pystack", "missing local", r"peer: <invalid object at 0x0>", "pystack lists unbound variables"),
    ("py-spy", "core local", r"peer: .*(\?|<.*at0x)",
     "py-spy misses types whose memory is in files, not in the core"),
    ("py-spy", "local", r"peer: <[\w.]+ *at *0x", "py-spy does not decode the type"),
    ("pystack", "local", r"oddrank: .*<unreadable>.* peer: .*<invalidobjectat0x",
     "an object that is none, in other words"),
    ("py-spy", "local", r"peer: \?$", "py-spy does not read the value"),
    ("pystack", "local", r"peer: <UNRESOLVEDBIGINT>", "pystack has no ints beyond 64 bits"),
    ("pystack", "local", r"peer: <\S+at0x", "pystack does not decode the type"),
    ("py-spy", "local", r"oddrank: .*peer: .*\.\.\.", "py-spy cuts at its width"),
    ("pystack", "local", r"oddrank: .*peer: .*\.\.\.", "pystack cuts at its width"),
    (ANY, "local", r"^oddrank: ([\w.]+)\((.*)\) peer: \2$", "oddrank names the subclass"),
    (ANY, "local", r"^oddrank: [\w.]+\(\[(.*)\]\) peer: \(\1\)$", "oddrank names the subclass"),
    (ANY, "rounded", r"", "the peer rounds the number"),
    (ANY, "local", r"^oddrank: '[^']*\\[ntrx\\].*' peer: [^\\]*", "the peer does not escape characters"),
    ("pystack", "local", r"^oddrank: .*[^\x00-\x7f].* peer: ", "pystack reads only ASCII texts"),
    ("pystack", "frames", r"[^\x00-\x7f]", "pystack drops frames whose names are not ASCII"),
    ("pystack", "collects", r"^3\.6\..* oddrank: True|oddrank: True .* GIL: False",
     "pystack tells a collection only of a thread that holds the GIL, from 3.7 on"),
    ("pystack", "collects", r" by ld\.so .*oddrank: False peer: True",
     "pystack does not find the GIL, and says of all threads that they collect"),
    ("pystack", "GIL", r" by ld\.so .*oddrank: True peer: False", "pystack does not find the GIL"),
    ("pystack", "GIL", r"^3\.7\..* shutdown.* oddrank: False peer: True",
     "while Python ends, pystack takes its thread for the holder: gdb shows an unlocked GIL"),
    ("py-spy", "refused", r"panicked at", "py-spy crashes on the core"),
    ("py-spy", "refused", r"", "py-spy knows no such Python, or not one that ld.so started (scripts/pythons)"),
    ("pystack", "refused", r"", "pystack knows no such Python, or not one that ld.so started (scripts/pythons)"),
]

Frame = collections.namedtuple("Frame", "function file line locals")
# `work`: whether it holds the GIL, and whether it collects garbage; without what the tool never tells.
Thread = collections.namedtuple("Thread", "frames work")


def places(thread):
    return [(frame.function, frame.file, frame.line) for frame in thread.frames]


def last_part(name):
    return name.rsplit(".", 1)[-1]


def output_of(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                         check=False, encoding="utf-8", errors="replace")
    return run.returncode, run.stdout, run.stderr


def read_oddrank(options, pid, core=None):
    what = ["core", core] if core else ["node", str(pid), "--samples", "1"]
    status, out, err = output_of([options.oddrank, *what, "--locals=6", "--json", "-"])
    if status != 0:
        raise RuntimeError(err)
    threads = {}
    for thread in json.loads(out)["ranks"][0]["threads"]:
        shown = collections.deque(thread.get("locals", []))
        frames = []
        for frame in thread["frames"]:
            if frame["kind"] != "python" or is_mark(frame):
                continue
            variables = {}
            if shown and shown[0]["function"] == frame["name"]:
                variables = shown.popleft()["locals"]
            frames.append(Frame(last_part(frame["name"]), os.path.basename(frame["filename"]),
                                frame["line"], variables))
        if frames:
            work = {"GIL": thread["holds_gil"],
                    "collects": "collects_garbage" in thread.get("interpreter", [])}
            threads[thread["tid"]] = Thread(frames, work)
    return threads


def is_mark(frame):
    """Returns whether it is a row that says where a signal was delivered: no peer has these."""
    return frame["name"].startswith("<signal ")


def read_pyspy(options, pid, core=None):
    what = ["--core", core] if core else ["--pid", str(pid)]
    status, out, err = output_of([options.pyspy, "dump", *what, "--json", "--locals"])
    if status != 0:
        return None, err.strip()[:200]
    threads = {}
    for index, thread in enumerate(json.loads(out)):
        tid = thread["os_thread_id"]  # null in a core
        frames = [
            Frame(last_part(frame["name"]), os.path.basename(frame["filename"]), frame["line"],
                  {one["name"]: one["repr"] for one in frame["locals"] or []})
            for frame in thread["frames"]]
        threads[-index if tid is None else tid] = Thread(frames, {"GIL": thread["owns_gil"]})
    return {tid: found for tid, found in threads.items() if found.frames}, ""


def read_pystack(options, pid, core=None):
    what = ["core", core] if core else ["remote", str(pid), "--no-block"]
    status, out, err = output_of([options.pystack, *what, "--locals", "--no-color"])
    if status != 0 or ("Traceback for thread" not in out and "frame stack for thread" not in out):
        return None, (err or out).strip()[:200]
    threads, frames = {}, []
    for line in out.splitlines():
        head = re.match(r"Traceback for thread (\d+) .*\[([\w ,]*)\] \(most recent", line)
        place = re.match(r'    \(Python\) File "(.*)", line (\d+), in (.*)$', line)
        value = re.match(r"        {1,4}(\w+|\.\d+): (.*)$", line)
        if head:
            words = head.group(2).split(",")
            work = {"GIL": "Has the GIL" in words, "collects": "Garbage collecting" in words}
            frames = threads.setdefault(int(head.group(1)), Thread([], work)).frames
        elif place:
            frames.insert(0, Frame(last_part(place.group(3)), os.path.basename(place.group(1)),
                                   int(place.group(2)), {}))
        elif value and frames:
            frames[0].locals[value.group(1)] = value.group(2)
    return {tid: found for tid, found in threads.items() if found.frames}, ""


def normal(text):
    """Returns the value without what tools write in different ways."""
    text = text.replace('"', "'").replace("\\'", "'").replace(" ", "")
    return re.sub(r"^\((.*),\)$", r"(\1)", text)


def same_value(ours, theirs):
    return normal(ours) == normal(theirs)


def is_rounded(ours, theirs):
    """Returns whether the peer's number is that of oddrank with fewer digits."""
    try:
        exact, other = float(ours), float(theirs)
    except ValueError:
        return False
    return other in (float("%.6g" % exact), float("%.6f" % exact), exact)


def equal_locals(ours, theirs):
    """Counts the variables that have equal values."""
    return sum(same_value(mine.locals.get(name, ""), value)
               for mine, other in zip(ours.frames, theirs.frames)
               for name, value in other.locals.items())


class Comparison:
    def __init__(self, tool):
        self.tool = tool
        self.refused = collections.Counter()
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.unexplained = []

    def differs(self, what, where, detail):
        if what == "refused":
            self.refused[where.split()[0] + (" (core)" if "(core)" in where else "")] += 1
        for tool, kind, pattern, reason in REASONS:
            core_only = kind.startswith("core ") and "(core)" in where
            same_kind = what == (kind[5:] if core_only else kind)
            if tool in (ANY, self.tool) and same_kind and re.search(pattern, detail, re.DOTALL):
                self.reasons[reason] += 1
                return
        self.unexplained.append(f"{self.tool}: {where}: {what}: {detail}")

    @staticmethod
    def with_tids(ours, theirs):
        """Returns the peer's threads of a core, whose numbers it does not know, by those of equal threads."""
        known, left = {}, dict(ours)
        for number, thread in theirs.items():
            same = [tid for tid, mine in left.items() if places(mine) == places(thread)]
            same.sort(key=lambda tid: -equal_locals(left[tid], thread))
            tid = number if number > 0 else same[0] if same else number
            left.pop(tid, None)
            known[tid] = thread
        return known

    def compare(self, where, ours, theirs):
        theirs = self.with_tids(ours, theirs)
        if set(ours) != set(theirs):
            self.differs("threads", where, f"oddrank: {sorted(ours)} peer: {sorted(theirs)}")
        for tid in sorted(set(ours) & set(theirs)):
            self.counts["threads"] += 1
            self.compare_frames(where, ours[tid], theirs[tid])
            for word, told in theirs[tid].work.items():
                own = ours[tid].work[word]
                if own != told:
                    self.differs(word, where, f"{where} oddrank: {own} peer: {told} "
                                 f"GIL: {ours[tid].work['GIL']}")

    def compare_frames(self, where, ours, theirs):
        if places(ours) != places(theirs):
            different = [pair for pair in zip(places(ours), places(theirs)) if pair[0] != pair[1]]
            self.differs("frames", where,
                         f"{len(ours.frames)} and {len(theirs.frames)} frames, {different[:2]}")
            return
        for mine, other in zip(ours.frames, theirs.frames):
            self.counts["frames"] += 1
            for name, value in other.locals.items():
                self.counts["locals"] += 1
                own = mine.locals.get(name)
                if own is None:
                    self.differs("missing local", f"{where} {mine.function}", f"{name}, peer: {value}")
                elif is_rounded(own, value) and not same_value(own, value):
                    self.differs("rounded", f"{where} {mine.function} {name}", "")
                elif not same_value(own, value):
                    self.differs("local", f"{where} {mine.function} {name}",
                                 f"oddrank: {normal(own)} peer: {normal(value)}")


def version_of(python):
    """Returns "3.13.5", or "3.13.5 by ld.so" of one that a starter of scripts/pythons starts."""
    version = subprocess.run([python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"],
                             stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout.strip()
    with open(python, "rb") as file:
        return version + (" by ld.so" if file.read(2) == b"#!" else "")


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def kernel_writes_here():
    """Returns whether the kernel writes a core into the folder of the process."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        pattern = file.read().strip()
    return not pattern.startswith("|") and "/" not in pattern


def compare_once(options, where, comparisons, pid, core=None):
    ours = read_oddrank(options, pid, core)
    for comparison, read in zip(comparisons, (read_pyspy, read_pystack)):
        theirs, why = read(options, pid, core)
        if theirs is None:
            comparison.differs("refused", where, why)
        else:
            comparison.compare(where, ours, theirs)


def compare_program(options, python, name, comparisons):
    with tempfile.TemporaryDirectory() as folder:
        victim = subprocess.Popen([python, os.path.join(HERE, "programs.py"), name], cwd=folder,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  preexec_fn=allow_cores)
        try:
            assert victim.stdout.readline() == b"ready\n"
            where = f"{version_of(python)} {name}"
            compare_once(options, where, comparisons, victim.pid)
        finally:
            victim.send_signal(6)  # SIGABRT
            victim.communicate()
        for core in [name for name in os.listdir(folder) if name.startswith("core")]:
            compare_once(options, f"{where} (core)", comparisons, victim.pid, f"{folder}/{core}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--oddrank", "--pyspy", "--pystack"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python", action="append", required=True)
    options = parser.parse_args()
    comparisons = [Comparison("py-spy"), Comparison("pystack")]
    if not kernel_writes_here():
        print("no cores are compared: the kernel writes them elsewhere, or gives them to a program")
    for python in options.python:
        for name in PROGRAMS:
            compare_program(options, python, name, comparisons)
    for comparison in comparisons:
        counts = comparison.counts
        print(f"{comparison.tool}: {counts['threads']} threads, {counts['frames']} frames and "
              f"{counts['locals']} locals compared; {len(comparison.unexplained)} differences "
              "without a reason")
        for version, times in sorted(comparison.refused.items()):
            print(f"  {times} of Python {version}: not read by {comparison.tool}")
        for reason, times in sorted(comparison.reasons.items()):
            print(f"  {times}: {reason}")
        for line in comparison.unexplained[:40]:
            print(f"  {line}")
    sys.exit(1 if any(one.unexplained for one in comparisons) else 0)


if __name__ == "__main__":
    main()
