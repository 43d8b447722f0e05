#!/usr/bin/env python3
"""Runs the scripts of slurm/scripts on a real cluster: each does what its first lines promise."""

import glob
import http.server
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/support")
# pylint: disable=wrong-import-position
import harness
import proc_facts
from cluster import Cluster
from harness import Options
from star_job import StarJob

SCRIPTS = f"{ROOT}/slurm/scripts"
BLOCKED = os.environ["ODDRANK_BLOCKED_VICTIM"]
BATCH = """#!/bin/bash
#SBATCH --nodes=2 --ntasks=2 --ntasks-per-node=1 --output={folder}/log --signal=B:USR1@60
. {scripts}/collect-before-limit.sh
oddrank_run srun /usr/bin/python3 {peers} ranks {folder}
echo "ended with $?"
"""


class Webhook(http.server.BaseHTTPRequestHandler):
    said = []

    def do_POST(self):  # pylint: disable=invalid-name
        length = int(self.headers["Content-Length"])
        Webhook.said.append(json.loads(self.rfile.read(length)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format, *args):  # pylint: disable=redefined-builtin
        pass


class ScriptsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = cls.enterClassContext(harness.scratch())
        cls.lab = cls.enterClassContext(Cluster(nodes=2))
        patient = f"{cls.folder}/oddrank"
        with open(patient, "w", encoding="utf-8") as script:
            script.write(f'#!/bin/sh\nexec {shlex.quote(Options.oddrank)} "$@" '
                         f'{shlex.join(harness.PATIENTLY)}\n')
        os.chmod(patient, 0o755)
        cls.job = StarJob(cls.lab, cls.folder, nodes=2, ranks=2)
        cls.job.start(batch=BATCH.format(folder=cls.folder, scripts=SCRIPTS,
                                         peers=f"{ROOT}/tests/victims/peers.py"),
                      environment={"ODDRANK": patient, "ODDRANK_DIR": cls.folder})

    def log(self):
        with open(f"{self.folder}/log", encoding="utf-8") as file:
            return file.read()

    def node(self, name, *command, **environment):
        words = [f"{key}={value}" for key, value in environment.items()]
        return self.lab.node_exec(name, ["env", f"ODDRANK={Options.oddrank}", *words, *command],
                                  timeout=300)

    def test_1_collect_before_limit(self):
        self.lab.run_client(["scancel", "--batch", "--signal=USR1", self.job.id])
        proc_facts.wait_until(lambda: "the capture is" in self.log(), "the trap ran")
        self.assertIn("io_stall", self.log())
        self.assertIn("rank 0", self.log())
        again = harness.Run(self.lab.run_client(
            [Options.oddrank, "report", *glob.glob(f"{self.folder}/oddrank-*.odd"), "-q"]))
        self.assertEqual(again.status, 0, again)
        self.assertEqual(self.lab.job_state(self.job.id), "RUNNING")

    @unittest.skipUnless(shutil.which("curl"), "needs curl, which scripts/setup --ci installs")
    def test_2_post_verdict(self):
        report = glob.glob(f"{self.folder}/oddrank-*.json")[0]
        with http.server.HTTPServer(("127.0.0.1", 0), Webhook) as server:
            server.timeout = 120
            thread = threading.Thread(target=server.handle_request, daemon=True)
            thread.start()
            environment = dict(os.environ, ODDRANK_JSON=report,
                               ODDRANK_WEBHOOK=f"http://127.0.0.1:{server.server_port}/")
            environment.pop("http_proxy", None)
            subprocess.run([f"{SCRIPTS}/post-verdict.sh"], env=environment, check=True, timeout=120)
            thread.join(120)
        self.assertIn(f"job {self.job.id}: rank 0", Webhook.said[0]["text"])
        self.assertIn("2 of 2 ranks read", Webhook.said[0]["text"])

    def test_3_collect_cores(self):
        if shutil.which("gcore") is None:
            self.skipTest("not installed: gdb (scripts/setup --ci installs it)")
        shared = f"{self.folder}/cores"
        os.mkdir(shared)
        for rank in (0, 1):
            host = self.job.fact(rank)["host"]
            pid = self.job.fact(rank)["pid"]
            made = self.node(host, "gcore", "-o", f"{shared}/{host}.core", str(pid))
            self.assertEqual(made.returncode, 0, made.stderr)
        for host in self.lab.nodes:
            result = self.node(host, f"{SCRIPTS}/collect-cores.sh", f"{shared}/odd",
                               f"{shared}/{host}.core.*")
            self.assertEqual(result.returncode, 0, result.stderr)
        nothing = self.node("n0", f"{SCRIPTS}/collect-cores.sh", f"{shared}/odd", "/nowhere/core.*")
        self.assertEqual(nothing.returncode, 0, nothing.stderr)
        report = self.node("n0", f"{SCRIPTS}/collect-cores.sh", f"{shared}/odd")
        self.assertIn("2/2", report.stdout, report.stderr)

    def test_4_prolog_doctor(self):
        good = self.node("n0", f"{SCRIPTS}/prolog-doctor.sh", SLURMD_NODENAME="n0",
                         ODDRANK_PATIENCE="120")
        self.assertEqual((good.returncode, good.stdout), (0, ""), good.stderr)
        bad = self.node("n0", "env", "ODDRANK=/nowhere/oddrank", f"{SCRIPTS}/prolog-doctor.sh")
        self.assertEqual(bad.returncode, 0, bad.stderr)
        self.assertIn("would not work on n0", bad.stdout)

    def test_8_healthcheck(self):
        """Finds a process in state D whose environment names a job that SLURM does not run."""
        quiet = self.node("n1", f"{SCRIPTS}/healthcheck.sh", SLURMD_NODENAME="n1")
        self.assertEqual((quiet.returncode, quiet.stdout), (0, ""), quiet.stderr)
        # It dies with its node.
        self.node("n1", "sh", "-c", f"SLURM_JOB_ID=999999 setsid {BLOCKED} vfork "
                  "</dev/null >/dev/null 2>&1 &")
        check = None

        def found():
            nonlocal check
            check = self.node("n1", f"{SCRIPTS}/healthcheck.sh", SLURMD_NODENAME="n1",
                              ODDRANK_DRAIN="1")
            return "of job 999999" in check.stdout and check.returncode == 0
        proc_facts.wait_until(found, "the health check sees it", every=0.5)
        state = self.lab.run_client(["sinfo", "-h", "-n", "n1", "-o", "%T %E"]).stdout
        self.assertIn("drain", state)
        self.assertIn("ranks cannot end", state)

    def test_9_the_job_ends_as_its_command_does(self):
        self.job.feed()
        proc_facts.wait_until(lambda: "ended with 0" in self.log(), "the job ends")


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
