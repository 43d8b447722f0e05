#!/usr/bin/env python3
"""Tests the answer to a mistyped command: exit status 2, nothing on stdout, and an error that fits
a screen.

    usage_test.py --oddrank PATH
"""

import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

MAX_LINE = 200
NUMBERS = ["abc", "0", "-1", "1.5", "99999999999999999999", ""]
HOSTILE = "x\x1b]0;t\x07\x1b[2J\x7f\u009b\u202e\u2066\u2028\noddrank: error: FORGED\r"
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

    def test_two_outputs_to_one_place_are_refused(self):
        """Before anything is read, so that nothing is lost."""
        both = self.refused("report", "none.odd", "--json", "-", "--html", "/dev/stdout")
        self.assertIn("--json and --html both write to stdout", both)
        with harness.scratch() as folder:
            same = self.refused("node", "--save", f"{folder}/a", "--json", f"{folder}/./a")
            self.assertIn("--json and --save both write", same)
            self.assertEqual(os.listdir(folder), [])

    def test_a_mode_that_is_none_is_named(self):
        for mode in ("rw", "999", "1777", ""):
            self.assertIn(f"'{mode}'", self.refused("node", "--mode", mode))

    def test_reports_are_private_unless_a_mode_is_given(self):
        with harness.scratch() as folder:
            before = os.umask(0)
            for name, more in (("private", ()), ("shared", ("--mode", "644"))):
                run("doctor", "--json", f"{folder}/{name}", *more)
            os.umask(before)
            modes = {name: os.stat(f"{folder}/{name}").st_mode & 0o7777
                     for name in os.listdir(folder)}
        self.assertEqual(modes, {"private": 0o600, "shared": 0o644})

    def test_hosts_without_number_are_refused_as_one(self):
        for hosts in ("n[1-999999999]", "n[1-65536],m[1-65536]", "r[1-999]n[1-999]", "n[2-1]", "n[1"):
            self.assertLess(len(self.refused("hosts", hosts).splitlines()), 4)
            self.assertLess(len(self.refused("doctor", "--hosts", hosts).splitlines()), 4)

    def test_hosts_of_other_schedulers(self):
        """PBS's $PBS_NODEFILE has a line for each rank, LSF's $LSB_HOSTS a word; MPI's hostfiles have slots."""
        with harness.scratch() as folder:
            for name, text in (("pbs", "n0\nn0\nn1\n"), ("mpi", "n0 slots=8 max_slots=9  # x\n\nn1:4\n"),
                               ("bare", "# nodes\nn[0-1]\n"), ("ssh", "#!/bin/sh\nexit 255\n")):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
                    file.write(text)
            os.chmod(f"{folder}/ssh", 0o755)
            for words in ([f"@{folder}/pbs"], [f"@{folder}/mpi"], [f"@{folder}/bare"], ["n0", "n0", "n1"],
                          ["n0 n0 n1"], ["n0,n1"], ["n[0-1]"]):
                report = json.loads(run("hosts", *words, "--ssh", f"{folder}/ssh", "--json", "-").stdout)
                self.assertEqual(report["job"]["hosts"], ["n0", "n1"], words)
            self.assertEqual(run("hosts", f"@{folder}/nosuch").returncode, harness.NOTHING_READ)

    def test_what_others_named_does_not_reach_a_terminal_raw(self):
        for command in (("report",), ("fr",), ("core",), ("hosts",), ("node", "--"), ("job",),
                        ("no-such-command",), ("node", "--timeout"), ("report", "--no-such-option")):
            result = run(*command, HOSTILE)
            with self.subTest(command=command, stderr=result.stderr):
                self.assertNotEqual(result.returncode, 0)
                self.check_plain(result.stdout + result.stderr)

    def test_what_slurm_and_ssh_say_does_not_reach_a_terminal_raw(self):
        with harness.scratch() as folder:
            for name in ("scontrol", "squeue", "sinfo", "srun", "sacct", "ssh"):
                with open(f"{folder}/{name}", "w", encoding="utf-8") as program:
                    program.write("#!/bin/sh\ncat \"$0.says\"; cat \"$0.says\" >&2; exit 1\n")
                os.chmod(f"{folder}/{name}", 0o755)
                with open(f"{folder}/{name}.says", "w", encoding="utf-8") as said:
                    said.write(f"{name}: error: {HOSTILE}\n")
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
            for command in (("job", "7"), ("doctor", "--job", "7"), ("hosts", "n0"),
                            ("doctor", "--hosts", "n0")):
                result = subprocess.run([harness.Options.oddrank, *command], stdin=subprocess.DEVNULL,
                                        capture_output=True, timeout=60, check=False, env=environment)
                text = (result.stdout + result.stderr).decode("utf-8")
                with self.subTest(command=command, text=text):
                    self.assertNotEqual(result.returncode, 0)
                    self.check_plain(text)

    def check_plain(self, text):
        self.assertFalse([c for c in text if ord(c) < 32 and c not in "\t\n"], text)
        for unseen in "\x7f\x9b\u202e\u2066\u2028":
            self.assertNotIn(unseen, text)
        # A line of its own would look like another message.
        self.assertFalse([row for row in text.splitlines()
                          if row.startswith("oddrank: error: FORGED")], text)

    def test_an_unknown_command_or_option_is_refused(self):
        self.assertIn("oddrank --help", self.refused("nodes"))
        for command in commands():
            self.refused(command, "--no-such-option")

    def test_without_a_command_it_says_what_to_type(self):
        said = self.refused()
        self.assertIn("oddrank --help", said)
        variables = {**os.environ, "SLURM_JOB_ID": "4711; rm x"}
        inside = subprocess.run([harness.Options.oddrank], stdin=subprocess.DEVNULL, env=variables,
                                capture_output=True, text=True, timeout=60, check=False)
        self.assertIn("oddrank job '4711; rm x'", inside.stderr)
        rank = {**os.environ, "RANK": "0", "WORLD_SIZE": "1", "MASTER_PORT": str(os.getpid())}
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, env=rank) as process:
            proc_facts.wait_until(lambda: "oddrank node" in self.refused(), "the rank is found")
            process.stdin.close()

    def test_verbose_says_what_is_being_done(self):
        with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            told = {flag: run("node", str(process.pid), flag, "--interval", "10ms").stderr
                    for flag in ("-q", "-v", "-vv")}
            process.stdin.close()
        self.assertEqual(told["-q"], "")
        for step in ("found 1 rank", "sample 2", "recorders, dumps, logs and devices"):
            self.assertRegex(told["-v"], rf"oddrank: {step}: \d+ ms")
        reason = f"pid {process.pid} (cat) is read; it has no rank"
        self.assertNotIn(reason, told["-v"])
        self.assertIn(reason, told["-vv"])

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
