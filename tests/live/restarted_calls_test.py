#!/usr/bin/env python3
"""Tests that a call with a time limit is still named after SIGSTOP and SIGCONT, when the kernel shows
restart_syscall in its place, and that it is no stall of a file system.

    restarted_calls_test.py --oddrank PATH
"""

import json
import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

RESTART_SYSCALL = 219
SLEEPERS = {
    "poll": [sys.executable, "-c", "import select; select.poll().poll(3600000)"],
    "clock_nanosleep": ["sleep", "3600"],
    "futex": [sys.executable, "-c", "import threading; threading.Lock().acquire() and "
              "(a := threading.Lock()).acquire() and a.acquire(timeout=3600)"],
}
CALLS = {"poll": (7,), "clock_nanosleep": (35, 230), "futex": (202,)}


class RestartedCalls(unittest.TestCase):
    def start(self, name):
        process = subprocess.Popen(SLEEPERS[name], stdin=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        proc_facts.wait_until(lambda: proc_facts.state(process.pid) == "S" and
                              proc_facts.in_call(process.pid, *CALLS[name]), f"{name} sleeps")
        return process.pid

    def stop_and_continue(self, pid):
        os.kill(pid, signal.SIGSTOP)
        proc_facts.wait_until(lambda: proc_facts.state(pid) == "T", f"{pid} stops")
        os.kill(pid, signal.SIGCONT)
        proc_facts.wait_until(lambda: proc_facts.state(pid) == "S", f"{pid} sleeps again")

    def test_the_call_is_named_after_a_stop(self):
        pids = {name: self.start(name) for name in SLEEPERS}
        for pid in pids.values():
            self.stop_and_continue(pid)
        self.assertTrue(any(proc_facts.in_call(pid, RESTART_SYSCALL) for pid in pids.values()),
                        "this kernel begins no call again by restart_syscall")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, pids.values()), *harness.PATIENTLY,
             "--json", "-"]))
        waits = {rank["pid"]: rank["threads"][0]["wait"] for rank in run.json()["ranks"]}
        for name, pid in pids.items():
            with self.subTest(call=name):
                self.assertIn(waits[pid]["syscall"], (name, "nanosleep"), waits[pid])
                self.assertNotEqual(waits[pid]["what"], "file", waits[pid])
        self.assertNotEqual(run.json()["verdict"]["kind"], "io_stall", run)


if __name__ == "__main__":
    harness.main()
