#!/usr/bin/env python3
"""Compares oddrank with py-spy and pystack, process by process and then core by core: the same threads, frames,
lines and locals, and the same words for what the interpreter does. It asks less of processes in unusual places
(places.py): no peer may show a frame that oddrank does not show, and what the peers cannot read is counted.

    compare.py --oddrank PATH --pyspy PATH --pystack PATH [--python PATH ...] [--only-places]

`scripts/test --peers` installs the peers and runs this. A difference that no row of REASONS explains is an
error; what was compared is printed at the end. This makes the figures of docs/comparison.md.
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
import places
from programs import PROGRAMS

PATIENCE_S = 120
# Where files do not answer, a peer that reads them ends when their file system does.
PATIENCE_IN_PLACES_S = 20
PARTIAL = 3  # exit status of oddrank

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


def places_of(thread):
    return [(frame.function, frame.file, frame.line) for frame in thread.frames]


def last_part(name):
    return name.rsplit(".", 1)[-1]


def output_of(command, patience=PATIENCE_S):
    """Returns status, output and errors; no status if the command does not end in time."""
    with tempfile.TemporaryFile("w+", errors="replace") as out, tempfile.TemporaryFile("w+", errors="replace") as err:
        run = subprocess.Popen(command, stdout=out, stderr=err)  # pylint: disable=consider-using-with
        try:
            status = run.wait(patience)
        except subprocess.TimeoutExpired:
            run.kill()  # it may end much later, in state D
            return None, "", "it hangs"
        out.seek(0)
        err.seek(0)
        return status, out.read(), err.read()


def read_oddrank(options, pid, core=None):
    what = ["core", core] if core else ["node", str(pid), "--samples", "1"]
    status, out, err = output_of([options.oddrank, *what, "--locals=6", "--json", "-"])
    if status not in (0, PARTIAL):
        raise RuntimeError(err)
    threads = {}
    rank = json.loads(out)["ranks"][0]
    left_behind = [task for task in rank.get("tasks", []) if task["kind"] == "left_behind"]
    for thread in rank["threads"] + left_behind:
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
            work = {"GIL": thread.get("holds_gil", False),
                    "collects": "collects_garbage" in thread.get("interpreter", [])}
            tid = thread.get("tid")  # none if no thread runs the frames
            threads[-len(threads) if tid is None else tid] = Thread(frames, work)
    return threads


def is_mark(frame):
    """Returns whether it is a row that says where a signal was delivered: no peer has these."""
    return frame["name"].startswith("<signal ")


def read_pyspy(options, pid, core=None):
    what = ["--core", core] if core else ["--pid", str(pid)]
    status, out, err = output_of([options.pyspy, "dump", *what, "--json", "--locals"], options.patience)
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
    status, out, err = output_of([options.pystack, *what, "--locals", "--no-color"], options.patience)
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
        self.unread, self.why = collections.Counter(), {}  # places that the peer does not read
        self.missed = collections.Counter()  # frames of places that only oddrank shows
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
            same = [tid for tid, mine in left.items() if places_of(mine) == places_of(thread)]
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

    def compare_place(self, where, ours, theirs):
        """Looks for frames that only the peer shows. A thread that oddrank does not have may be another one of
        its: peers name threads by what Python remembers of them, or (below 1) not at all."""
        everywhere = collections.Counter(place for thread in ours.values() for place in places_of(thread))
        shown = collections.Counter()
        for tid, thread in theirs.items():
            theirs_here = collections.Counter(places_of(thread))
            known = tid > 0 and tid in ours
            lost = theirs_here - (collections.Counter(places_of(ours[tid])) if known else everywhere)
            if lost:
                self.differs("lost frames", where, f"{tid} of {sorted(ours)}: {sorted(lost)}")
            shown += theirs_here
        self.counts["places"] += 1
        self.counts["frames in places"] += sum(shown.values())
        self.missed[where.split(": ")[1]] += sum((everywhere - shown).values())

    def compare_frames(self, where, ours, theirs):
        if places_of(ours) != places_of(theirs):
            different = [pair for pair in zip(places_of(ours), places_of(theirs)) if pair[0] != pair[1]]
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


def compare_place(options, python, place, comparisons):
    """`python`: None for a place that chooses its interpreters itself."""
    name = place.__name__.replace("_", " ")
    where = f"{version_of(python) if python else '-'} place: {name}"
    options.patience = PATIENCE_IN_PLACES_S
    with places.Started() as start:
        for pid in place(python, start) if python else place(start):
            ours = read_oddrank(options, pid)
            for comparison, read in zip(comparisons, (read_pyspy, read_pystack)):
                theirs, why = read(options, pid)
                if theirs is None:
                    comparison.unread[name] += 1
                    comparison.why[name] = (why.splitlines() or [""])[0]
                else:
                    comparison.compare_place(where, ours, theirs)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--oddrank", "--pyspy", "--pystack"):
        parser.add_argument(name, required=True)
    parser.add_argument("--python", action="append", required=True)
    parser.add_argument("--only-places", action="store_true", help="leave out programs.py")
    options = parser.parse_args()
    comparisons = [Comparison("py-spy"), Comparison("pystack")]
    if not kernel_writes_here():
        print("no cores are compared: the kernel writes them elsewhere, or gives them to a program")
    for python in options.python:
        options.patience = PATIENCE_S
        for name in [] if options.only_places else PROGRAMS:
            compare_program(options, python, name, comparisons)
        for place in places.OF_EACH_PYTHON:
            compare_place(options, python, place, comparisons)
    for place in places.OTHERS:
        compare_place(options, None, place, comparisons)
    for comparison in comparisons:
        counts = comparison.counts
        print(f"{comparison.tool}: {counts['threads']} threads, {counts['frames']} frames and "
              f"{counts['locals']} locals compared; {len(comparison.unexplained)} differences "
              "without a reason")
        for version, times in sorted(comparison.refused.items()):
            print(f"  {times} of Python {version}: not read by {comparison.tool}")
        print(f"  in unusual places: {counts['places']} processes and {counts['frames in places']} frames compared")
        for name in sorted({*comparison.missed, *comparison.unread}):
            why = f" ({comparison.why[name]})" if name in comparison.why else ""
            print(f"    {name}: {comparison.unread[name]} not read{why}; {comparison.missed[name]} frames fewer "
                  "than oddrank in the others")
        for reason, times in sorted(comparison.reasons.items()):
            print(f"  {times}: {reason}")
        for line in comparison.unexplained[:40]:
            print(f"  {line}")
    sys.exit(1 if any(one.unexplained for one in comparisons) else 0)


if __name__ == "__main__":
    main()
