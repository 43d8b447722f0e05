#!/usr/bin/env python3
"""Runs `oddrank node` on ranks that the kernel or the node keeps from running: stopped, frozen, without
CPU, memory or shared memory.

    cgroup_test.py --oddrank PATH
"""

import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cgroups import CgroupTest, read, write
from sleepers import SLEEP, SPIN

# The child takes more memory than the cgroup may have, and is the process that is killed.
EAT = """
import os, time
child = os.fork()
if child == 0:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    hoard = b"x" * (256 << 20)
    time.sleep(3600)
os.waitpid(child, 0)
print("ready", child, flush=True)
time.sleep(3600)
"""
LIMIT = 64 << 20


def swap_bytes():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("SwapTotal:"))


def in_container():
    """Returns whether we are in a pid namespace, so that the kernel's log has other pids than we do."""
    return os.readlink("/proc/self/ns/pid") != "pid:[4026531836]"


class Cgroups(CgroupTest):
    def test_a_frozen_cgroup(self):
        switch = self.make(lambda kind, options: "cgroup.freeze" if kind == "cgroup2" else None)
        folder = os.path.dirname(switch)
        pid = self.start(SLEEP, folder)
        write(switch, 1)
        self.addCleanup(write, switch, 0)
        proc_facts.wait_until(lambda: "frozen 1" in read(f"{folder}/cgroup.events"), "it froze")
        self.check_stopped(pid, "frozen by its cgroup")

    def test_a_stopped_process(self):
        process = subprocess.Popen([sys.executable, "-c", SLEEP], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, env=dict(os.environ, RANK="0",
                                                                    WORLD_SIZE="1"))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        process.send_signal(signal.SIGSTOP)
        proc_facts.wait_until(lambda: proc_facts.state(process.pid) == "T", "it stopped")
        self.check_stopped(process.pid, "stopped")

    def test_cpu_that_is_withheld(self):
        limit = self.make(lambda kind, options: "cpu.max" if kind == "cgroup2" else
                          "cpu.cfs_quota_us" if "cpu" in options else None)
        folder = os.path.dirname(limit)
        write(limit, "1000 10000" if limit.endswith("max") else "1000")
        pid = self.start(SPIN, folder)

        def throttled():
            rows = dict(line.split() for line in read(f"{folder}/cpu.stat").splitlines())
            return int(rows["nr_throttled"]) >= 5
        proc_facts.wait_until(throttled, "it was throttled")
        run = self.diagnose(pid)
        self.assertRegex(str(run.json()["notes"]),
                         rf"cgroup /.*{os.path.basename(folder)} got no more CPU in \d+ of \d+")

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
        if os.access("/dev/kmsg", os.R_OK) and not in_container():
            self.assertIn(f"pid {self.child} (python3) was killed for lack of memory",
                          str(run.json()["notes"]))

    def check_full(self, folder, options, command, words):
        """Checks the note of a process whose folder is a file system of its own, and full."""
        fill = f"mount -t tmpfs -o {options} tmpfs {folder} || exit 3; {command}; exec \"$0\" -c \"$1\""
        process = subprocess.Popen(harness.unshare("sh", "-c", fill, sys.executable, SLEEP),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.kill)
        if process.stdout.readline() != b"ready\n":
            self.skipTest("no mount namespace of its own is permitted here")
        run = self.diagnose(process.pid)
        self.assertIn(f"{folder} of pid {process.pid} is {words}", str(run.json()["notes"]), run)

    def test_shared_memory_that_is_full(self):
        self.check_full("/dev/shm", "size=1m", "head -c 1040000 /dev/zero > /dev/shm/full",
                        "99% full (of 1 MiB)")

    def test_disks_that_are_full(self):
        self.check_full("/var/tmp", "size=1m", "head -c 1040000 /dev/zero > /var/tmp/full",
                        "99% full (of 1 MiB)")
        self.check_full("/var/tmp", "size=1m,nr_inodes=2", "touch /var/tmp/one", "out of inodes")


if __name__ == "__main__":
    harness.main()
