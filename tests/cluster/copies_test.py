#!/usr/bin/env python3
"""Runs `oddrank job` where nothing can be left or run: folders that nodes do not share, disks from which no
program may be run."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts
from harness import Options
from night_lab import NODES, NightLab

COPY = re.compile(r"oddrank-[0-9a-f]{16}$")


class CopiesTest(NightLab):
    def test_a_node_that_does_not_share_the_folder_for_answers(self):
        job = self.start_star()
        shared = f"{self.folder}/shared"
        os.mkdir(shared, 0o700)
        made = self.lab.node_exec("n1", ["mount", "-t", "tmpfs", "tmpfs", shared])
        self.assertEqual(made.returncode, 0, made)
        self.addCleanup(self.lab.node_exec, "n1", ["umount", shared])
        report = self.report(job, "--shared", shared)
        self.assertEqual(report["coverage"]["read"], 2, report)
        self.assertEqual(report["verdict"]["kind"], "io_stall", report)
        told = [note for note in report["notes"] if "--shared" in note]
        self.assertEqual(len(told), 1, report["notes"])
        self.assertTrue(told[0].startswith("n1: the folder of --shared is not shared by this node"), told)
        self.assertEqual(os.listdir(shared), [])

    def program_for_us_alone(self):
        """Returns the path of a copy that the nodes lack: they have a /dev/shm of their own."""
        folder = self.enterContext(tempfile.TemporaryDirectory(dir="/dev/shm", prefix="night-"))
        subprocess.run(["objcopy", "--strip-debug", Options.oddrank, f"{folder}/oddrank"],
                       check=True, timeout=120)
        return f"{folder}/oddrank"

    def forbid_programs(self, node, folder):
        made = self.lab.node_exec(node, ["sh", "-c", f"mount --bind {folder} {folder} && "
                                         f"mount -o remount,bind,noexec {folder}"])
        self.assertEqual(made.returncode, 0, made)
        self.addCleanup(self.lab.node_exec, node, ["umount", "-l", folder])

    def check_sent(self, program, job, words):
        """Checks the report, that it names the way of the copy, what the doctor says of it, and that
        nothing is left."""
        report = self.report(job, program=program)
        self.assertEqual(report["coverage"]["read"], 2, report)
        self.assertEqual(report["verdict"]["kind"], "io_stall", report)
        told = [note for note in report["notes"] if program in note]
        self.assertEqual(len(told), 1, report["notes"])
        self.assertIn(words, told[0])
        doctor = self.oddrank("doctor", "--job", job, program=program)
        self.assertEqual(doctor.status, 0, doctor)
        self.assertIn("program off (a copy in ", doctor.out)
        self.assertIn("program: put oddrank into a folder that all nodes share", doctor.out)
        for node in NODES:
            self.assertEqual(self.lab.node_exec(node, ["ls", "/dev/shm"]).stdout, "")
        # All nodes share /tmp with the tests that run beside this one.
        proc_facts.wait_until(lambda: not [name for name in os.listdir("/tmp") if COPY.match(name)],
                              "no copy is left in /tmp")

    def test_programs_may_not_be_run_from_tmp(self):
        """The copy goes into /dev/shm, and none stays in either folder."""
        job = self.start_star()
        for node in NODES:
            self.forbid_programs(node, "/tmp")
        self.check_sent(self.program_for_us_alone(), job, "n[0-1]: a copy was sent there, into /dev/shm")

    def test_programs_may_be_run_from_no_folder(self):
        """python3 runs it from memory. One node, since they share /tmp, where each deletes its copy."""
        job = self.start_star(nodes=1)
        for folder in ("/tmp", "/dev/shm"):
            self.forbid_programs("n0", folder)
        self.check_sent(self.program_for_us_alone(), job,
                        "n0: a copy was sent there, into /tmp, and run from memory")

    def test_programs_may_be_run_from_no_folder_and_python3_is_missing(self):
        """The reason is a row of the report, and the doctor says what would help."""
        job = self.start_star(nodes=1)
        program = self.program_for_us_alone()
        # Only what a client needs is in PATH, on the node as well.
        tools = self.enterContext(tempfile.TemporaryDirectory(prefix="oddrank-tools-"))
        for tool in ("srun", "scontrol", "squeue", "sinfo", "sbcast"):
            os.symlink(shutil.which(tool), f"{tools}/{tool}")
        for folder in ("/tmp", "/dev/shm"):
            self.forbid_programs("n0", folder)
        run = self.oddrank("job", job, program=program, extra_env={"PATH": tools})
        self.assertEqual(run.status, harness.NOTHING_READ, run)
        self.assertIn("no copy of it could be run", " ".join(run.out.split()), run)
        self.assertIn("python3", run.out)
        doctor = self.oddrank("doctor", "--job", job, program=program, extra_env={"PATH": tools})
        self.assertEqual(doctor.status, harness.NOTHING_READ, doctor)
        remedy = " ".join(doctor.out.split())
        self.assertIn("program: put oddrank into a folder that all nodes share", remedy, doctor)
        self.assertIn("--send-to", remedy, doctor)
        proc_facts.wait_until(lambda: not [name for name in os.listdir("/tmp") if COPY.match(name)],
                              "no copy is left in /tmp")

if __name__ == "__main__":
    harness.main(harness.needs_cluster)
