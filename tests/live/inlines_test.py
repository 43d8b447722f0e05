#!/usr/bin/env python3
"""Tests `oddrank node PID --inlines`: with the program's own debug information, and with a debuginfod
server (a stand-in for its client program on PATH) that answers, fails, or must not be queried.

    inlines_test.py --oddrank PATH        ODDRANK_VICTIMS names the folder of the victim programs
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIMS = os.environ.get("ODDRANK_VICTIMS", "")
INLINED = ["work::Queue::take(int)", "work::wait_for_batch(int)"]


class Inlines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.log = os.path.join(self.folder, "asked")

    def start(self, program):
        process = subprocess.Popen([f"{VICTIMS}/{program}"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)

        def end():
            process.kill()
            process.wait(60)
            process.stdin.close()
            process.stdout.close()

        self.addCleanup(end)
        self.assertTrue(process.stdout.readline().startswith("ready"))
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(process.pid, proc_facts.READ, "pipe:"), "the victim blocks")
        return process.pid

    def client(self, action):
        """Makes a debuginfod-find that records its requests."""
        path = os.path.join(self.folder, "debuginfod-find")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\necho "$1 $2" >> {self.log}\n{action}\n')
        os.chmod(path, 0o755)

    def asked(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="utf-8") as file:
            return file.read().splitlines()

    def read(self, pid, *options, urls=None, form="--json"):
        environment = dict(os.environ, PATH=f"{self.folder}:{os.environ['PATH']}")
        environment.pop("DEBUGINFOD_URLS", None)
        if urls is not None:
            environment["DEBUGINFOD_URLS"] = urls
        command = [harness.Options.oddrank, "node", str(pid), "--samples", "1", *options]
        if form:
            command += [form, "-"]
        result = harness.run_here(command, env=environment, also=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout) if form else result.stdout

    @staticmethod
    def frames(report):
        return report["ranks"][0]["threads"][0]["frames"]

    def check_inlined(self, report):
        frames = self.frames(report)
        self.assertEqual([frame["name"] for frame in frames if frame["inlined"] and
                          frame["module"].startswith(VICTIMS)], INLINED)
        for frame in frames:
            if frame["name"] in INLINED:
                self.assertEqual(frame["short_filename"], "victims/inlined.cc")
                self.assertGreater(frame["line"], 10)

    def check_no_inlined(self, report):
        for frame in self.frames(report):
            if frame["module"].startswith(VICTIMS):
                self.assertFalse(frame["inlined"])
                self.assertIsNone(frame["line"])

    def test_own_debug_information_where_it_is_asked_for(self):
        pid = self.start("inlined")
        self.check_no_inlined(self.read(pid))
        self.check_inlined(self.read(pid, "--inlines"))
        text = self.read(pid, "--inlines", form=None)
        self.assertRegex(text, r"work::Queue::take +victims/inlined.cc:\d+ \(inlined\)")
        self.assertRegex(text, r"work::train +victims/inlined.cc:\d+\n")

    def test_a_server_is_asked_once_and_only_if_one_is_named(self):
        pid = self.start("inlined_bare")
        self.client(f"echo {VICTIMS}/inlined_bare.debug")
        self.check_no_inlined(self.read(pid, "--inlines"))
        self.check_no_inlined(self.read(pid, urls="http://127.0.0.1:1"))
        self.assertEqual(self.asked(), [])
        report = self.read(pid, "--inlines", urls="http://127.0.0.1:1")
        self.check_inlined(report)
        build_id = next(frame["build_id"] for frame in self.frames(report)
                        if frame["module"].startswith(VICTIMS))
        self.assertEqual(self.asked().count(f"debuginfo {build_id}"), 1)

    def test_a_server_that_gives_another_build_is_not_believed(self):
        pid = self.start("inlined_bare")
        self.client(f"echo {VICTIMS}/waiting")
        self.check_no_inlined(self.read(pid, "--inlines", urls="http://127.0.0.1:1"))

    def test_a_server_that_does_not_answer_costs_its_frames_and_a_few_seconds(self):
        pid = self.start("inlined_bare")
        self.client("exec sleep 1000")
        began = time.monotonic()
        report = self.read(pid, "--inlines", "--timeout", "4s", urls="http://127.0.0.1:1")
        self.assertLess(time.monotonic() - began, 60)
        self.check_no_inlined(report)
        self.assertEqual(len(self.asked()), 1)
        self.assertIn("took too long", " ".join(report["notes"]))


if __name__ == "__main__":
    harness.main(lambda: None if os.path.isdir(VICTIMS) else "ODDRANK_VICTIMS names no folder")
