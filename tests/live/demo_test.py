#!/usr/bin/env python3
"""Tests `oddrank demo`: its job really hangs, the report on it is right, and neither its processes nor its
files outlive it, however it ends.

    demo_test.py --oddrank PATH
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

PROMPT = "Ctrl-C here ends it.\n"
PIPE = "rank2-step3.bin"


class DemoTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        # The demo is neither of this SLURM job nor a rank of it.
        self.env = {**os.environ, "TMPDIR": self.folder, "SLURM_JOB_ID": "4711", "RANK": "7",
                    "WORLD_SIZE": "8", "PYTHONPATH": "/no/such/folder", "PYTHONSTARTUP": "/no/such/file"}

    def processes(self):
        """Returns the processes whose command line names our folder."""
        return [pid for pid in proc_facts.pids() if self.folder in proc_facts.command_line(pid)]

    def check_nothing_is_left(self):
        proc_facts.wait_until(lambda: not self.processes(), "the processes have ended")
        self.assertEqual(os.listdir(self.folder), [])

    def python(self, text):
        """Lets the demo find this program as its python3."""
        programs = self.enterContext(harness.scratch())
        with open(f"{programs}/python3", "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(file.name, 0o755)
        self.env["PATH"] = f"{programs}:{os.environ['PATH']}"

    def run_demo(self, *words, **env):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "demo", *words],
                                           env={**self.env, **env}))
        self.check_nothing_is_left()
        return run

    def start(self, *words):
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [harness.Options.oddrank, "demo", *words], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        process.kill()
        process.communicate(timeout=60)

    def start_and_keep(self):
        """Returns the demo, the pids of its ranks, and its pipe, once it has printed its report."""
        process = self.start("--keep")
        said = ""
        while not said.endswith(PROMPT):
            line = process.stderr.readline()
            self.assertTrue(line, said)
            said += line
        pids = re.search(r"(?m)^  oddrank node ((\d+ ?)+)$", said)
        pipe = re.search(r"(?m)^  echo data >(\S+)", said)
        self.assertTrue(pids and pipe, said)
        return process, [int(pid) for pid in pids[1].split()], pipe[1]

    def check_report(self, text):
        joined = " ".join(text.split())  # lines are folded where they are too long
        pipe = rf"{self.folder}/\S+{PIPE}"
        self.assertRegex(joined, rf"^io_stall: rank 2 \(\S+, pid \d+\) is stuck in open(at)?\(\) of {pipe} "
                         r"\(.*\): a named pipe of which nobody opens the other end; ranks 0-1,3 wait for it "
                         r"4/4 ranks on 1/1 nodes")
        self.assertRegex(joined, r" Why rank 1 waits for rank 0: socket \(rank 0\) rank 0 waits for rank 3: socket "
                         r"\(rank 3\) rank 3 waits for rank 2: socket \(rank 2\) "
                         rf"rank 2 waits for {pipe}: open(at)?\(\) ")
        self.assertRegex(joined, r" load_batch demo/train\.py:\d+ train demo/train\.py:\d+ ")
        self.assertRegex(joined, r" turn=2 on 1; turn=1 on 0; turn=0 on 3 in all_reduce \(demo/train\.py:\d+\)")

    def test_the_report_names_the_rank_and_the_pipe(self):
        page = f"{self.folder}.html"
        self.addCleanup(os.unlink, page)
        run = self.run_demo("--html", page)
        self.assertEqual(run.status, 0, run)
        self.check_report(run.out)
        self.assertIn("The processes of the demo have ended.", run.err)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("io_stall", text)
        self.assertIn("load_batch", text)

    @harness.only_in_full
    def test_it_takes_three_seconds(self):
        began = time.monotonic()
        self.run_demo()
        self.assertLess(time.monotonic() - began, 3)

    def test_what_hangs_is_seen_by_another_oddrank_too_and_goes_on_with_its_data(self):
        process, pids, pipe = self.start_and_keep()
        self.assertEqual(sorted(pids), sorted(self.processes()))
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *map(str, pids), "--samples", "2"]))
        self.check_report(run.out)
        with open(pipe, "w", encoding="ascii") as file:
            file.write("data\n")
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, err)
        self.check_report(out)
        self.check_nothing_is_left()

    def test_a_signal_ends_all(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process, _, _ = self.start_and_keep()
                process.send_signal(number)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, 0)
                self.check_nothing_is_left()

    def test_a_signal_before_the_report_ends_it_as_a_signal_does(self):
        self.python("#!/bin/sh\nkill -STOP $$\n")  # the ranks never come to their hang, and need SIGKILL
        for words in ((), ("--keep",)):
            process = self.start(*words)
            proc_facts.wait_until(lambda: len(self.processes()) == 4, "the ranks have been started")
            process.send_signal(signal.SIGTERM)
            out, _ = process.communicate(timeout=60)
            self.assertEqual((process.returncode, out), (-signal.SIGTERM, ""))
            self.check_nothing_is_left()

    def test_the_kernel_ends_the_processes_if_it_is_killed(self):
        process, pids, _ = self.start_and_keep()
        process.kill()
        process.communicate(timeout=60)
        proc_facts.wait_until(lambda: all(map(proc_facts.has_ended, pids)), "the ranks have ended")
        shutil.rmtree(os.path.join(self.folder, *os.listdir(self.folder)))

    def test_a_signal_that_is_ignored_stays_so(self):
        """As below nohup."""
        script = f'trap "" HUP; exec "{harness.Options.oddrank}" demo --keep'
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            ["/bin/sh", "-c", script], env=self.env, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        while process.stderr.readline() != PROMPT:
            pass
        self.assertTrue(proc_facts.ignores(process.pid, signal.SIGHUP))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.check_nothing_is_left()

    def test_without_python_it_says_so(self):
        run = self.run_demo(PATH="/no/such/folder")
        harness.check_trouble(self, run, "python3 is not on PATH", "hint: ", "install python3")

    def test_a_python_that_fails_is_told(self):
        self.python("#!/bin/sh\necho what is this >&2\necho no encodings >&2\nexit 3\n")
        run = self.run_demo()
        harness.check_trouble(self, run, "of the demo exited with status 3: no encodings\n", "hint: ")

    def test_a_folder_or_page_that_cannot_be_written_is_told_before_anything_is_started(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "demo", "--html", "/no/such/folder/x"]))
        harness.check_trouble(self, run, "--html", status=2)
        run = harness.Run(harness.run_here([harness.Options.oddrank, "demo"],
                                           env={**self.env, "TMPDIR": "/no/such/folder"}))
        harness.check_trouble(self, run, "cannot make the folder /no/such/folder/", "TMPDIR")

    @harness.only_with(os.geteuid() == 0)
    def test_an_ordinary_user_needs_nothing_more(self):
        with harness.scratch() as programs:  # nobody may not be allowed to enter the tree
            program = shutil.copy(harness.Options.oddrank, programs)
            run = harness.Run(harness.run_here(
                ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program, "demo"], env=self.env))
        self.assertEqual(run.status, 0, run)
        self.check_report(run.out)
        self.check_nothing_is_left()


if __name__ == "__main__":
    harness.main()
