#!/usr/bin/env python3
"""Tests `oddrank node --watch` on a real terminal: the report is made again, what changed is marked, what does
not fit is counted, Ctrl-C ends it with the whole report, and the terminal is as before."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

DEADLINE_S = 120
LOCK = """
import fcntl, os, sys
def first_place():
    sys.stdin.readline()
def second_place():
    sys.stdin.readline()
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
print("ready", flush=True)
first_place()
second_place()
"""
MARKED = re.compile("\x1b\\[7m(.*?)\x1b\\[27m")
CODES = re.compile("\x1b\\[[?0-9;]*[A-Za-z]")


class Job:
    """Rank 0 has a lock and reads; ranks 1 and 2 want the lock."""

    def __init__(self, folder):
        self.port = str(20000 + os.getpid() % 10000)
        self.ranks = [self.start(rank, f"{folder}/l") for rank in range(3)]

    def start(self, rank, lock):
        process = subprocess.Popen([sys.executable, "-c", LOCK, lock], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "3",
                                        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": self.port})
        if rank == 0:
            assert process.stdout.readline() == "ready\n"
        call = proc_facts.FLOCK if rank else proc_facts.READ
        proc_facts.wait_until(lambda: proc_facts.in_call(process.pid, call), f"rank {rank} waits")
        return process

    def end(self):
        for rank in self.ranks:
            rank.kill()
            rank.communicate(timeout=DEADLINE_S)


class Terminal:
    """A terminal of so many rows, and oddrank on it."""

    def __init__(self, rows, *words):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
        self.modes = termios.tcgetattr(self.slave)
        self.shown = ""
        self.oddrank = subprocess.Popen(
            [harness.Options.oddrank, "node", *words], stdin=self.slave, stdout=self.slave, stderr=self.slave,
            env={**{key: value for key, value in os.environ.items() if key != "NO_COLOR"}, "TERM": "xterm"})

    def wait_for(self, what, condition):
        """Returns the newest complete frame for which the condition holds."""
        ends = time.monotonic() + DEADLINE_S
        while True:
            # A frame begins at the upper left and ends when long lines are shown again.
            frames = [frame for frame in self.shown.split("\x1b[H")[1:] if "\x1b[?7h" in frame]
            for frame in reversed(frames):
                if condition(frame):
                    return frame
            assert time.monotonic() < ends and self.oddrank.poll() is None, f"{what}: {self.shown[-3000:]!r}"
            self.read_some()

    def read_some(self):
        if select.select([self.master], [], [], 0.2)[0]:
            self.shown += os.read(self.master, 65536).decode(errors="replace")

    def interrupt(self):
        """Ends it as Ctrl-C does. Returns its exit status and what it left on the terminal."""
        before = len(self.shown)
        self.oddrank.send_signal(signal.SIGINT)
        ends = time.monotonic() + DEADLINE_S
        while self.oddrank.poll() is None and time.monotonic() < ends:
            self.read_some()
        while select.select([self.master], [], [], 0)[0]:
            self.read_some()
        return self.oddrank.wait(1), self.shown[before:]

    def close(self):
        self.oddrank.kill()
        self.oddrank.wait()
        os.close(self.master)
        os.close(self.slave)


def plain(text):
    return CODES.sub("", text)


class RepeatTest(unittest.TestCase):
    def setUp(self):
        proc_facts.stay_on_one_cpu(self.addCleanup)  # else ages may be unknown
        folder = tempfile.TemporaryDirectory(prefix="o", dir="/tmp")  # short, since long titles leave ages out
        self.addCleanup(folder.cleanup)
        self.job = Job(folder.name)
        self.addCleanup(self.job.end)

    def start(self, rows, *more):
        terminal = Terminal(rows, "--select", f"127.0.0.1:{self.job.port}", "--samples", "1",
                            *more)
        self.addCleanup(terminal.close)
        return terminal

    def test_what_changed_is_marked(self):
        terminal = self.start(60, "--watch=0")
        first = terminal.wait_for("a report", lambda frame: "rank 0" in plain(frame))
        self.assertIn("every 0 s, at", plain(first).splitlines()[0])
        self.assertIn("first_place", plain(first))
        # Ages change all the time, and are no news.
        same = terminal.wait_for("another one", lambda frame: frame != first)
        self.assertNotIn("first_place", "".join(MARKED.findall(same)))
        self.job.ranks[0].stdin.write("\n")
        self.job.ranks[0].stdin.flush()
        terminal.wait_for("the news", lambda frame: "second_place" in "".join(MARKED.findall(frame)))

    def test_ages_are_no_news_whether_they_differ_or_not(self):
        """"for 2.1 s" becomes "for 2.1 s to 2.2 s" and the like, since two ranks never begin to wait at once."""
        terminal = self.start(60, "--watch=0")

        def shows(pattern):
            return lambda frame: re.search(rf"ranks: 1-2 .* for [\d.]+ s{pattern}\r$", plain(frame), re.MULTILINE)
        terminal.wait_for("ages that differ", shows(" to .*"))
        terminal.wait_for("one age", shows(""))
        titles = [line for line in terminal.shown.splitlines() if "ranks: " in plain(line) and "1-2" in line]
        self.assertEqual([line for line in titles if MARKED.search(line)], [])

    def test_ctrl_c_ends_it_with_the_whole_report(self):
        terminal = self.start(8, "--watch=3600")
        frame = terminal.wait_for("a report", lambda frame: "more lines" in plain(frame))
        self.assertEqual(plain(frame.partition("\x1b[J")[0]).count("\n"), 7)
        status, left = terminal.interrupt()
        self.assertEqual(status, 0)
        self.assertNotIn("more lines", left)
        self.assertNotIn("\x1b[7m", left)
        self.assertIn("first_place", plain(left))
        self.assertEqual(termios.tcgetattr(terminal.slave), terminal.modes)

    def test_without_a_terminal_it_is_wrong_usage(self):
        words = ["node", "--select", f"127.0.0.1:{self.job.port}", "-w"]
        run = harness.Run(harness.run_here([harness.Options.oddrank, *words]))
        harness.check_trouble(self, run, "needs a terminal", "`oddrank watch`", status=2)

    def test_no_other_output_goes_to_the_terminal(self):
        terminal = self.start(24, "-w", "--json", "-")
        terminal.oddrank.wait(DEADLINE_S)
        terminal.read_some()
        self.assertEqual(terminal.oddrank.returncode, 2)
        self.assertIn("no other output fits there", terminal.shown)

    def test_no_job_is_an_error(self):
        terminal = Terminal(24, "--select", "nosuchjob", "-w")
        self.addCleanup(terminal.close)
        terminal.oddrank.wait(DEADLINE_S)
        self.assertEqual(terminal.oddrank.returncode, 4)


if __name__ == "__main__":
    harness.main()
