"""Version 2 cgroups: the freezer, memory.high, memory.max and cpu.max. The programs and the rules are those of
tests/live, which most machines for tests skip."""

import os
import re
import subprocess
import sys

import guest as world
from guest import ODDRANK, OWNER, check, read, write

CGROUPS = "/sys/fs/cgroup"
LIVE = "/oddrank/tests/live"
EAT = """
import os, time
child = os.fork()
if child == 0:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    hoard = b"x" * (256 << 20)
    time.sleep(3600)
os.waitpid(child, 0)
print("ready", child, flush=True)
time.sleep(3600)
"""


def cgroup(name):
    """Makes a cgroup, and returns its folder."""
    folder = f"{CGROUPS}/{name}"
    os.makedirs(folder, exist_ok=True)
    return folder


def inside(folder):
    return {"preexec_fn": lambda: write(f"{folder}/cgroup.procs", os.getpid())}


def live_test(name):
    """Runs a test of tests/live here; returns what it says."""
    result = subprocess.run([sys.executable, f"{LIVE}/{name}.py", "--oddrank", ODDRANK],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                            timeout=380, cwd="/tmp")
    failures = re.findall(r"^(?:FAIL|ERROR): .*|^AssertionError: .{,300}", result.stderr, re.M)
    check(result.returncode in (0, 77), *failures, result.stdout, result.stderr[-3000:])
    skips = re.findall(r"ODDRANK_SKIP: (.*)", result.stdout)
    ran = int(re.search(r"Ran (\d+) test", result.stderr).group(1))
    check(ran > len(skips), skips)
    return f"{ran - len(skips)} tests" + (f" (not run: {'; '.join(skips)})" if skips else "")


def freezer(guest):
    """A frozen cgroup (cgroup.freeze) gives `stopped_rank`"""
    folder = cgroup("frozen")
    pid = guest.rank(**inside(folder)).pid
    guest.undo(write, f"{folder}/cgroup.freeze", 0)
    write(f"{folder}/cgroup.freeze", 1)
    world.wait_until(lambda: "frozen 1" in read(f"{folder}/cgroup.events"), "it froze")
    run = guest.oddrank("node", pid)
    check(run.verdict["kind"] == "stopped_rank" and "frozen by its cgroup" in run.verdict["summary"], run)
    check([row["pid"] for row in run.verdict["culprits"]] == [pid], run)
    check("wait_for_data" in run.frames(), run)
    return run.verdict["summary"]


def live_limits(guest):  # pylint: disable=unused-argument
    """Freezer, OOM kill, cpu.max, full file systems: the tests of tests/live"""
    return live_test("cgroup_test")


def memory_high(guest):  # pylint: disable=unused-argument
    """A cgroup throttled by memory.high: a note says what share of the time it waited for memory"""
    return live_test("pressure_test")


def killed_for_memory(guest):
    """A process killed for lack of memory: root gets a note that names it"""
    folder = cgroup("eaters")
    write(f"{folder}/memory.max", 64 << 20)
    process = guest.start([world.PYTHON, guest.program(EAT)], **inside(folder))
    run = guest.oddrank("node", process.pid)
    note = next((note for note in map(str, run.notes) if f"pid {process.said[0]} (python3)" in note), "")
    check("killed for lack of memory" in note, run)
    return note.replace(process.said[0], "N")


def killed_and_log_unreadable(guest):
    """The same for a user with dmesg_restrict=1: the note has only the cgroup's count"""
    guest.set_sysctl("kernel/dmesg_restrict", 1)
    folder = cgroup("more_eaters")
    write(f"{folder}/memory.max", 64 << 20)
    process = guest.start([world.PYTHON, guest.program(EAT)], OWNER, **inside(folder))
    run = guest.oddrank("node", process.pid, uid=OWNER)
    text = str(run.notes)
    check("of cgroup /more_eaters was killed for lack of memory" in text, run)
    check(f"pid {process.said[0]}" not in text, run)
    return next(note for note in map(str, run.notes) if "killed" in note)


CASES = (freezer, live_limits, memory_high, killed_for_memory, killed_and_log_unreadable)
