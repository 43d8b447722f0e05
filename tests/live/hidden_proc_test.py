#!/usr/bin/env python3
"""Tests what oddrank says where /proc hides processes, or is not there: that, and not that there is no rank.

    hidden_proc_test.py --oddrank PATH
"""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

# A user of whom no other test has processes.
NOBODY = "setpriv --reuid=61234 --regid=61234 --clear-groups --inh-caps=-all "


class HiddenProc(unittest.TestCase):
    def setUp(self):
        # Every user may run this copy, wherever the tree is.
        self.oddrank = shutil.copy(harness.Options.oddrank, self.enterContext(harness.scratch()))

    def run_where(self, mount, *words):
        """Runs oddrank in a mount namespace of its own, after the command `mount`."""
        script = f'{mount} && exec {" ".join(words)}'
        return harness.Run(subprocess.run(
            harness.unshare("sh", "-c", script), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=120, check=False))

    def test_hidepid(self):
        run = self.run_where("mount -t proc -o hidepid=2 proc /proc", NOBODY,
                             self.oddrank, "node")
        harness.check_trouble(self, run, "/proc hides the processes of other users", "hidepid=")
        self.assertNotIn("no rank of a training job", run.err)
        run = self.run_where("mount -t proc -o hidepid=2 proc /proc", NOBODY,
                             self.oddrank, "node", str(os.getpid()))
        harness.check_trouble(self, run, "or it is hidden")

    def test_root_sees_through_hidepid(self):
        run = self.run_where("mount -t proc -o hidepid=2 proc /proc", self.oddrank,
                             "node", str(os.getpid()))
        self.assertNotIn("hidden", run.err, run)

    def test_no_proc(self):
        for mount in ("mount -t tmpfs none /proc", "umount -l /proc"):
            run = self.run_where(mount, self.oddrank, "node")
            harness.check_trouble(self, run, "/proc is not")


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
