#!/usr/bin/env python3
"""Tests what `oddrank doctor` says about the sources beside the stacks: NCCL's RAS, PyTorch's flight
recorder and nvidia-smi, all three made up. (cluster/hosts_test.py tests `oddrank doctor` on the nodes of
a job.)"""

import contextlib
import os
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

# A rank that listens as NCCL's RAS does: it "greets", "mumbles" something else, or is silent.
RANK = """
import socket, sys, threading
listener = socket.create_server(("127.0.0.1", 0)) if sys.argv[1] != "none" else None
port = listener.getsockname()[1] if listener else 0
print(port, flush=True)
def serve():
    kept = []
    while True:
        client = listener.accept()[0]
        kept.append(client)
        if client.recv(100) == b"CLIENT PROTOCOL 2\\n" and sys.argv[1] != "silent":
            client.sendall(b"SERVER PROTOCOL 2\\n" if sys.argv[1] == "greets" else b"220 smtp\\n")
            print("and then", client.recv(100), flush=True)
if listener:
    threading.Thread(target=serve, daemon=True).start()
sys.stdin.read()
"""
ANSWERS = "#!/bin/sh\necho '0, GPU-aa, NVIDIA H100, 100, 0, 118.10, 700.00, 6, 8, 1980, 0, 16, 00000000:3B:00.0'\n"
CRASHES = "#!/bin/sh\nkill -SEGV $$\n"
JOB = str(900_000_000 + os.getpid())


class DoctorTest(unittest.TestCase):
    @contextlib.contextmanager
    def rank(self, how, **environment):
        """Starts a rank. Its port is then in ~/.nccl.conf, where NCCL reads it from."""
        listens = how != "none"
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(harness.scratch())
            process = stack.enter_context(subprocess.Popen(
                ["/usr/bin/python3", "-c", RANK, how], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True,
                env={"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "HOME": folder,
                     "SLURM_JOB_ID": JOB, "SLURM_STEP_ID": "0", "SLURM_PROCID": "0",
                     **environment}))
            stack.callback(process.kill)
            port = process.stdout.readline().strip()
            if listens:
                with open(f"{folder}/.nccl.conf", "w", encoding="ascii") as file:
                    file.write(f"# made up\nNCCL_RAS_ADDR=localhost:{port}\n")
            yield process

    def doctor(self, tool=None):
        """Returns the checks by name, as (answer, detail), and how long it took."""
        with harness.scratch() as folder:
            if tool is not None:
                with open(f"{folder}/nvidia-smi", "w", encoding="ascii") as file:
                    file.write(tool)
                os.chmod(f"{folder}/nvidia-smi", 0o755)
            began = time.monotonic()
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "doctor", "--slurm-job", JOB, "--json", "-"],
                env=dict(os.environ, PATH=f"{folder}:/usr/bin:/bin")))
            took = time.monotonic() - began
        self.assertEqual(run.status, 0, run)
        checks = {check["name"]: (check["answer"], check["detail"])
                  for check in run.json()["nodes"][0]["checks"]}
        self.assertEqual(checks["ranks"], ("yes", "1"), run)
        return checks, took

    def test_what_is_there(self):
        with self.rank("greets") as process:
            checks, _ = self.doctor(ANSWERS)
            self.assertEqual(checks["ras"], ("yes", "answers"))
            self.assertEqual(checks["gpus"], ("yes", "1"))
            # The service got a greeting and no request.
            self.assertEqual(process.stdout.readline(), "and then b''\n")

    def test_what_is_not_there(self):
        with self.rank("none", NCCL_RAS_ADDR="localhost:1"):
            checks, _ = self.doctor()
            self.assertEqual(checks["ras"], ("off", "no rank listens"))
            self.assertEqual(checks["recorder"], ("off", "no process group yet"))
            self.assertEqual(checks["gpus"], ("off", "no nvidia-smi"))

    def test_what_is_switched_off(self):
        with self.rank("none", NCCL_RAS_ENABLE="0"):
            checks, _ = self.doctor(CRASHES)
            self.assertEqual(checks["ras"], ("off", "NCCL_RAS_ENABLE=0"))
            self.assertEqual(checks["gpus"][0], "off")
            self.assertIn("nvidia-smi", checks["gpus"][1])

    def test_what_is_no_ras_or_does_not_answer(self):
        with self.rank("mumbles"):
            checks, _ = self.doctor()
            self.assertEqual(checks["ras"][0], "off")
            self.assertIn("not RAS", checks["ras"][1])
        with self.rank("silent"):
            checks, took = self.doctor()
            self.assertEqual(checks["ras"][0], "off")
            self.assertIn("no answer in time", checks["ras"][1])
            self.assertLess(took, 60)


if __name__ == "__main__":
    harness.main()
