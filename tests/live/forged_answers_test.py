#!/usr/bin/env python3
"""Tests that a host cannot speak for another one: a program in ssh's place lets n0 answer, in sound frames
of its own and with the word of this run, with a capture that says that it is from n1.

    forged_answers_test.py --oddrank PATH
"""

import base64
import json
import os
import subprocess
import sys
import unittest
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

CHUNK = 400
PORT = "29537"  # of no other test
JOB = f"127.0.0.1:{PORT}"
SSH = """#!/bin/sh
# ssh OPTIONS -- HOST COMMAND
while [ "$1" != -- ]; do shift; done
exec {python} {me} --as "$2" "$3"
"""


def frames(host, run, payload):
    """Returns the lines of an agent that answers with these bytes (reach/wire/frames.h)."""
    text = base64.b64encode(payload).decode()
    pieces = [text[at:at + CHUNK] for at in range(0, len(text), CHUNK)]
    lines = []
    for number, piece in enumerate(pieces):
        words = f"{host} {run} 1234567890abcdef {number}/{len(pieces)}"
        check = zlib.crc32(f"{words} {piece}".encode())
        lines.append(f"@odd2 {words} {check:08x} {piece}.")
    return "\n".join(lines) + "\n"


def answer(host, command):
    """What a host does: n0 sends a capture of n1, others what they were asked for."""
    if host != "n0":
        os.execv("/bin/sh", ["/bin/sh", "-c", command])
    words = command.replace("'", " ").split()
    oddrank, run = words[words.index("agent") - 1], words[words.index("--run") + 1]
    file = f"{os.environ['FORGED']}/capture"
    subprocess.run([oddrank, "agent", "--host", "n1", "--select", JOB, "--out", file], check=False, timeout=60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with open(file, "rb") as capture:
        sys.stdout.write(frames(host, run, capture.read()))


class ForgedAnswers(unittest.TestCase):
    def test_a_capture_of_another_host_is_refused_and_said(self):
        with harness.scratch() as folder:
            program = f"{folder}/ssh"
            with open(program, "w", encoding="utf-8") as file:
                file.write(SSH.format(python=sys.executable, me=os.path.abspath(__file__)))
            os.chmod(program, 0o755)
            with subprocess.Popen(["sleep", "1000"],
                                  env={**os.environ, "RANK": "0", "WORLD_SIZE": "1",
                                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": PORT}) as rank:
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "hosts", "n0,n1", "--ssh", program, "--json", f"{folder}/json",
                     "--select", JOB, *harness.PATIENTLY], env={**os.environ, "FORGED": folder}))
                rank.kill()
            with open(f"{folder}/json", encoding="utf-8") as file:
                report = json.load(file)
        self.assertIn("n0 gave no answer: its answer claims to be from n1, and is not used", run.out, run)
        # n1 itself was read.
        read = {row["host"] for row in report["ranks"] if row["threads"]}
        self.assertEqual(read, {"n1"}, run)


if __name__ == "__main__":
    if "--as" in sys.argv:
        answer(*sys.argv[sys.argv.index("--as") + 1:])
    else:
        harness.main()
