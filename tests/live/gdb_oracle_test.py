#!/usr/bin/env python3
"""Compares native stacks frame by frame with gdb's physical frames: those of the victims that stand still,
and of all threads of a hung gloo job (of eight ranks with ODDRANK_FULL, because gdb takes seconds for
each).

    gdb_oracle_test.py --native-pcs PROGRAM --victims FOLDER
"""

import argparse
import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import gdb_frames
import harness
import proc_facts
from training_job import LocalRanks, TrainingJob, find_torch_python

OPTIONS = argparse.Namespace()
RANKS = 8 if os.environ.get("ODDRANK_FULL") else 2
# Some of gloo's timers and heartbeats run at any moment, so gdb sees them elsewhere than we did.
LEAST_EQUAL = 0.995


def our_frames(pid, *options):
    """Returns {tid: (state, [pc, ...])}."""
    result = subprocess.run([OPTIONS.native_pcs, *options, str(pid)], capture_output=True,
                            text=True, timeout=120, check=True)
    rows = (line.split() for line in result.stdout.splitlines())
    return {int(row[1]): (row[2], [int(pc, 16) for pc in row[4:]]) for row in rows}


class Victim:
    """A victim program that has printed "ready"; the context kills it."""

    def __init__(self, program, mode):
        self.command = [f"{OPTIONS.victims}/{program}", mode]

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("ready"):
                return self.process
        raise RuntimeError(f"{self.command} ended before it was ready")

    def __exit__(self, kind, value, trace):
        self.process.kill()
        self.process.wait(60)
        self.process.stdin.close()
        self.process.stdout.close()


def stands_still(pid):
    """Returns whether each thread of a victim is in the call that it is meant to be stuck in."""
    return all(proc_facts.in_call(tid, proc_facts.READ, proc_facts.PAUSE)
               or proc_facts.wants_lock(tid) for tid in proc_facts.threads(pid))


def whole_frames(pid, *options):
    """Returns our_frames() once every thread has some: one that runs has none, unless it is stopped, and
    on a busy machine it may not be stopped in time."""
    def look():
        frames = our_frames(pid, *options)
        return frames if all(pcs for _, pcs in frames.values()) else None
    return proc_facts.wait_until(look, f"all threads of {pid} have frames", every=0.2)


def compare_resting(test, pid):
    """Returns [(tid, ours, gdb's)] after up to three attempts: a moving thread differs at times,
    but a stack that is read wrongly always differs."""
    equal, rows = set(), []
    for _ in range(3):
        ours, oracle = whole_frames(pid), gdb_frames.frames(pid)
        test.assertEqual(set(ours), set(oracle))
        equal.update(tid for tid, pcs in oracle.items() if ours[tid][1] == pcs)
        rows = [(tid, pcs if tid in equal else ours[tid][1], pcs) for tid, pcs in oracle.items()]
        if len(equal) == len(oracle):
            break
    return rows


class GdbOracle(unittest.TestCase):
    def compare(self, pid, was_stopped=False):
        ours = our_frames(pid)
        oracle = gdb_frames.frames(pid, was_stopped=was_stopped)
        self.assertEqual({tid: [hex(pc) for pc in pcs] for tid, (_, pcs) in ours.items()},
                         {tid: [hex(pc) for pc in pcs] for tid, pcs in oracle.items()})

    def test_victims(self):
        for program in ("frames", "frames_stripped", "frames_pointer", "frames_static",
                        "frames_static_pie", "no_build_id"):
            for mode in ("read", "threads", "signal", "altstack", "recursion"):
                with self.subTest(program=program, mode=mode), Victim(program, mode) as process:
                    proc_facts.wait_until(lambda pid=process.pid: stands_still(pid),
                                          "the victim blocks")
                    self.compare(process.pid)

    def test_stopped_by_a_signal(self):
        with Victim("frames", "threads") as process:
            proc_facts.wait_until(lambda: stands_still(process.pid), "the victim blocks")
            process.send_signal(signal.SIGSTOP)
            proc_facts.wait_until(
                lambda: all(proc_facts.state(tid) == "T" for tid in proc_facts.threads(process.pid)),
                "all of the victim stops")
            self.compare(process.pid, was_stopped=True)

    def test_running(self):
        """For a running thread, compares all frames except those that it is passing through."""
        for mode in ("spin", "thread", "threads", "altstack", "handlers", "vdso", "malloc"):
            with self.subTest(mode=mode), Victim("running", mode) as process:
                for _ in range(7 if mode == "threads" else 0):  # each thread reports when it runs
                    self.assertTrue(process.stdout.readline().startswith("ready"))
                ours = whole_frames(process.pid, "--stop")
                oracle = gdb_frames.frames(process.pid)
                self.assertEqual(set(ours), set(oracle))
                for tid, pcs in oracle.items():
                    moving = next(at for at, pc in enumerate(pcs) if pc in ours[tid][1])
                    self.assertLessEqual(moving, 4)
                    common = pcs[moving:]
                    self.assertGreaterEqual(len(common), 3)
                    self.assertEqual(ours[tid][1][-len(common):], common)

    def test_ranks(self):
        if find_torch_python() is None:
            self.skipTest("no Python with PyTorch")
        with harness.scratch() as scratch:
            job = TrainingJob(f"{scratch}/job", find_torch_python(), "sleep", ranks=RANKS, nodes=1,
                              rank=1)
            with LocalRanks(job.prepare()) as ranks:
                job.wait_hung(still_there=ranks.alive)
                equal, total, different = 0, 0, []
                for process in ranks.processes:
                    for tid, ours, pcs in compare_resting(self, process.pid):
                        total += len(pcs)
                        if ours == pcs:
                            equal += len(pcs)
                        else:
                            different.append((process.pid, tid, ours, pcs))
                print(f"{equal} of {total} frames are gdb's", flush=True)
                self.assertGreater(total, RANKS * 20)
                self.assertGreaterEqual(equal / total, LEAST_EQUAL, different[:3])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--native-pcs", required=True)
    parser.add_argument("--victims", required=True)
    OPTIONS, rest = parser.parse_known_args()
    reason = gdb_frames.why_not()
    if reason:
        print(f"ODDRANK_SKIP: {reason}")
        sys.exit(harness.SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v", *rest])
