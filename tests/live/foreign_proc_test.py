#!/usr/bin/env python3
"""Tests that oddrank refuses a /proc that is not of its own pid namespace, in which every pid is another
process's, and says how to get the right one.

    foreign_proc_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

WORDS = ("/proc is not that of our own pid namespace", "nsenter --mount --pid")


class ForeignProc(unittest.TestCase):
    def container(self):
        """Returns a process in mount and pid namespaces of its own, and a rank in it, by our pids."""
        inner = (f"RANK=0 WORLD_SIZE=1 MASTER_ADDR=localhost MASTER_PORT=29779 {sys.executable} "
                 "-c 'import sys; print(\"ready\", flush=True); sys.stdin.read()'; true")
        process = subprocess.Popen(harness.unshare("--pid", "--fork", "--mount-proc", "sh", "-c", inner),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        pid = process.pid
        while children := proc_facts.children(pid):
            pid, = children
        proc_facts.wait_until(lambda: proc_facts.in_call(pid, proc_facts.READ), "the rank waits")
        return pid

    @staticmethod
    def end(process):
        process.stdin.close()
        process.wait(60)
        process.stdout.close()

    def inside(self, *words):
        """Runs oddrank with the /proc of a container, in our pid namespace."""
        entered = ["nsenter", "--mount", "--target", str(self.container()),
                   os.path.abspath(harness.Options.oddrank), *words]
        return harness.Run(subprocess.run(entered, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                          timeout=120, check=False))

    def test_proc_of_a_container(self):
        for words in (["node"], ["node", "1"], ["agent", "--out", "/dev/null"], ["watch"]):
            harness.check_trouble(self, self.inside(*words), *WORDS)

    def test_proc_of_the_machine_in_a_container(self):
        """Every pid of it is shown, and none of them is ours: pid 1 is init here, and oddrank there."""
        run = harness.Run(subprocess.run(
            harness.unshare("--pid", "--fork", harness.Options.oddrank, "node", "1"),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False))
        harness.check_trouble(self, run, *WORDS)

    def test_doctor(self):
        run = self.inside("doctor")
        self.assertEqual(run.status, 3, run)
        for word in WORDS:
            self.assertIn(word, run.out)
        self.assertNotIn("seccomp", run.out)

    def test_a_command_runs_unwatched(self):
        run = self.inside("watch", "--", "echo", "it ran")
        self.assertEqual((run.status, run.out), (0, "it ran\n"), run)
        self.assertIn("the command is not watched: /proc is not", run.err)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
