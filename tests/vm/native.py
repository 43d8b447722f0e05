"""What the registers, system calls and stacks of a machine decide: the live tests in C++ and the comparison with gdb,
built for this machine and run in the guest, and a core file."""

import os
import re
import subprocess
import sys

from guest import SLEEPER, Guest, check, command, need, read, wait_until


def built(program, *words):
    """Runs a built test program; returns how many tests passed, and why others were not run."""
    path = f"{Guest.tree}/build/arm64/{program}"
    need(os.path.exists(path), f"{path} was not built")
    log = f"/results/{program}.log"  # if the test hangs, it says where
    with open(log, "w", encoding="utf-8") as file:
        status = subprocess.run([path, "-d", "yes", *words], stdin=subprocess.DEVNULL, stdout=file,
                                stderr=subprocess.STDOUT, check=False, cwd="/tmp").returncode
    said = read(log)
    check(status == 0, f"{program}: exit status {status}",
          *re.findall(r"^.*(?:FAILED|test cases:).*$", said, re.M)[:40], said[-6000:])
    skips = sorted(set(re.findall(r"ODDRANK_SKIP: (.*)", said)))
    total = re.search(r"\d+ test cases?", said)
    return (total.group() if total else "passed") + (f" (not run: {'; '.join(skips)})" if skips else "")


def stacks(_):
    """Native stacks of real processes, against what these know themselves"""
    return built("live_stacks")


def names(_):
    """Names of frames: containers, missing and wrong files, inlined functions, libraries"""
    return built("live_names")


def stops(_):
    """Threads are stopped for a moment; their processes do not notice"""
    return built("live_stop")


def attach(_):
    """Memory, threads, discovery and permission of real processes"""
    return built("live_attach")


def waits(_):
    """What threads wait for: locks, pipes, children, timers"""
    return built("live_waits")


def python_stacks(_):
    """Python stacks of Debian's Python, against the interpreter's own"""
    return built("live_python")


def units(_):
    """Unit tests of the programs that ask the kernel about themselves, which user emulation cannot run"""
    programs = ("unit_base", "unit_attach", "unit_elf", "unit_waits", "unit_node", "unit_watch")
    return "; ".join(f"{program}: {built(program)}" for program in programs)


def cores(_):
    """Core files, written by the kernel and by gcore"""
    return built("live_cores")


def gdb(_):
    """Native stacks frame by frame against gdb's, of programs that stand still (a job's take gdb too long here)"""
    build = f"{Guest.tree}/build/arm64"
    result = subprocess.run([sys.executable, f"{Guest.tree}/tests/live/gdb_oracle_test.py", "--native-pcs",
                             f"{build}/native_pcs", "--victims", f"{build}/victims",
                             "-k", "test_victims", "-k", "test_stopped_by_a_signal"],
                            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, cwd="/tmp",
                            env={**os.environ, "ODDRANK_TORCH_PYTHON": f"{Guest.venv}/bin/python"})
    check(result.returncode == 0, result.stdout[-3000:], result.stderr[-6000:])
    return f"{re.search(r'Ran ([0-9]+) test', result.stderr).group(1)} tests"


def core_of_rank(guest):
    """`oddrank core` on gcore's file of a rank: the Python stack that `oddrank node` shows"""
    rank = guest.rank(SLEEPER)
    live = guest.oddrank("node", rank.pid).frames()
    command("gcore", "-o", "/tmp/core", str(rank.pid))
    path = f"/tmp/core.{rank.pid}"
    wait_until(lambda: os.path.exists(path), "gcore wrote the file")
    guest.undo(os.unlink, path)
    dead = guest.oddrank("core", path).frames()
    check("wait_for_data" in dead and dead == live, "frames differ:", live, dead)
    guest.unharmed(rank.pid)
    return f"{len(dead)} frames"


CASES = (core_of_rank, units, cores, waits, attach, python_stacks, stacks, names, stops, gdb)
for _case in CASES:
    _case.limit_s = 1200
