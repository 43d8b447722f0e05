#!/usr/bin/env python3
"""Tests the answer to a mistyped command: exit status 2, nothing on stdout, and an error that fits
a screen.

    usage_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

MAX_LINE = 200
NUMBERS = ["abc", "0", "-1", "1.5", "99999999999999999999", ""]
DURATIONS = ["abc", "5 m", "1e3", "99999999999999999999s", "3y"]


def run(*arguments):
    return subprocess.run([harness.Options.oddrank, *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def commands():
    """Returns the subcommands, as --help lists them."""
    listed = run("--help").stdout.partition("Subcommands:")[2].partition("\n\n")[0]
    return re.findall(r"^  (\w+) ", listed, re.MULTILINE)


class UsageTest(unittest.TestCase):
    def refused(self, *arguments):
        result = run(*arguments)
        with self.subTest(arguments=arguments, stderr=result.stderr):
            self.assertEqual(result.returncode, 2)
            self.assertEqual(result.stdout, "")
            self.assertTrue(result.stderr.strip())
            self.assertLess(max(map(len, result.stderr.splitlines())), MAX_LINE)
        return result.stderr

    def test_a_pid_that_is_no_number_is_named(self):
        for number in NUMBERS:
            self.assertIn(f"'{number}'", self.refused("node", "--", number))

    def test_a_time_that_is_none_is_named(self):
        for duration in DURATIONS:
            self.assertIn(f"'{duration}'", self.refused("node", "--timeout", duration))

    def test_a_number_of_samples_out_of_range_is_refused(self):
        for number in NUMBERS:
            self.refused("node", f"--samples={number}")

    def test_an_unknown_command_or_option_is_refused(self):
        self.assertIn("oddrank --help", self.refused("nodes"))
        for command in commands():
            self.refused(command, "--no-such-option")

    def test_every_command_explains_itself(self):
        self.assertGreater(len(commands()), 7)
        for command in commands():
            result = run(command, "--help")
            with self.subTest(command=command):
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertIn("Example", result.stdout)
                self.assertNotIn("{", result.stdout)
                self.assertLess(max(map(len, result.stdout.splitlines())), MAX_LINE)


if __name__ == "__main__":
    harness.main()
