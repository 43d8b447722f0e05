#!/usr/bin/env python3
"""Runs `oddrank node` on a rank that the freezer of version 1 cgroups has frozen.

    freezer_test.py --oddrank PATH
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cgroups import CgroupTest, read, remove, write
from sleepers import SLEEP


class Freezer(CgroupTest):
    def check(self, folder, switch):
        """Starts a rank in `folder`, freezes it by `switch`, and checks the verdict."""
        pid = self.start(SLEEP, folder)
        self.addCleanup(write, switch, "THAWED")
        write(switch, "FROZEN")
        proc_facts.wait_until(lambda: read(f"{folder}/freezer.state") == "FROZEN\n", "it froze")
        self.check_stopped(pid, "frozen by its cgroup")

    def make_frozen(self):
        return self.make(lambda kind, options: "freezer.state" if kind == "cgroup" and
                         "freezer" in options else None)

    def test_its_own_cgroup(self):
        switch = self.make_frozen()
        self.check(os.path.dirname(switch), switch)

    def test_a_cgroup_above_its_own(self):
        switch = self.make_frozen()
        folder = os.path.join(os.path.dirname(switch), "job")
        os.mkdir(folder)
        self.addCleanup(remove, folder)
        self.check(folder, switch)


if __name__ == "__main__":
    harness.main()
