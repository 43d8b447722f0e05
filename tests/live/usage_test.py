#!/usr/bin/env python3
"""Tests the answer to a mistyped command: exit status 2, nothing on stdout, and an error that fits
a screen.

    usage_test.py --oddrank PATH
"""

import json
import os
import re
import shutil
import signal
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

    def test_a_likely_mistake_is_told_the_right_form(self):
        for words, hint in (
                (("4711",), "oddrank node 4711 shows the stacks of that process"),
                (("-p", "4711"), "oddrank node 4711"), (("node", "-p", "4711"), "oddrank node 4711"),
                (("node", "--pid=4711"), "oddrank node 4711"), (("node", "-p4711"), "oddrank node 4711"),
                (("node", "1", "--jsn", "-"), "did you mean --json?"),
                (("node", "--all-thread"), "did you mean --all-threads?"),
                (("report", "x", "--htlm=y"), "did you mean --html?"),
                (("node", "--sample=2"), "did you mean --samples?"),
                (("fr",), "for example: oddrank fr "),
                (("report",), "for example: oddrank report out.odd\n")):
            self.assertIn(f"\n  hint: {hint}" if hint[0] != "o" else hint, self.refused(*words))

    def test_a_number_out_of_range_is_told_once(self):
        self.assertIn("oddrank: error: --locals: '9' is not a number from 0 to 8\n",
                      self.refused("node", "1", "--locals=9"))

    def test_what_is_no_capture_is_told_its_command(self):
        with harness.scratch() as folder:
            with open(f"{folder}/core", "wb") as file:
                file.write(b"\x7fELF\2\1\1" + bytes(9) + b"\4\0" + bytes(100))
            with open(f"{folder}/json", "w", encoding="utf-8") as file:
                file.write("{}")
            for path, hint in ((f"{folder}/core", "oddrank core reads core files"),
                               (f"{folder}/json", "oddrank report reads what --save writes"),
                               ("4711", "oddrank node 4711 shows")):
                result = run("report", path)
                self.assertEqual(result.returncode, harness.NOTHING_READ)
                self.assertRegex(result.stderr, rf"\n  hint: .*{hint}")

    def test_of_many_files_some_are_named_and_the_others_counted(self):
        with harness.scratch() as folder:
            for number in range(25):
                with open(f"{folder}/{number:02}", "w", encoding="utf-8") as file:
                    file.write("nothing")
            for command in ("report", "fr"):
                said = run(command, folder).stderr
                self.assertEqual(len(re.findall(rf"error: {folder}/\d\d: ", said)), 10, said)
                self.assertIn("oddrank: error: and 15 more files could not be read\n", said)

    def test_an_output_that_cannot_be_written_is_wrong_usage(self):
        """1 is a fault of oddrank."""
        self.assertIn("nothing has been read yet", self.refused("node", "1", "--json", "/no/such/folder"))

    def test_a_pid_that_does_not_exist_is_a_row(self):
        with subprocess.Popen(["sleep", "1000"]) as live, subprocess.Popen(["true"]) as gone:
            try:
                gone.wait(60)
                proc_facts.wait_until(lambda: proc_facts.asleep(live.pid), "it sleeps")
                result = run("node", str(live.pid), str(gone.pid), "--samples", "1")
                self.assertEqual(result.returncode, harness.PARTIAL, result)
                self.assertIn("\n1/2 processes on 1/1 nodes", result.stdout)
                self.assertRegex(result.stdout, rf"(?m)^not read: +pid {gone.pid} \(.*\): cannot read pid "
                                                rf"{gone.pid}: it does not exist")
                report = json.loads(run("node", str(live.pid), str(gone.pid), "--samples", "1", "--json",
                                        "-").stdout)
                unread, = report["coverage"]["unread"]
                self.assertEqual((unread["rank"], unread["pid"], unread["partial"]), (None, gone.pid, False))
            finally:
                live.kill()

    def test_states_are_words(self):
        with subprocess.Popen(["sleep", "1000"]) as process:
            try:
                proc_facts.wait_until(lambda: proc_facts.asleep(process.pid), "it sleeps")
                said = run("node", str(process.pid), "--samples", "1").stdout
                self.assertRegex(said, rf'no Python found, sleeping, 1 thread;(?s:.*)\nThread {process.pid} "sleep" '
                                       r"\(sleeping\) in (clock_)?nanosleep\(\)")
                process.send_signal(signal.SIGSTOP)
                proc_facts.wait_until(lambda: proc_facts.state(process.pid) == "T", "it is stopped")
                said = run("node", str(process.pid), "--samples", "1").stdout
                self.assertRegex(said, rf'\nThread {process.pid} "sleep" \(stopped( for \d+ s)?\) '
                                       "is stopped by SIGSTOP or job control\n")
            finally:
                process.kill()

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
                self.assertNotIn("{", result.stdout.replace("{host}", ""))  # what --via replaces
                self.assertLess(max(map(len, result.stdout.splitlines())), MAX_LINE)

    def test_as_a_plugin_of_kubectl(self):
        """By that name it is `oddrank kube`; a real kubectl starts it if one is at hand."""
        with harness.scratch() as folder:
            os.symlink(os.path.abspath(harness.Options.oddrank), f"{folder}/kubectl-oddrank")
            with open(f"{folder}/kubectl", "w", encoding="utf-8") as fake:
                fake.write(f'#!/bin/sh\necho "$@" >{folder}/words\n'
                           "echo 'Error from server (Forbidden): pods is forbidden' >&2\nexit 1\n")
            os.chmod(fake.name, 0o755)
            real = shutil.which("kubectl")
            for way in ([f"{folder}/kubectl-oddrank"], *([[real, "oddrank"]] if real else [])):
                def plugin(*words, way=way):
                    return harness.Run(harness.run_here(
                        [*way, *words], env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}))
                with self.subTest(way=way):
                    harness.check_trouble(self, plugin("llama", "-n", "train"), "forbidden", "pods/exec")
                    with open(f"{folder}/words", encoding="utf-8") as words:
                        self.assertRegex(words.read(), "^--namespace train get pods ")
                    harness.check_trouble(self, plugin(), "either a job or", status=2)
                    self.assertIn("oddrank ", plugin("--version").out)


if __name__ == "__main__":
    harness.main()
