#!/usr/bin/env python3
"""Tests `oddrank agent` as other tools start it: it always exits, whatever happens to them.

    agent_test.py --oddrank PATH
"""

import fcntl
import os
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

PIPE_BUFFER = 4096
WRITE_TO_STDOUT = (1, 1)  # system call and descriptor


class AgentTest(unittest.TestCase):
    def test_who_is_never_read_ends_all_the_same(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BUFFER)
        os.write(writer, b"x" * PIPE_BUFFER)  # the pipe is full
        started = time.monotonic()
        agent = subprocess.Popen(
            [harness.Options.oddrank, "agent", "--framed", "--timeout", "1s",
             "--samples", "2"],
            stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL)
        os.close(writer)
        self.addCleanup(agent.wait, 60)
        self.addCleanup(agent.kill)
        proc_facts.wait_until(lambda: proc_facts.syscall(agent.pid) == WRITE_TO_STDOUT
                              or agent.poll() is not None, "it waits for its reader")
        self.assertEqual(agent.wait(60), -signal.SIGALRM)
        # Not before any reader that may still wait has given up.
        self.assertGreater(time.monotonic() - started, 5)


if __name__ == "__main__":
    harness.main()
