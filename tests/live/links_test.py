#!/usr/bin/env python3
"""Runs `oddrank node` on gloo ranks, each in a network of its own, of which some lose what is sent.

    links_test.py --oddrank PATH [--matrix N [--seed S]]

--matrix: instead of the tests, N jobs by chance: calls, sizes, and what is lost, or slow, or hangs
otherwise.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import networks
import proc_facts
from training_job import find_torch_python

REDUCES = os.path.join(os.path.dirname(HERE), "victims", "reduces.py")
CALLS = ("all_reduce", "broadcast", "all_gather", "barrier", "ring", "store")
PORT = "29500"
STEPS = 3  # of each rank, before anything happens
TRIES = 5  # of the kernel: about seven seconds


class Job:
    """Ranks that make one call again and again."""

    def __init__(self, call, floats, ranks):
        self.ranks = ranks
        self.scratch = harness.scratch()
        self.networks = None
        self.words = [find_torch_python(), REDUCES, None, call, str(floats)]

    def __enter__(self):
        self.folder = self.words[2] = self.scratch.__enter__()
        self.networks = networks.Networks(self.ranks)
        self.processes = [self.networks.start(rank, self.words, stderr=subprocess.DEVNULL, env=dict(
            os.environ, RANK=str(rank), WORLD_SIZE=str(self.ranks), MASTER_PORT=PORT,
            MASTER_ADDR=self.networks.address(0), GLOO_SOCKET_IFNAME="eth0", OMP_NUM_THREADS="1"))
                          for rank in range(self.ranks)]
        proc_facts.wait_until(lambda: min(self.steps()) > STEPS, "they work", 120)
        return self

    def __exit__(self, *what):
        self.networks.__exit__(*what)
        self.scratch.__exit__(*what)

    def steps(self):
        steps = []
        for rank in range(self.ranks):
            path = os.path.join(self.folder, f"step.{rank}")
            if not os.path.exists(path):
                return [0]
            with open(path, encoding="utf-8") as file:
                steps.append(int(file.read()))
        return steps

    def wait_for_tries(self, at_all=False):
        """Returns when a rank's kernel, or each, has sent something in vain."""
        enough = min if at_all else max
        proc_facts.wait_until(
            lambda: enough(networks.tries(process.pid) for process in self.processes) >= TRIES, "tries", 120)

    def wait_for_rest(self):
        """Returns when nobody has made a step for some seconds."""
        last, since = self.steps(), time.monotonic()

        def rests():
            nonlocal last, since
            now = self.steps()
            if now != last:
                last, since = now, time.monotonic()
            return time.monotonic() - since > 6
        proc_facts.wait_until(rests, "they stand", 45)

    def sleep(self, rank):
        with open(os.path.join(self.folder, f"sleeps.{rank}"), "w", encoding="utf-8"):
            pass

    def verdict(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node",
                                            *(str(process.pid) for process in self.processes),
                                            "--json", "-", "-q"]))
        return run.json()["verdict"], run


def ends_of(verdict):
    """Returns the pairs of ranks whose links are said to be broken."""
    return sorted(tuple(sorted((link["from"]["rank"], link["to"]["rank"]))) for link in verdict.get("links", []))


class Links(unittest.TestCase):
    def test_the_link_between_two_ranks_that_loses_everything(self):
        with Job("all_reduce", 1000, 4) as job:
            job.networks.cut(1, 2)
            job.wait_for_tries()
            verdict, run = job.verdict()
        self.assertEqual(verdict["kind"], "link_stall", run)
        self.assertIn(verdict["confidence"], ("likely", "certain"), run)
        self.assertEqual(verdict["culprits"], [], run)
        self.assertEqual(ends_of(verdict), [(1, 2)], run)
        # The device of an end that has nothing to send is not known.
        devices = [verdict["links"][0][end]["device"] for end in ("from", "to")]
        self.assertEqual(devices[0], "eth0", run)
        self.assertIn(devices[1], ("eth0", None), run)

    def test_one_direction_of_a_transfer(self):
        with Job("ring", 1000, 3) as job:
            job.networks.lose(2, 0)
            job.wait_for_tries()
            verdict, run = job.verdict()
        self.assertEqual((verdict["kind"], ends_of(verdict)), ("link_stall", [(0, 2)]), run)

    def test_which_way_loses(self):
        """Both send. What rank 0 sends is lost, and so is what acknowledges the other one's data. By chance rank 1
        has nothing to send at that moment; then only one end knows of trouble, and another job is tried."""
        for _ in range(8):
            with Job("ring", 1000, 2) as job:
                job.networks.lose(0, 1)
                job.wait_for_tries()
                if min(networks.tries(process.pid) for process in job.processes) == 0:
                    continue
                job.wait_for_tries(at_all=True)
                verdict, run = job.verdict()
                break
        else:
            self.fail("rank 1 never has anything to send")
        self.assertEqual(verdict["kind"], "link_stall", run)
        (link,) = verdict["links"]
        self.assertEqual((link["from"]["rank"], link["to"]["rank"], link["one_way"]), (0, 1, True), run)

    def test_only_large_frames_are_lost(self):
        with Job("all_reduce", 100_000, 2) as job:
            job.networks.lose(0, 1, larger=600)
            job.wait_for_tries()
            verdict, run = job.verdict()
        self.assertEqual((verdict["kind"], ends_of(verdict)), ("link_stall", [(0, 1)]), run)
        self.assertNotIn("not the MTU", " ".join(verdict["advice"]), run)

    def test_the_link_to_the_store(self):
        with Job("store", 1, 3) as job:
            job.networks.cut(0, 2)
            job.wait_for_tries()
            verdict, run = job.verdict()
        self.assertEqual((verdict["kind"], ends_of(verdict), verdict["culprits"]), ("link_stall", [(0, 2)], []),
                         run)

    def test_a_connection_whose_other_end_is_gone_is_no_link(self):
        """Its process was killed when no packet could tell the others."""
        with Job("all_reduce", 1000, 3) as job:
            for rank in range(2):
                job.networks.cut(rank, 2)
            job.processes[2].kill()
            job.processes[2].wait(60)
            del job.processes[2]
            job.wait_for_tries()
            verdict, run = job.verdict()
        self.assertEqual((verdict["culprits"], ends_of(verdict)), ([], []), run)
        self.assertIn("rank 2", verdict["summary"], run)

    def test_a_slow_path_is_not_broken(self):
        with Job("all_reduce", 1000, 2) as job:
            for rank in range(2):
                job.networks.delay(rank, 300)
            before = min(job.steps())
            proc_facts.wait_until(lambda: min(job.steps()) > before + 2, "they go on", 60)
            verdict, run = job.verdict()
        self.assertNotEqual(verdict["kind"], "link_stall", run)
        self.assertEqual(verdict["culprits"], [], run)


def by_chance(chance):
    """Makes a job, and hangs or slows it; returns (what was done, whether the verdict is right, the verdict)."""
    call, ranks = chance.choice(CALLS), chance.randint(4, 6)
    floats = chance.choice((1, 1000, 100000))
    fault = chance.choice(("cut", "one way", "host", "large", "delay", "loss", "sleep", "stop"))
    one, other = chance.sample(range(ranks), 2)
    with Job(call, floats, ranks) as job:
        if fault == "cut":
            job.networks.cut(one, other)
        elif fault == "one way":
            job.networks.lose(one, other)
        elif fault == "large":
            job.networks.lose(one, other, larger=600)
        elif fault == "host":
            for rank in set(range(ranks)) - {one}:
                job.networks.cut(one, rank)
        elif fault == "delay":
            job.networks.delay(one, 300)
        elif fault == "loss":
            for rank in set(range(ranks)) - {one}:
                job.networks.lose(one, rank, percent=5)
        elif fault == "sleep":
            job.sleep(one)
        else:
            job.processes[one].send_signal(signal.SIGSTOP)
        try:
            job.wait_for_rest()
            hangs = True
        except TimeoutError:
            hangs = False
        verdict, _ = job.verdict()
    broken = {"cut": {(min(one, other), max(one, other))}, "one way": {(min(one, other), max(one, other))},
              "large": {(min(one, other), max(one, other))},
              "host": {(min(one, rank), max(one, rank)) for rank in range(ranks) if rank != one}}.get(fault, set())
    named = [row["rank"] for row in verdict["culprits"]]
    if not hangs:  # the calls do not need that link
        right = not named and not ends_of(verdict)
    elif broken:
        right = not named and ends_of(verdict) and set(ends_of(verdict)) <= broken
    else:
        right = named == [one] and not ends_of(verdict)
    return f"{call} of {floats} on {ranks}: {fault} {one} {other}, hangs {hangs}", right, verdict


def matrix(count, seed):
    wrong = 0
    for number in range(count):
        what, right, verdict = by_chance(random.Random(seed * 1000 + number))
        wrong += not right
        print("right" if right else "WRONG", number, what, "->", verdict["kind"], verdict["confidence"],
              [row["rank"] for row in verdict["culprits"]], ends_of(verdict), flush=True)
    print(f"{count - wrong} of {count} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--matrix", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options, rest = parser.parse_known_args()
    if options.matrix:
        harness.Options.oddrank = rest[rest.index("--oddrank") + 1]
        sys.exit(matrix(options.matrix, options.seed))
    harness.main(networks.why_not, harness.needs_torch)
