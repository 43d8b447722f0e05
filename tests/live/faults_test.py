#!/usr/bin/env python3
"""Lets each system call of `oddrank node` fail in turn, in every process that a capture starts
(tests/support/fail_call.cc): EINTR, EIO, ENOMEM, EMFILE, ENOSPC, and reads and writes that are short.
Whatever happens: it ends in time and by itself, with a status as documented and words about it; the files
that it wrote are whole or not there; nothing else is left behind; and the processes that it read go on,
with all their signals.

Here each call that exists fails a few times, the first and last times among them; with scripts/test --full
every single call fails once, with each error in turn. ODDRANK_FAULTS=TASK,CALL,NUMBER,ERRNO runs one."""

import concurrent.futures
import errno
import json
import os
import platform
import random
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIM = os.path.join(os.environ.get("ODDRANK_VICTIMS", ""), "signals")
FAIL_CALL = os.environ.get("ODDRANK_FAIL_CALL", "")
SLEEPER = "import sys\ndef wait_here():\n    print('ready', flush=True)\n    sys.stdin.read()\nwait_here()"
SHORT = 0
ERRORS = [errno.EINTR, errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENOSPC]
# read, write, pread64, pwrite64, process_vm_readv, getrandom: these can do a part of what was asked for.
CAN_BE_SHORT = {0, 1, 17, 18, 310, 318}
# futex, set_robust_list, rseq: glibc ends a process to which the kernel gives an answer that it never gives.
# brk: malloc() of glibc 2.36 crashes if its first one fails; it is mmap() that runs out of memory then.
NEVER_FAIL = {12, 202, 273, 334}
TIMES = 5  # of each call, where not all of them fail
FULL = bool(os.environ.get("ODDRANK_FULL"))
LIMIT_S = 5
AT_ONCE = 2


def needs_x86():
    return None if platform.machine() == "x86_64" else "fail_call knows the registers of x86-64 only"


class Job:
    """Two ranks: one that runs and counts its signals, and a Python program that waits."""

    def __init__(self, folder):
        self.folder = folder
        self.out = f"{folder}/out"
        self.temporary = f"{folder}/tmp"
        os.mkdir(self.out)
        os.mkdir(self.temporary)
        port = str(29000 + int(os.path.basename(folder)))  # the jobs are not one job
        self.again = 0
        # It takes the CPU that nobody else wants, or else a capture would get a half of one.
        self.ranks = [self.start(port, 0, "nice", "-n", "19", VICTIM), self.start(port, 1, "/usr/bin/python3", "-c", SLEEPER)]
        proc_facts.wait_until(lambda: proc_facts.in_call(self.ranks[1].pid, proc_facts.READ), "it waits")

    @staticmethod
    def start(port, rank, *command):
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "2",
                                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port})
        assert process.stdout.readline() == "ready\n"
        return process

    def end(self):
        """Returns what the victim says of its signals."""
        self.ranks[1].kill()
        said = self.ranks[0].communicate("\n", timeout=60)[0]
        self.ranks[1].communicate(timeout=60)
        return said

    def harm(self):
        """Returns what is wrong with the ranks, or None."""
        for rank in self.ranks:
            for tid in os.listdir(f"/proc/{rank.pid}/task"):
                with open(f"/proc/{rank.pid}/task/{tid}/status", encoding="utf-8") as file:
                    status = dict(line.split(":", 1) for line in file if ":" in line)
                state, tracer = status["State"].split()[0], status["TracerPid"].strip()
                if state not in "RS" or tracer != "0":
                    return f"thread {tid} of {rank.args[0]}: state {state}, traced by {tracer}"
        return None

    def fail_call(self, *words):
        """Runs a capture with a fault. Returns the facts of fail_call, and what oddrank said."""
        result = f"{self.folder}/result"
        run = subprocess.run(
            [FAIL_CALL, result, *map(str, words), harness.Options.oddrank, "node",
             *(str(rank.pid) for rank in self.ranks), "--samples", "1", "--timeout", f"{LIMIT_S}s",
             "-v", "--json", f"{self.out}/json", "--save", f"{self.out}/save"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False,
            env={**os.environ, "TMPDIR": self.temporary})
        with open(result, encoding="utf-8") as file:
            return [line.split() for line in file], run

    def trouble(self, *fault):
        """Returns what went wrong when the capture was run with a fault, or None. What the fault does it does
        twice; a machine that stands still for half a minute does not."""
        said = self.trouble_once(*fault)
        if said:
            self.again += 1
            print(f"{said}\ntried again", flush=True)
            said = self.trouble_once(*fault)
            print(f"and then: {said}", flush=True)  # before all are done
        return said

    def trouble_once(self, task, call, number, error):
        facts, run = self.fail_call(task, call, number, error)
        try:
            self.check(facts, run, written=task == "0")
        except (AssertionError, ValueError, KeyError, OSError) as wrong:
            return f"{task},{call},{number},{error}: {wrong!r}\n{run.stderr[-1500:]}"
        finally:
            for name in os.listdir(self.out):
                os.unlink(f"{self.out}/{name}")
        return None

    def check(self, facts, run, written):
        """`written`: whether the fault could be in a file that is written."""
        bad = [" ".join(fact) for fact in facts if fact[0] in ("hang", "stuck", "left", "crash")]
        assert not bad, "; ".join(bad)
        told = {fact[0]: fact[1:] for fact in facts}
        how, status, took = told["end"]
        assert how == "exit", f"ended by signal {status}"
        before = status == "2" and "nothing has been read yet" in run.stderr
        assert before or status in "0341", f"exit status {status}"
        # Each of five steps has that limit; machines that run tests may stand still, too.
        assert int(took) < 5000 * LIMIT_S, f"{took} ms"
        assert status not in "14" or "oddrank: error" in run.stderr or run.stdout.strip(), f"status {status}, no word"
        if status in "03" or status == "4" and "oddrank: error" not in run.stderr:
            with open(f"{self.out}/json", encoding="utf-8") as file:
                json.load(file)
        if status in "03" and written:
            shown = harness.run_here([harness.Options.oddrank, "report", f"{self.out}/save"], also=False)
            assert shown.returncode in (0, 3), f"the capture: {shown.stderr}"
        left = set(os.listdir(self.out)) - {"json", "save"} | set(os.listdir(self.temporary))
        assert not left, f"left behind: {left}"
        proc_facts.wait_until(lambda: self.harm() is None, "the ranks go on")


def faults(calls):
    """Returns the faults to try, for how often each task makes each call."""
    places = {}
    for task, call, count in calls:
        if call in NEVER_FAIL:
            continue
        places.setdefault(call, []).extend((task, number) for number in range(1, count + 1))
    chosen = []
    choice = random.Random(19)
    turn = 0
    for call, where in sorted(places.items()):
        errors = ERRORS + [SHORT] if call in CAN_BE_SHORT else ERRORS
        if not FULL and len(where) > TIMES:
            main = [place for place in where if place[0] == "0"]
            ends = {where[0], where[-1], *main[:1], *main[-1:]}
            where = sorted(ends | set(choice.sample(where, TIMES - len(ends))))
        for task, number in where:
            chosen.append((task, call, number, errors[turn % len(errors)]))
            turn += 1
    return chosen


class Faults(unittest.TestCase):
    def test_each_system_call_may_fail(self):
        with harness.scratch() as folder, concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            jobs = []
            for number in range(AT_ONCE):
                os.mkdir(f"{folder}/{number}")
                jobs.append(Job(f"{folder}/{number}"))
            for _ in range(20):  # on a busy machine, the rank that runs may not be stopped in time
                facts, run = jobs[0].fail_call("list")
                if run.returncode or ["end", "exit", "0"] in [fact[:3] for fact in facts]:
                    break
            self.assertIn(["end", "exit", "0"], [fact[:3] for fact in facts], run)
            for name in os.listdir(jobs[0].out):
                os.unlink(f"{jobs[0].out}/{name}")
            calls = [(task, int(call), int(count)) for kind, task, call, count
                     in (fact for fact in facts if fact[0] == "calls")]
            tries = faults(calls)
            one = os.environ.get("ODDRANK_FAULTS")
            if one:
                tries = [(words[0], *map(int, words[1:]))
                         for words in (fault.split(",") for fault in one.split())]
            self.assertGreater(len({call for _, call, _ in calls}), 40)

            def run_some(number):
                return [trouble for fault in tries[number::AT_ONCE]
                        if (trouble := jobs[number].trouble(*fault))]
            troubles = sum(pool.map(run_some, range(AT_ONCE)), [])
            records = [job.end().split() for job in jobs]
        print(f"{len(tries)} faults in {sum(count for _, _, count in calls)} calls, "
              f"{sum(job.again for job in jobs)} of them tried again")
        for _, sent, arrived, out_of_order, alarms in records:
            self.assertEqual((arrived, out_of_order), (sent, "0"))
            self.assertGreater(int(alarms), 0)
        self.assertEqual(troubles, [], "\n".join(troubles))


if __name__ == "__main__":
    harness.main(needs_x86)
