#!/usr/bin/env python3
"""Runs `oddrank node` on a rank whose version 2 cgroup waits for memory.

    pressure_test.py --oddrank PATH
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cgroups import CgroupTest, read, write

LIMIT = 64 << 20
# Uses a little more memory than allowed, again and again.
THRASH = """
import mmap
print("ready", flush=True)
hoard = mmap.mmap(-1, 96 << 20)
while True:
    for at in range(0, len(hoard), 4096):
        hoard[at] = 1
"""


class Pressure(CgroupTest):
    def test_a_cgroup_that_waits_for_memory(self):
        limit = self.make(lambda kind, options: "memory.high" if kind == "cgroup2" else None)
        folder = os.path.dirname(limit)
        if not os.path.exists(f"{folder}/memory.pressure"):
            self.skipTest("this kernel keeps no account of pressure in cgroups")
        write(limit, LIMIT)
        pid = self.start(THRASH, folder)

        def pressed():
            text = read(f"{folder}/memory.pressure").splitlines()[1]
            return float(text.split("avg10=")[1].split()[0]) >= 20
        proc_facts.wait_until(pressed, "it waits for memory")
        run = self.diagnose(pid)
        self.assertRegex(str(run.json()["notes"]),
                         rf"cgroup /.*{os.path.basename(folder)} waited for memory in \d+%")


if __name__ == "__main__":
    harness.main()
