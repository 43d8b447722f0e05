#!/usr/bin/env python3
"""Runs `oddrank node` on processes with roles: each that is given is a row of its own, under its title.

    roles_test.py --oddrank PATH
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

OPENAT = 257
VICTIM = os.path.join(os.path.dirname(HERE), "victims", "roles.py")
SUPERVISOR = os.path.join(os.path.dirname(HERE), "victims", "supervisor.py")
MANY = 10  # more than a wait lists


class Roles(unittest.TestCase):
    def start(self, folder):
        path = os.path.join(folder, "weights")
        os.mkfifo(path)
        process = subprocess.Popen(["/usr/bin/python3", VICTIM, path], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, process)
        words = process.stdout.readline().decode().split()
        self.assertEqual(words[0], "ready")
        front, engine, worker = map(int, words[1:])
        for pid in (front, engine):
            proc_facts.wait_until(lambda pid=pid: proc_facts.in_call(pid, proc_facts.RECVFROM), "it waits")
        proc_facts.wait_until(lambda: proc_facts.in_call(worker, OPENAT), "it opens the pipe")
        return front, engine, worker

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def read(self, *arguments):
        return harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, arguments), "--samples", "2"]))

    def test_each_given_process_is_a_row_under_its_title(self):
        with harness.scratch() as folder:
            front, engine, worker = self.start(folder)
            run = self.read(front, engine, worker, "--json", "-")
            report = run.json()
            self.assertEqual({row["pid"]: (row["role"], row["label"]) for row in report["ranks"]},
                             {front: ("controller", "roles.py"), engine: ("engine", "EngineCore"),
                              worker: ("worker", "Worker_TP1")}, run)
            verdict = report["verdict"]
            self.assertEqual([row["pid"] for row in verdict["culprits"]], [worker], run)
            self.assertTrue(verdict["summary"].startswith(f"Worker_TP1 (pid {worker}, "), run)
            self.assertEqual([(link["waiters"], link["waits_for"]) for link in verdict["chain"]][:2],
                             [(f"roles.py (pid {front})", f"EngineCore (pid {engine})"),
                              (f"EngineCore (pid {engine})", f"Worker_TP1 (pid {worker})")], run)

    def test_the_text_has_the_title_first(self):
        with harness.scratch() as folder:
            front, engine, worker = self.start(folder)
            run = self.read(front, engine, worker)
            self.assertIn(f"\nWorker_TP1, pid {worker} (", run.out, run)
            self.assertIn("3/3 processes on 1/1 nodes", run.out, run)

    def test_a_child_that_was_not_given_is_told_by_its_title(self):
        with harness.scratch() as folder:
            front, _, worker = self.start(folder)
            run = self.read(front, "--json", "-")
            children = [row["label"] for row in run.json()["ranks"][0]["children"]]
            self.assertEqual(sorted(children), ["EngineCore", "Worker_TP1"], run)
            self.assertIn(f"its child process Worker_TP1 pid {worker}, ",
                          run.json()["verdict"]["summary"], run)

    def supervise(self, *arguments):
        """Returns the verdict, the supervisor's pid and those of its servers."""
        process = subprocess.Popen([sys.executable, SUPERVISOR, *map(str, arguments)],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, process)
        pids = [int(word) for word in process.stdout.readline().split()[1:]]
        for pid in pids:
            proc_facts.wait_until(lambda pid=pid: proc_facts.sleeping(pid), "it waits")
        run = self.read(*pids, "--json", "-")
        return run.json()["verdict"], pids[0], pids[1:]

    def test_who_waits_for_the_end_of_idle_servers_does_not_hold_them(self):
        for count in (2, MANY):
            with self.subTest(count):
                verdict, supervisor, _ = self.supervise("ends", count)
                self.assertEqual(verdict["kind"], "healthy", verdict)
                self.assertIn(f"supervisor.py (pid {supervisor}", verdict["summary"])
                self.assertIn("waits for other processes to end", verdict["summary"])

    def test_who_waits_for_a_message_of_a_server_is_not_idle(self):
        verdict, _, _ = self.supervise("message", 2)
        self.assertEqual(verdict["kind"], "unknown", verdict)

    def test_a_server_that_stands_is_named_not_its_supervisor(self):
        with harness.scratch() as folder:
            path = os.path.join(folder, "weights")
            os.mkfifo(path)
            verdict, _, servers = self.supervise("ends", 2, path)
            self.assertEqual((verdict["kind"], [row["pid"] for row in verdict["culprits"]]),
                             ("io_stall", servers[-1:]), verdict)


if __name__ == "__main__":
    harness.main()
