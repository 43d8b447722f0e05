#!/usr/bin/env python3
"""Tests the man pages with mandoc, and the completion scripts in real shells.

    manual_test.py --oddrank PATH
"""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

DEADLINE_S = 60
MANDOC, FISH, ZSH = (shutil.which(name) for name in ("mandoc", "fish", "zsh"))
ENTERED = "answered-by-the-shell"
EDITS = "\x1b[?2004h"  # what zsh writes once it reads a line
# An interactive bash finds what a line would be completed to.
BASH = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_oddrank
printf '%s\\n' "${COMPREPLY[@]}"
"""


def oddrank(*arguments):
    run = subprocess.run([harness.Options.oddrank, *arguments], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=DEADLINE_S, check=True)
    return run.stdout


def commands():
    """Returns the commands with their options, as the help lists them."""
    listed = oddrank("--help").partition("Subcommands:")[2].partition("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if line[:3].strip()]
    return {name: [word.split(",")[-1] for word in oddrank(name, "--help").split()
                   if word.split(",")[-1].startswith("--") and word.split(",")[-1][2:]]
            for name in names}


class ManPages(unittest.TestCase):
    @harness.only_with(MANDOC)
    def test_mandoc_has_nothing_to_say_of_any_page(self):
        for name in ("", *commands()):
            page = oddrank("man", *([name] if name else []))
            said = subprocess.run([MANDOC, "-Tlint", "-Wwarning"], input=page, capture_output=True,
                                  text=True, timeout=DEADLINE_S, check=False).stdout
            unexpected = [line for line in said.splitlines() if "missing date" not in line]
            self.assertEqual(unexpected, [], name)

    @harness.only_with(MANDOC)
    def test_a_page_shows_all_that_the_help_does(self):
        for name, options in commands().items():
            shown = subprocess.run([MANDOC, "-Tascii", "-Owidth=200"], input=oddrank("man", name),
                                   capture_output=True, text=True, timeout=DEADLINE_S,
                                   check=True).stdout
            text = "".join(shown[at] for at in range(len(shown))
                           if shown[at] != "\b" and shown[at + 1:at + 2] != "\b")
            for option in options:
                self.assertIn(option, text, name)
            words = " ".join(text.split())
            examples = oddrank(name, "--help").partition("Examples:\n")[2].split("\n\n")[0]
            for example in examples.splitlines():
                self.assertIn(" ".join(example.split()), words, name)

    def test_an_unknown_command_has_no_page(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "man", "nodes"]))
        harness.check_trouble(self, run, "'nodes'", status=2)


class Shell(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        os.symlink(os.path.abspath(harness.Options.oddrank), f"{self.folder}/oddrank")
        os.mkdir(f"{self.folder}/captures")
        with open(f"{self.folder}/captured.odd", "w", encoding="utf-8"):
            pass
        self.env = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "LANG": "C",
                    "HOME": self.folder, "TERM": "dumb", "PS1": "", "RANK": ""}

    def script(self, shell):
        path = f"{self.folder}/completion.{shell}"
        with open(path, "w", encoding="utf-8") as file:
            file.write(oddrank("completion", shell))
        return path

    def rank(self):
        """Starts a process that is a rank, and returns its pid."""
        process = subprocess.Popen(
            [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**self.env, "RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "5",
                 "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(os.getpid())})
        self.addCleanup(process.wait, DEADLINE_S)
        self.addCleanup(process.stdin.close)
        self.assertTrue(process.stdout.readline())
        self.addCleanup(process.stdout.close)
        return str(process.pid)

    def check(self, complete):
        """`complete` returns the words that the shell offers for a line."""
        self.assertIn("node", complete("no"))
        self.assertIn("report", complete(""))
        self.assertIn("--version", complete("--v"))
        self.assertIn("--json", complete("job", "--j"))
        self.assertNotIn("--json", complete("agent", "--j"))
        self.assertIn("captured.odd", complete("report", "capt"))
        self.assertIn("captured.odd", complete("job", "4711", "--save", "capt"))
        self.assertNotIn("captured.odd", complete("job", "--shared", "capt"))
        self.assertTrue({"captures", "captures/"} & set(complete("job", "--shared", "capt")))
        pid = self.rank()
        self.assertIn(pid, complete("node", pid[:-1]))

    def test_bash(self):
        script = self.script("bash")

        def complete(*words):
            run = subprocess.run(["bash", "--norc", "-c", BASH, "bash", script, "oddrank", *words],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=DEADLINE_S, env=self.env, cwd=self.folder, check=True)
            self.assertEqual(run.stderr, "")
            return run.stdout.split()
        self.check(complete)
        self.assertIn("captured.odd", complete("watch", "--", "python3", "capt"))
        self.assertIn("python3", complete("watch", "--", "python"))

    @harness.only_with(FISH)
    def test_fish(self):
        script = self.script("fish")

        def complete(*words):
            line = "oddrank " + " ".join(words)
            run = subprocess.run([FISH, "--no-config", "-c", f"source {script}; complete -C '{line}'"],
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                 timeout=DEADLINE_S, env=self.env, cwd=self.folder, check=True)
            self.assertEqual(run.stderr, "")
            return [row.split("\t")[0] for row in run.stdout.splitlines()]
        self.check(complete)

    @harness.only_with(ZSH)
    def test_zsh(self):
        script = self.script("zsh")

        def complete(*words):
            master, slave = pty.openpty()
            with subprocess.Popen([ZSH, "-f", "-i"], stdin=slave, stdout=slave, stderr=slave,
                                  env=self.env, cwd=self.folder, close_fds=True,
                                  start_new_session=True) as shell:
                os.close(slave)
                setup = ("PROMPT=; autoload -U compinit; compinit -u -D; zstyle ':completion:*' "
                         f"list-prompt ''; LISTMAX=10000; stty -echo; source {script}; "
                         f"print {ENTERED[:5]}''{ENTERED[5:]}\n")
                os.write(master, setup.encode())
                self.read_until(master, ENTERED, EDITS)
                # ^D lists what TAB would complete to; then the line is cleared, and the shell left.
                os.write(master, f"oddrank {' '.join(words)}\x04".encode())
                os.write(master, f"\x15print {ENTERED[:5]}''{ENTERED[5:]}; exit\n".encode())
                said = self.read_until(master, ENTERED)
                shell.wait(DEADLINE_S)
            os.close(master)
            return said.replace(f"oddrank {' '.join(words)}", "", 1).split()
        self.check(complete)

    def read_until(self, terminal, word, then=""):
        said = ""
        ends = time.monotonic() + DEADLINE_S
        while word not in said or then not in said.partition(word)[2]:
            self.assertGreater(ends, time.monotonic(), said)
            if select.select([terminal], [], [], 1)[0]:
                try:
                    said += os.read(terminal, 65536).decode(errors="replace")
                except OSError:  # the shell has ended
                    break
        return said

    def test_an_unknown_shell_is_named(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "completion", "tcsh"]))
        harness.check_trouble(self, run, "'tcsh'", "bash, zsh", status=2)


if __name__ == "__main__":
    harness.main()
