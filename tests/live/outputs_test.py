#!/usr/bin/env python3
"""Tests files that cannot be written: a full disk, a limit on the size of files, pipes. The answer is an
error with its reason, exit status 1, the file as it was before, and nothing else in the folder.

    outputs_test.py --oddrank PATH
"""

import fcntl
import json
import os
import pty
import resource
import struct
import subprocess
import sys
import termios
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

OPTIONS = ("--json", "--html", "--save", "--folded", "--speedscope", "--dot")
TOOL_FAULT = 1
WRONG_USAGE = 2  # known before anything is read
# Each place to write to, once with the old file and once without.
FULL_DISK = """
mount -t tmpfs -o size=64k none "$1" && head -c 1000000 /dev/zero > "$1/filler" 2>/dev/null
[ -z "$5" ] || { rm "$1/filler"; echo old > "$1/file"; head -c 1000000 /dev/zero > "$1/filler" 2>/dev/null; }
"$2" report "$3" "$4" "$1/file" -q
echo "status $?"
ls -A "$1"
[ -z "$5" ] || cat "$1/file"
"""


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        self.capture = f"{self.folder}/capture"
        with subprocess.Popen(["sleep", "1000"],
                              env={**os.environ, "RANK": "0", "WORLD_SIZE": "1"}) as process:
            run = self.oddrank("node", str(process.pid), "--samples", "1", "--save", self.capture)
            process.kill()
        self.assertEqual(run.status, 0, run)

    @staticmethod
    def oddrank(*words, **more):
        return harness.Run(subprocess.run(
            [harness.Options.oddrank, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=120, check=False, **more))

    def test_the_width_of_the_terminal_is_used(self):
        capture = f"{os.path.dirname(HERE)}/golden/readme.capture"
        for columns, most in ((40, 60), (100, 100), (120, 120), (300, 140)):
            with self.subTest(columns=columns):
                ours, theirs = pty.openpty()
                fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
                with subprocess.Popen([harness.Options.oddrank, "report", capture], stdin=subprocess.DEVNULL,
                                      stdout=theirs, env={**os.environ, "NO_COLOR": "1"}):
                    os.close(theirs)
                    text = b""
                    try:
                        while piece := os.read(ours, 65536):
                            text += piece
                    except OSError:  # the other end is closed
                        pass
                os.close(ours)
                longest = max(map(len, text.decode().splitlines()))
                self.assertLessEqual(longest, most)
                self.assertGreater(longest, most - 12)

    def test_a_full_disk(self):
        place = f"{self.folder}/disk"
        os.mkdir(place)
        for option in OPTIONS:
            for old in ("", "old"):
                run = harness.Run(subprocess.run(
                    harness.unshare("sh", "-c", FULL_DISK, "sh", place, harness.Options.oddrank,
                                    self.capture, option, old),
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False))
                with self.subTest(option=option, old=old):
                    self.assertIn("no space left on device", run.err, run)
                    said = run.out.partition(f"status {WRONG_USAGE}\n")
                    self.assertTrue(said[1], run)
                    self.assertEqual(said[2].split(), ["file", "filler", "old"] if old else ["filler"], run)

    def test_a_limit_on_the_size_of_files(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        for option in OPTIONS:
            path = f"{self.folder}/limited"
            with open(path, "w", encoding="utf-8") as file:
                file.write("old")
            before = os.listdir(self.folder)
            run = self.oddrank("report", self.capture, option, path, "-q", preexec_fn=limit)
            with self.subTest(option=option):
                self.assertEqual(run.status, TOOL_FAULT, run)
                self.assertIn("file too large", run.err, run)
                self.assertEqual(os.listdir(self.folder), before)
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "old")

    def test_a_device_that_fails(self):
        run = self.oddrank("report", self.capture, "--json", "/dev/full", "-q")
        self.assertEqual(run.status, TOOL_FAULT, run)
        self.assertIn("no space left on device", run.err, run)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([harness.Options.oddrank, "report", self.capture], stdin=subprocess.DEVNULL,
                                    stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertEqual(result.returncode, TOOL_FAULT, result.stderr)
        self.assertIn("cannot write standard output", result.stderr)

    def test_a_pipe(self):
        """With a reader it gets all; without one it is refused, and neither waits for ever."""
        path = f"{self.folder}/pipe"
        os.mkfifo(path)
        run = self.oddrank("report", self.capture, "--json", path, "-q")
        self.assertEqual(run.status, TOOL_FAULT, run)
        self.assertIn("no process reads this pipe", run.err, run)
        got = []

        def read():
            with open(path, encoding="utf-8") as pipe:
                got.append(pipe.read())
        reader = threading.Thread(target=read)
        # The reader's end is open before oddrank looks, since it is opened without waiting.
        hold = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        reader.start()
        run = self.oddrank("report", self.capture, "--json", path, "-q")
        reader.join(60)
        os.close(hold)
        self.assertEqual(run.status, 0, run)
        self.assertEqual(json.loads(got[0])["job"]["source"], "node")


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
