#!/usr/bin/env python3
"""`--via`: agents are started by a command of the user's. Programs in the place of a remote shell and of a
scheduler's own means run the real agent here, beside a rank; one host is not reached.

    via_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import training_job

JOB = f"127.0.0.1:via{os.getpid()}"
# REMOTE OPTION HOST WORD...: as rsh, ssh and blaunch do, joins the words for a shell.
REMOTE = """#!/bin/sh
[ "$1" = "an option" ] || exit 9
[ "$2" != n9 ] || { echo "remote: n9 is not a host of this job" >&2; exit 68; }
shift 2
exec /bin/sh -c "$*"
"""
# START -r HOST PROGRAM WORD...: as flux exec does, starts the program without a shell.
START = """#!/usr/bin/python3
import os, sys
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    sys.exit((print("start:", error.strerror, file=sys.stderr), 127)[1])
"""


class Via(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        for name, text in (("remote", REMOTE), ("start", START)):
            with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(f"{self.folder}/{name}", 0o755)
        self.remote = f"{self.folder}/remote 'an option' {{host}}"
        self.start = f"{self.folder}/start -r {{host}}"
        self.rank = training_job.sleeping_rank(self, JOB)

    def ask(self, via, *words, command="hosts"):
        more = ("--select", JOB) if command == "hosts" else ()
        return harness.Run(harness.run_here([harness.Options.oddrank, command, *words, "--via", via,
                                             "--json", "-", *more, *harness.PATIENTLY]))

    def check_rank(self, run):
        self.assertEqual(run.status, 0, run)
        report = run.json()
        self.assertEqual(report["job"]["hosts"], ["n0"], run)
        self.assertEqual([row["pid"] for row in report["ranks"]], [self.rank.pid], run)

    def test_commands_with_a_shell_and_without(self):
        self.check_rank(self.ask(self.remote, "n0"))
        self.check_rank(self.ask(f"{self.start} sh -c", "n0"))

    def test_a_host_that_lacks_oddrank_is_sent_it(self):
        """The command's stdin is the program; to be run where it is, it lacks the permission."""
        program = f"{self.folder}/not executable"
        subprocess.run(["objcopy", "--strip-debug", harness.Options.oddrank, program], check=True, timeout=120)
        os.chmod(program, 0o600)
        self.check_rank(self.ask(self.remote, "n0", "--agent", program))

    def test_a_host_that_is_not_reached_is_a_row_that_says_how_to_try(self):
        run = self.ask(self.remote, "n0,n9")
        self.assertEqual(run.status, harness.PARTIAL, run)
        (note,) = [note for note in run.json()["notes"] if "gave no answer" in note]
        self.assertEqual(note, f"n9 gave no answer: {self.folder}/remote exited with status 68 and started no agent "
                               "(remote: n9 is not a host of this job); "
                               f"try: {self.folder}/remote 'an option' n9 true")
        run = self.ask(self.start, "n0")
        self.assertEqual(run.status, harness.NOTHING_READ, run)
        self.assertIn("end --via with sh -c", run.out)

    def test_doctor(self):
        run = self.ask(self.remote, "--hosts", "n0", command="doctor")
        (row,) = run.json()["nodes"]
        self.assertEqual(row["host"], "n0", run)
        self.assertNotEqual(run.status, harness.NOTHING_READ, run)

    def test_what_cannot_be_run_is_refused(self):
        for via, host, words in (("ssh n0", "n0", ("{host}",)), ("ssh '{host}", "n0", ("quote",)),
                                 ("ssh {host}", "n0;id", ("not a host name",))):
            harness.check_trouble(self, self.ask(via, host), *words, status=2)
        harness.check_trouble(self, self.ask("/no/such {host}", "n0"), "/no/such not found", "--via")


if __name__ == "__main__":
    harness.main()
