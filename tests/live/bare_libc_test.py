#!/usr/bin/env python3
"""Tests native stacks through a C library that was built without unwind tables: musl, linked dynamically and
statically, with programs that have tables, that have none, and that have no symbols either. The truth is the
source of the victim; gdb, if it is there, must not find more frames.

    bare_libc_test.py --oddrank PATH
"""

import os
import platform
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import gdb_frames
import harness
import proc_facts

SOURCE = os.path.join(os.path.dirname(HERE), "victims", "bare_libc.c")
NO_TABLES = "-fno-asynchronous-unwind-tables"
# What each mode calls, innermost first: without what only the library calls, which differs between versions.
SIGNAL, FAULT = "<signal SIGUSR1 delivered here>", "<signal SIGSEGV delivered here>"
STACKS = {
    "sleep": ["nanosleep", "in_sleep"],
    "read": ["read", "block", "in_read"],
    "fgets": ["fgets", "in_fgets"],
    "cond": ["pthread_cond_timedwait", "in_cond"],
    "raise": ["read", "block", "on_signal", SIGNAL, "raise", "in_raise"],
    "fault": ["read", "block", "on_signal", FAULT, "in_fault"],
}
MAIN = ["go", "main"]
JOINS = ["pthread_timedjoin_np", "in_join", "main"]
KNOWN = {name for stack in STACKS.values() for name in stack} | {*MAIN, *JOINS, "in_thread"}


def no_compiler():
    if platform.machine() != "x86_64":
        return "aarch64's musl makes no frame records where x86-64 has return addresses on the stack"
    return None if shutil.which("musl-gcc") else "no musl-gcc (scripts/setup --ci installs musl-tools)"


def is_blocked(tid):
    call = proc_facts.syscall(tid)
    return call is not None and call[0] != proc_facts.WRITE


class BareLibc(unittest.TestCase):
    programs = {}

    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.scratch())

    def build(self, *options):
        """Returns the path of the victim, compiled so; always with inlining off, so that frames are functions."""
        if options not in self.programs:
            path = os.path.join(self.folder, f"victim{len(self.programs)}")
            subprocess.run(["musl-gcc", "-fno-inline", *options, SOURCE, "-o", path], check=True)
            self.programs[options] = path
        return self.programs[options]

    def start(self, program, *words):
        process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        count = len(words)
        proc_facts.wait_until(
            lambda: [is_blocked(tid) for tid in proc_facts.threads(process.pid)] == [True] * count,
            "all threads block")
        return process.pid

    def read(self, *pids):
        """Returns the frames of all threads of each process, in this order, and the whole text."""
        path = os.path.join(self.folder, "json")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, pids), "--samples", "1", "--json", path,
             *harness.PATIENTLY]))
        self.assertEqual(run.status, 0, run)
        text = run.out
        with open(path, encoding="utf-8") as file:
            run.out = file.read()
        rows = {row["pid"]: row for row in run.json()["ranks"]}
        return [[thread["frames"] for thread in rows[pid]["threads"]] for pid in pids], text

    def check(self, frames, expected, text):
        names = [frame["name"] for frame in frames]
        self.assertEqual([name for name in names if name in KNOWN], expected, (names, text))

    def check_all(self, *options):
        program = self.build(*options)
        pids = [self.start(program, mode) for mode in STACKS]
        (*processes, (joins, sleeps)), text = self.read(*pids, self.start(program, "sleep", "thread"))
        self.assertIn("(guessed)", text)
        self.assertNotIn("no unwind information", text)
        for (mode, stack), (frames,) in zip(STACKS.items(), processes):
            with self.subTest(options=options, mode=mode):
                self.check(frames, stack + MAIN, text)
        with self.subTest(options=options, mode="in a thread"):
            self.check(joins, JOINS, text)
            self.check(sleeps, [*STACKS["sleep"], "go", "in_thread"], text)

    def test_programs_with_tables(self):
        for options in (("-O0",), ("-O2",), ("-O0", "-static"), ("-O2", "-static")):
            self.check_all(*options)

    def test_programs_without_tables(self):
        for options in (("-O0",), ("-O2",), ("-O2", "-static")):
            self.check_all(*options, NO_TABLES)

    def test_programs_without_symbols(self):
        """Stripped, the same program has the same frames: at the same places, if it is not moved. Without tables,
        two calls through pointers are too many: that of the library in fgets(), and that in go()."""
        for options in (("-O2", "-static"), ("-O0", "-static", NO_TABLES)):
            modes = [mode for mode in STACKS if mode != "fgets" or NO_TABLES not in options]
            programs = [self.build(*options, "-no-pie", *more) for more in ((), ("-s",))]
            processes, text = self.read(*(self.start(program, mode) for program in programs for mode in modes))
            places = [[frame["offset"] for frame in frames] for frames, in processes]
            for mode, whole, stripped in zip(modes, places, places[len(modes):]):
                with self.subTest(options=options, mode=mode):
                    self.assertEqual(stripped, whole, text)

    def test_gdb_finds_no_more(self):
        if gdb_frames.why_not():
            return
        for options in (("-O2",), ("-O2", "-static")):
            with self.subTest(options=options):
                pid = self.start(self.build(*options), "read")
                ((frames,),), text = self.read(pid)
                self.assertGreaterEqual(len(frames), len(gdb_frames.frames(pid)[pid]), text)


if __name__ == "__main__":
    harness.main(no_compiler)
