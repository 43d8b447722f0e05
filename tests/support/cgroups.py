"""Starts ranks in cgroups of their own, to test the limits of a cgroup."""

import contextlib
import os
import subprocess
import sys
import unittest

import harness
import proc_facts


def mounts():
    """Yields (folder, type, options) of each mount."""
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, folder, kind, options, *_ = line.split()
            yield folder, kind, options.split(",")


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def remove(folder):
    """Removes the cgroup. A killed process counts as a member for the kernel until its very end."""
    def gone():
        with contextlib.suppress(OSError):
            os.rmdir(folder)
        return not os.path.exists(folder)
    proc_facts.wait_until(gone, f"{folder} is removed")


class CgroupTest(unittest.TestCase):
    def make(self, wanted):
        """Makes a cgroup below the first mount for which `wanted` returns a file that the cgroup then has."""
        for folder, kind, options in mounts():
            file = wanted(kind, options)
            path = f"{folder}/oddrank-test-{os.getpid()}"
            try:
                if file:
                    os.mkdir(path)
                    self.addCleanup(remove, path)
                    if os.path.exists(f"{path}/{file}"):
                        return f"{path}/{file}"
            except OSError:
                continue
        return self.skipTest("no cgroup of the kind can be made here")

    def start(self, program, folder):
        process = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, start_new_session=True,
                                   preexec_fn=lambda: write(f"{folder}/cgroup.procs", os.getpid()),
                                   env=dict(os.environ, RANK="0", WORLD_SIZE="1"))
        self.addCleanup(self.end, process, folder)
        line = process.stdout.readline().split()
        self.assertEqual(line[:1], [b"ready"])
        self.child = int(line[1]) if len(line) > 1 else 0
        return process.pid

    def end(self, process, folder):
        os.killpg(process.pid, 9)
        process.wait(60)
        process.stdout.close()
        proc_facts.wait_until(lambda: not read(f"{folder}/cgroup.procs"), "it left its cgroup")

    def diagnose(self, pid):
        return harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--json",
                                             "-", "-q"]))

    def check_stopped(self, pid, words):
        run = self.diagnose(pid)
        verdict = run.json()["verdict"]
        self.assertEqual(verdict["kind"], "stopped_rank", run)
        self.assertEqual([row["pid"] for row in verdict["culprits"]], [pid], run)
        self.assertIn(words, verdict["summary"], run)
