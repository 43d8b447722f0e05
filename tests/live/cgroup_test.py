#!/usr/bin/env python3
"""`oddrank node` on a rank whose cgroup is frozen, and on one whose cgroup lost a process for lack
of memory.

    cgroup_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

SLEEP = "import time; print('ready', flush=True); time.sleep(3600)"
# The child takes more than the cgroup may have; it is the one to be killed.
EAT = """
import os, time
child = os.fork()
if child == 0:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    hoard = b"x" * (256 << 20)
    time.sleep(3600)
os.waitpid(child, 0)
print("ready", flush=True)
time.sleep(3600)
"""
LIMIT = 64 << 20


def mounts():
    """(folder, type, options) of each mount."""
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, folder, kind, options, *_ = line.split()
            yield folder, kind, options.split(",")


def swap_bytes():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("SwapTotal:"))


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Cgroups(unittest.TestCase):
    def make(self, wanted):
        """A cgroup of ours below the first mount that `wanted` likes and that has its file."""
        for folder, kind, options in mounts():
            file = wanted(kind, options)
            path = f"{folder}/oddrank-test-{os.getpid()}"
            try:
                if file:
                    os.mkdir(path)
                    self.addCleanup(os.rmdir, path)
                    if os.path.exists(f"{path}/{file}"):
                        return f"{path}/{file}"
            except OSError:
                continue
        return self.skipTest("no cgroup can be made here that freezes or limits memory")

    def start(self, program, folder):
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=lambda: write(f"{folder}/cgroup.procs", os.getpid()),
                                   env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
        self.addCleanup(self.end, process, folder)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process.pid

    def end(self, process, folder):
        os.killpg(process.pid, 9)
        process.wait(20)
        process.stdout.close()
        proc_facts.wait_until(lambda: not read(f"{folder}/cgroup.procs"), "it left its cgroup", 20)

    def diagnose(self, pid):
        return harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--json",
                                             "-", "-q"]))

    def test_a_frozen_cgroup(self):
        switch = self.make(lambda kind, options: "cgroup.freeze" if kind == "cgroup2" else None)
        folder = os.path.dirname(switch)
        pid = self.start(SLEEP, folder)
        write(switch, 1)
        self.addCleanup(write, switch, 0)
        proc_facts.wait_until(lambda: "frozen 1" in read(f"{folder}/cgroup.events"), "it froze", 20)
        run = self.diagnose(pid)
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], "stopped_rank", run)
        self.assertEqual([row["pid"] for row in verdict["culprits"]], [pid], run)
        self.assertIn("frozen by its cgroup", verdict["summary"], run)

    def test_a_process_that_was_killed_for_lack_of_memory(self):
        if swap_bytes() > 0:
            self.skipTest("with swap nobody is killed")
        limit = self.make(lambda kind, options: "memory.max" if kind == "cgroup2" else
                          "memory.limit_in_bytes" if "memory" in options else None)
        write(limit, LIMIT)
        pid = self.start(EAT, os.path.dirname(limit))
        run = self.diagnose(pid)
        name = os.path.basename(os.path.dirname(limit))
        self.assertRegex(str(run.json()["notes"]),
                         f"1 process of cgroup /.*{name} was killed for lack of memory")


if __name__ == "__main__":
    harness.main()
