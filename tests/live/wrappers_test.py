#!/usr/bin/env python3
"""Runs `oddrank node` on ranks below processes that only wait for them: shells, `env`, Python programs,
forks, event loops, each twice. The rank is the process that does the work, and its wrappers are not. The
rank's communication library is made up: its name is what counts.

    wrappers_test.py --oddrank PATH        ODDRANK_VICTIMS names the folder of the victim programs
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(TESTS, "support"))
sys.path.insert(0, os.path.join(TESTS, "victims"))
# pylint: disable=wrong-import-position
import harness
import wrapped_rank

VICTIM = os.path.join(TESTS, "victims", "wrapped_rank.py")
VICTIMS = os.environ.get("ODDRANK_VICTIMS", "")
DEADLINE_S = 60


def stat(pid, tid=None):
    with open(f"/proc/{pid}/task/{tid or pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()


def parent(pid):
    return int(stat(pid)[1])


def asleep(pid):
    return all(stat(pid, tid)[0] == "S" for tid in os.listdir(f"/proc/{pid}/task"))


def between(rank, first):
    """Returns the processes from the rank's parent up to the one that the test has started."""
    found = []
    while rank != first:
        rank = parent(rank)
        found.append(rank)
    return found


def wait_for(what, fact):
    end = time.monotonic() + DEADLINE_S
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not in time: {what}")
        time.sleep(0.01)


def needs_compiler():
    return None if shutil.which("cc") else "no C compiler"


class Wrappers(unittest.TestCase):
    jobs = 0

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = scratch.name
        cls.library = os.path.join(cls.scratch, "libnccl.so.2")
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", cls.library],
                       input="int ncclMadeUp;", text=True, check=True, timeout=60)

    def setUp(self):
        Wrappers.jobs += 1
        self.address = f"oddrank-test-{os.getpid()}-{Wrappers.jobs}"
        self.groups = []
        self.inner = []
        self.addCleanup(self.end)

    def end(self):
        """Ends what this test has started: first the ranks, some of which have groups of their own."""
        for pid in self.inner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.inner = []
        for process in self.groups:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(60)
        self.groups = []

    def start(self, command, rank=0, world=1):
        env = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(world),
               "LOCAL_WORLD_SIZE": str(world), "MASTER_ADDR": self.address, "MASTER_PORT": "1"}
        process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, process_group=0)
        self.groups.append(process)
        return process.pid

    def ranks(self):
        """Returns {rank: pid} as oddrank finds them."""
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"{self.address}:1", "--samples", "1",
             "--json", "-", "-q", *harness.PATIENTLY]))
        self.assertNotIn(run.status, (1, 2, 4), run)
        return {row["rank"]: row["pid"] for row in run.json()["ranks"]}

    def check(self, wrappers, library):
        """Starts two ranks, each below all of these wrappers."""
        folder = tempfile.mkdtemp(dir=self.scratch)
        pids = {}
        for rank in (0, 1):
            first = self.start([sys.executable, VICTIM, folder, library, ",".join(wrappers)], rank, 2)
            path = os.path.join(folder, f"rank.{rank}")
            wait_for(f"rank below {wrappers}", lambda path=path: os.path.exists(path))
            with open(path, encoding="utf-8") as file:
                pids[rank] = int(file.read())
            above = between(pids[rank], first)
            self.inner += [pids[rank], *above]
            wait_for("wrappers asleep", lambda above=above: all(map(asleep, above)))
        self.assertEqual(self.ranks(), pids)

    def check_all(self, names, library):
        for name in names:
            with self.subTest(wrapper=name, library=bool(library)):
                try:
                    self.check([name, name], library)
                finally:
                    self.end()
                    self.setUp()

    def test_each_wrapper_twice_above_a_rank_with_a_library(self):
        self.check_all([*wrapped_rank.WRAPPERS, *wrapped_rank.SLEEPERS, *wrapped_rank.PROGRAMS],
                       self.library)

    def test_each_wrapper_twice_above_a_rank_that_has_loaded_nothing_yet(self):
        programs = [name for name in wrapped_rank.PROGRAMS if name != "waiter-threads"]
        self.check_all([*wrapped_rank.WRAPPERS, *programs], "")

    def test_wrappers_of_different_kinds(self):
        self.check(["bash", "run", "waiter-threads", "asyncio", "env", "mp_fork"], self.library)

    # Programs that are no wrappers: CODE runs in the rank, which prints a line when it is ready.
    CHILD = "import subprocess, sys, time, os, signal, ctypes\n" \
            "sleeper = [sys.executable, '-c', 'print(1, flush=True); import signal; signal.pause()']\n"

    def check_kept(self, code):
        with tempfile.NamedTemporaryFile("r", dir=self.scratch) as said:
            ready = f"open({said.name!r}, 'w').write('ready')\n"
            pid = self.start([sys.executable, "-c", self.CHILD + code.replace("READY", ready)])
            wait_for("ready", lambda: os.path.getsize(said.name) > 0)
            self.assertEqual(self.ranks(), {0: pid})

    def child(self, words="sleeper"):
        return f"p = subprocess.Popen({words}, stdout=subprocess.PIPE)\np.stdout.readline()\n"

    def test_a_rank_with_a_library_that_waits_for_its_child(self):
        self.check_kept(f"ctypes.CDLL({self.library!r})\n{self.child()}READY\np.wait()")

    def test_a_forked_worker_has_its_ranks_library(self):
        self.check_kept(f"ctypes.CDLL({self.library!r})\npid = os.fork()\n"
                        "signal.pause() if pid == 0 else None\nREADY\nos.waitpid(pid, 0)")

    def test_two_children(self):
        self.check_kept(f"{self.child()}{self.child()}READY\np.wait()")

    def test_another_program_that_a_python_program_waits_for(self):
        self.check_kept("p = subprocess.Popen(['tail', '-f', '/dev/null'])\n"
                        "q = subprocess.Popen(['sleep', '1000'])\nREADY\nq.wait()")

    def test_a_rank_that_runs_beside_its_child(self):
        self.check_kept(f"{self.child()}READY\nwhile True: pass")

    def test_a_rank_that_sleeps_beside_a_child_without_library(self):
        self.check_kept(f"{self.child()}READY\nsignal.pause()")


if __name__ == "__main__":
    harness.main(needs_compiler)
