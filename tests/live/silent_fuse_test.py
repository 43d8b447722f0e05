#!/usr/bin/env python3
"""Runs `oddrank node` on ranks that wait for a file system which does not respond. The report names the
file, the file system and the kernel function, and oddrank sends the file system no further request. A killed
rank of which a thread is left there is no dead one. A Python whose own files are on one is read from memory.

    silent_fuse_test.py --oddrank PATH
"""

import os
import select
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIMS = os.path.join(os.path.dirname(HERE), "victims")
SERVER = os.path.join(VICTIMS, "silent_fuse.py")


class SilentFuse(unittest.TestCase):
    def start(self, folder, *how):
        """Returns the server, and the pids of ranks 0 and 1."""
        process = subprocess.Popen(harness.unshare("/usr/bin/python3", SERVER, folder, *how),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, process)
        line = process.stdout.readline().split()
        if not line:
            self.skipTest("no FUSE file system can be mounted here")
        self.assertEqual(line[0], b"ready")
        return process, int(line[1]), int(line[2])

    def end(self, process):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()

    def test_a_file_system_that_does_not_answer(self):
        with harness.scratch() as folder:
            server, reader, syncer = self.start(folder)
            for pid, call in ((reader, proc_facts.READ), (syncer, proc_facts.FSYNC)):
                proc_facts.wait_until(lambda pid=pid, call=call: proc_facts.in_call(pid, call),
                                      "it blocks")
            run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(reader),
                                                str(syncer), "--json", "-", "-q"]))
            waits = {row["pid"]: row["threads"][0]["wait"] for row in run.json()["ranks"]}
            for pid, call, file in ((reader, "read", "shard-0.tar"),
                                    (syncer, "fsync", "shard-1.tar")):
                wait = waits[pid]
                self.assertEqual((wait["what"], wait["syscall"], wait["path"]),
                                 ("file", call, f"{folder}/{file}"), run)
                self.assertIn(f"in {call}() of {folder}/{file}", wait["detail"], run)
                self.assertIn(f", on fuse silent at {folder}", wait["detail"], run)
            self.assertEqual(run.json()["verdict"]["kind"], "io_stall", run)
            self.assertFalse(select.select([server.stdout], [], [], 0)[0],
                             "the file system was asked for something more")
            self.assertIsNone(server.poll())  # the server is alive, and would have printed it

    def test_a_killed_rank_of_which_a_thread_is_left(self):
        """Its main thread is a zombie, as after a killed job with a thread in a driver."""
        with harness.scratch() as folder:
            _, reader, syncer = self.start(folder, "threads")
            os.kill(reader, 9)
            proc_facts.wait_until(lambda: proc_facts.state(reader) == "Z", "its main thread ends")
            left, = set(proc_facts.threads(reader)) - {reader}
            proc_facts.wait_until(lambda: proc_facts.sleeping(left) and proc_facts.state(left) == "D",
                                  "its other thread can no longer be killed")
            run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(reader), str(syncer),
                                                "--json", "-", "-q"]))
            report = run.json()
            row = {row["pid"]: row for row in report["ranks"]}[reader]
            self.assertEqual((run.status, row["state"]), (0, "D"), run)
            self.assertEqual([(thread["tid"], thread["wait"]["path"]) for thread in row["threads"]],
                             [(left, f"{folder}/shard-0.tar")], run)
            verdict = report["verdict"]
            self.assertEqual(verdict["kind"], "io_stall", run)
            self.assertIn(reader, [culprit["pid"] for culprit in verdict["culprits"]], run)
            self.assertIn(f"in read() of {folder}/shard-0.tar", verdict["summary"], run)
            for words in ((str(left),), (str(reader), "--never-stop")):
                run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *words]))
                self.assertEqual(run.status, 0, run)
                self.assertIn("its main thread has ended", run.out, run)
                self.assertRegex(run.out, rf"Thread {left} .*\s+in read\(\) of {folder}/shard-0.tar", run)
                self.assertRegex(run.out, r"(?m)^    <lambda> +<string>:1$", run)


class FadingFuse(unittest.TestCase):
    def test_a_python_whose_files_do_not_answer(self):
        with harness.scratch() as folder:
            server = subprocess.Popen(
                harness.unshare("/usr/bin/python3", f"{VICTIMS}/fading_fuse.py", folder,
                                os.path.realpath("/usr/bin/python3")),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.wait, 60)
            self.addCleanup(os.killpg, server.pid, 9)
            line = server.stdout.readline().split()
            if not line:
                self.skipTest("no FUSE file system can be mounted here")
            pid = int(line[1])
            proc_facts.wait_until(lambda: proc_facts.in_call(pid, proc_facts.READ), "it blocks")
            run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--timeout", "4s"],
                                               also=False))
            self.assertEqual(run.status, harness.PARTIAL, run)
            self.assertIn(f"read in part: files that it runs do not answer: fuse fading at {folder}; what is in "
                          "memory was read", run.out.replace("\n", " "))
            self.assertRegex(run.out, r"(?m)^    read +libc\.so\.6\n    step +<string>:4\n"
                                      r"    <module> +<string>:5$")
            self.assertIsNone(server.poll())


if __name__ == "__main__":
    harness.main()
