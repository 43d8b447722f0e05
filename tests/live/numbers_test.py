#!/usr/bin/env python3
"""Runs real gloo jobs that hang although nothing was prepared in them (no variables, no dumps), and
compares what `oddrank node` reads from their memory with what the ranks know.

    numbers_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
import training_job
from hung_torch_job import GCORE, Job

# Other PyTorchs, from scripts/torches; set by scripts/test --matrix.
TORCHES = [one for one in os.environ.get("ODDRANK_TORCHES", "").split(":") if one]
FIRST_WITH_GLOO_RECORDER = (2, 8)
FIRST_BY_DEFAULT = (2, 11)
PROGRAM = """
def skips():
    # Rank 1 leaves out one of its calls, all of which are made at one line. Then it has one call
    # less to make than the others.
    values = torch.ones(4)
    for step in range(6):
        if step == 5:
            last()
        if (rank, step) != (1, 2):
            dist.all_reduce(values)
    signal.pause()

def waits_elsewhere():
    # The calls of both groups are made at one line. Rank 1 leaves out the fourth one of the default
    # group, and waits in the other group for ranks that wait for it.
    other = dist.new_group(list(range(world)))
    for step in range(6):
        for group in (None, other):
            if step == 3:
                last()
            if (rank, step, group) != (1, 3, None):
                dist.all_reduce(torch.ones(4), group=group)

def wraps():
    # More calls than the ring holds, then one call that rank 1 leaves out.
    for step in range(2100):
        dist.all_reduce(torch.ones(4))
    last()
    if rank != 1:
        dist.broadcast(torch.ones(7), 0)
        dist.all_reduce(torch.ones(2, 3))
    signal.pause()

def differs():
    # Rank 1 sums other sizes than the others in the fourth call of the loop: it has ended for rank 1,
    # and never ends for the others.
    for step in range(6):
        if step == 3:
            last()
        dist.all_reduce(torch.ones(4 if (rank, step) == (1, 3) else 8))
    signal.pause()

def swaps():
    # Rank 1 of two enters two groups in another order than in all steps before. No side has the
    # majority.
    one, two = dist.new_group([0, 1]), dist.new_group([0, 1])
    for step in range(6):
        if step == 4:
            last()
        for group in (two, one) if (rank, step) == (1, 4) else (one, two):
            dist.all_reduce(torch.ones(4), group=group)

def runs_ahead():
    # Rank 1 has begun the call that rank 0 waits in, and works meanwhile. Rank 2 has not made it.
    for step in range(5):
        dist.all_reduce(torch.ones(4))
    last()
    if rank == 0:
        dist.all_reduce(torch.ones(4))
    elif rank == 1:
        work = dist.all_reduce(torch.ones(4), async_op=True)
    signal.pause()

def uneven():
    # Rank 1 has one batch less than the others, which wait in DDP's backward, in one of two groups.
    other = dist.new_group(list(range(world)))
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
    for step in range(4 if rank == 1 else 5):
        if step == 3:
            last()
        model(torch.ones(2, 4)).sum().backward()
    dist.barrier(group=other)
"""

# The main thread polls a file, which is no motion; another one makes calls until a line is read.
POLLS_AND_CALLS = """
import os, sys, threading, time
import torch, torch.distributed as dist
dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
def calls():
    end = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), end.set()), daemon=True).start()
    made = []  # no number, which would be motion in itself
    while not end.is_set():
        dist.all_reduce(torch.ones(4))
        time.sleep(0.1)
        made.append(None)
        if len(made) == 150:
            print("150 calls", flush=True)
threading.Thread(target=calls, daemon=True).start()
print("ready", flush=True)
while not os.path.exists("there is no such file"):
    time.sleep(0.05)
"""


class Numbers(unittest.TestCase):
    def check(self, found, kind, confidence, *ranks):
        run, report = found
        verdict = report["verdict"]
        self.assertEqual((verdict["kind"], verdict["confidence"],
                          [row["rank"] for row in verdict["culprits"]]),
                         (kind, confidence, list(ranks)), run)
        return verdict

    @harness.only_in_full
    def test_a_rank_left_out_a_call_of_a_loop_and_has_ended_it(self):
        found = Job(self, PROGRAM, "skips", 3).diagnose()
        verdict = self.check(found, "skipped_collective", "certain", 1)
        self.assertEqual([rank["step"]["behind"] for rank in found[1]["ranks"]], [0, 1, 0])
        self.assertIn("all_reduce in default group #6", verdict["summary"])
        self.assertIn("its last call there was #5, and it has left the loop around",
                      verdict["summary"])

    def test_counts_of_gloo_are_no_numbers_of_collectives(self):
        """They include sends and receives. So without a recorder, only places are compared."""
        job = Job(self, PROGRAM, "skips", 3, TORCH_FR_BUFFER_SIZE="0")
        verdict = self.check(job.diagnose(), "skipped_collective", "likely", 1)
        self.assertEqual(self.counted(job), {0: 6, 1: 5, 2: 6})
        self.assertNotIn("#", verdict["summary"])
        self.assertNotIn("history", verdict)

    def test_a_rank_left_out_a_call_and_waits_in_another_group(self):
        job = Job(self, PROGRAM, "waits_elsewhere")
        found = job.diagnose()
        verdict = self.check(found, "collective_order", "certain", 1)
        self.check_steps(job, found[1])
        self.assertRegex(verdict["summary"], r"rank 1 in all_reduce in group 1 \{0-3\} #4 at \S*train.py:\d+")
        odd, others = verdict["last_calls"]
        self.assertEqual((odd["ranks"], odd["named"], odd["earlier"]), ("1", True, False))
        self.assertEqual((others["ranks"], others["named"]), ("0,2-3", False))
        names = lambda calls: [(call["group"], call["number"], call["open"]) for call in calls]
        both = [("default", 1, False), ("group 1", 1, False), ("default", 2, False),
                ("group 1", 2, False), ("default", 3, False), ("group 1", 3, False)]
        self.assertEqual(names(odd["calls"]), [*both, ("group 1", 4, True)])
        self.assertEqual(names(others["calls"]), [*both, ("default", 4, True)])
        self.assertRegex(odd["calls"][-1]["place"], r"^waits_elsewhere \(train.py:\d+\)$")
        self.check_dumps(job)

    def check_steps(self, job, report):
        """Each step has one call in each group; rank 1 has made one call less in the default group."""
        at = [(rank["step"]["number"], rank["step"]["newest"], rank["step"]["behind"],
               rank["step"]["calls"], rank["step"]["group"]) for rank in report["ranks"]]
        last = (4, 4, 0, 1, "default group")
        self.assertEqual(at, [last, (3, 3, 1, 1, "default group"), last, last])
        page = self.enterContext(harness.scratch()) + "/page.html"
        run = job.run("--html", page)
        self.assertIn("Steps rank 1 is at call 3, ranks 0,2-3 at call 4 of default group "
                      "(1 a step: about step 4)", re.sub(r"\s+", " ", run.out), run)
        self.assertRegex(re.sub(r"\s+", " ", run.out),
                         r"Calls rank 1: \.\.\. (\S+ \S+( \d)? #\d, ){4}all_reduce group 1 #4 \(open\) "
                         r"ranks 0,2-3: \.\.\. .*all_reduce default #4 \(open\)")
        with open(page, encoding="utf-8") as file:
            self.assertIn("about step 3 by its own calls, 1 step behind", file.read())

    def check_dumps(self, job):
        """Has PyTorch and oddrank read what is written as dumps."""
        folder = self.enterContext(harness.scratch())
        job.diagnose("--fr-dump", folder)
        self.assertEqual(sorted(os.listdir(folder)), ["rank_0", "rank_1", "rank_2", "rank_3"])
        read = subprocess.run([training_job.find_torch_python(), "-m",
                               "torch.distributed.flight_recorder.fr_trace", folder, "-p", "rank_"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              check=False)
        said = read.stdout + read.stderr
        self.assertEqual(read.returncode, 0, said)
        self.assertIn("missing ranks: {1}", said)
        self.assertIn("waits_elsewhere at train.py:", said)
        # oddrank reads its own dumps, too.
        run = harness.Run(harness.run_here([harness.Options.oddrank, "fr", folder, "-q"]))
        self.assertIn("rank 1 in all_reduce #4 in group 1", run.out, run)

    @harness.only_in_full
    def test_a_ring_has_wrapped(self):
        # Rank 1 waits in code of its own, from which it may still make its call.
        found = Job(self, PROGRAM, "wraps", 3).diagnose()
        verdict = self.check(found, "skipped_collective", "likely", 1)
        self.assertIn("its last call there was #2100", verdict["summary"])

    def test_sizes_differ(self):
        job = Job(self, PROGRAM, "differs")
        verdict = self.check(job.diagnose(), "mismatched_collective", "certain", 1)
        self.assertIn("call #4 in default group", verdict["summary"])
        self.assertIn("rank 1 in all_reduce of [4] Float at differs (train.py:",
                      verdict["summary"])
        if GCORE:
            self.check(job.diagnose_cores(job.gcores()), "mismatched_collective", "certain", 1)

    def test_a_rank_left_its_own_pattern(self):
        verdict = self.check(Job(self, PROGRAM, "swaps", 2).diagnose(), "collective_order", "likely", 1)
        self.assertIn("rank 1 has not called what its own calls before foretell",
                      verdict["summary"])

    def test_a_call_that_nobody_waits_for_yet_is_a_call(self):
        job = Job(self, PROGRAM, "runs_ahead", 3)
        verdict = self.check(job.diagnose(), "skipped_collective", "likely", 2)
        self.assertIn("its last call there was #5", verdict["summary"])

    def test_batches_are_uneven(self):
        found = Job(self, PROGRAM, "uneven", 3).diagnose()
        verdict = self.check(found, "skipped_collective", "certain", 1)
        self.assertIn("rank 1 left the calls that repeat", verdict["summary"])
        self.assertIn("ranks 0,2 in all_reduce in default group #", verdict["summary"])
        self.assertIn("rank 1 in barrier in group 1 {0-2} #1", verdict["summary"])

    @harness.only_in_full
    def test_calls_are_motion_for_the_watch(self):
        folder = self.enterContext(harness.scratch())
        env = {**os.environ, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1",
               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}
        with open(f"{folder}/log", "wb") as log:
            job = subprocess.Popen(
                [harness.Options.oddrank, "watch", "--stalled-for", "4s", "--interval", "500ms", "--",
                 training_job.find_torch_python(), "-c", POLLS_AND_CALLS],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=env)

        def said():
            with open(f"{folder}/log", encoding="utf-8") as file:
                return file.read()
        try:
            self.assertEqual((job.stdout.readline(), job.stdout.readline()), ("ready\n", "150 calls\n"))
            self.assertNotIn("has not moved", said())
            job.stdin.write("\n")
            job.stdin.flush()
            proc_facts.wait_until(lambda: "rank 0 has not moved for" in said(), "an alarm", 120)
        finally:
            job.kill()
            job.communicate(timeout=60)

    @harness.only_with(TORCHES)
    def test_other_versions_of_torch(self):
        for python in TORCHES:
            with self.subTest(python):
                said = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                                      capture_output=True, text=True, check=True, timeout=300)
                version = tuple(map(int, said.stdout.split(".")[:2]))
                # Counts alone.
                job = Job(self, PROGRAM, "skips", 3, python=python, TORCH_FR_BUFFER_SIZE="0")
                self.check(job.diagnose(), "skipped_collective", "likely", 1)
                self.assertEqual(self.counted(job), {0: 6, 1: 5, 2: 6})
                job.end()
                if version >= FIRST_WITH_GLOO_RECORDER:
                    armed = {} if version >= FIRST_BY_DEFAULT else {"TORCH_FR_BUFFER_SIZE": "2000"}
                    job = Job(self, PROGRAM, "skips", 3, python=python, **armed)
                    verdict = self.check(job.diagnose(), "skipped_collective", "certain", 1)
                    self.assertIn("its last call there was #5", verdict["summary"])
                    job.end()
                    job = Job(self, PROGRAM, "differs", python=python, **armed)
                    self.check(job.diagnose(), "mismatched_collective", "certain", 1)
                    job.end()

    @staticmethod
    def counted(job):
        """Returns the calls that each rank's default group counts."""
        _, report = job.diagnose()
        return {row["rank"]: group["counts"][0]["calls"]
                for row in report["ranks"] for group in row["groups"] if group["default"]}


if __name__ == "__main__":
    harness.main(harness.needs_torch)
