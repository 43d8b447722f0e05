#!/usr/bin/env python3
"""Tests that `oddrank node` reads the end of its ranks' output, and that it finds the dumps of their flight
recorders: where variables say, where PyTorch puts them by default, inside a container's file system, by
writing to the rank's pipe, and by --fr. The ranks are plain processes that sleep; the dumps are made up."""

import os
import pickle
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

RANKS, BEHIND = 3, 1
SLEEP = "import sys; print('ready', flush=True); sys.stdin.read()"
# A rank whose pipe makes it write its dump, as PyTorch's monitor thread does.
ON_PIPE = """
import os, sys
path, made, to = sys.argv[1:4]
pipe = os.open(path, os.O_RDWR)
print('ready', flush=True)
os.read(pipe, 1)
with open(made, 'rb') as source, open(to, 'wb') as file:
    file.write(source.read())
os.read(pipe, 1)
"""

TIMEOUT = """[rank0]:[E1121 10:00:01.000 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0(default_pg) Rank 0] \
Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, \
NumelOut=4, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.
\t - [0, 2] joined but didn't finish collective #12 (count from 1)
\t - [1] finished collective #11, but didn't join collective #12 (count from 1)
"""


def dump(rank, calls):
    """Makes a dump of `calls` all_reduces in the default group. The last began ten minutes ago and has
    not ended."""
    began = time.time_ns() - 600 * 10**9
    entries = [{"record_id": at, "process_group": ("0", "default_pg"), "collective_seq_id": at + 1,
                "profiling_name": "nccl:all_reduce", "time_created_ns": began,
                "input_sizes": [[4]], "input_dtypes": ["Float"], "output_sizes": [[4]],
                "output_dtypes": ["Float"], "state": "scheduled", "retired": False,
                "is_p2p": False} for at in range(calls)]
    for entry in entries[:2]:
        entry["state"] = "completed"
    return pickle.dumps({"version": "2.10", "entries": entries, "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(RANKS)))}}}, protocol=2)


class Dumps(unittest.TestCase):
    def setUp(self):
        self.scratch = self.enterContext(harness.scratch())
        self.pids = []

    def start(self, rank, *command, stderr=None, **environment):
        base = {"PATH": os.environ["PATH"], "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "HOME": self.scratch}
        process = subprocess.Popen(
            list(command) or ["/usr/bin/python3", "-c", SLEEP], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=stderr, env={**base, **environment}, cwd=self.scratch)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        self.wait_reads(process.pid)
        self.pids.append(process.pid)
        return process

    @staticmethod
    def wait_reads(pid):
        proc_facts.wait_until(lambda: proc_facts.in_call(pid, proc_facts.READ), "it reads its pipe")

    def end(self, process):
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    def write(self, name, rank, calls=None):
        path = f"{self.scratch}/{name}{rank}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(dump(rank, calls or (2 if rank == BEHIND else 3)))
        return path

    def diagnose(self, *more):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, self.pids), "--json", "-", "--samples", "1",
             *more]))
        self.assertEqual(run.status, 0, run)
        return run

    def check(self, run):
        rows = [row for row in run.json().get("sources", []) if row["source"] == "flight recorder"]
        self.assertEqual([row["ranks"] for row in rows], [str(BEHIND)], run)
        self.assertIn(f"{RANKS} dumps of {RANKS} ranks", rows[0]["text"], run)

    def test_where_variables_say(self):
        """Tests both variable names, and a path relative to the working directory."""
        self.start(0, TORCH_FR_DUMP_TEMP_FILE=f"{self.scratch}/new_")
        self.start(1, TORCH_NCCL_DEBUG_INFO_TEMP_FILE=f"{self.scratch}/old_")
        self.start(2, TORCH_FR_DUMP_TEMP_FILE="here/near_")
        self.write("new_", 0)
        self.write("old_", 1)
        self.write("here/near_", 2)
        self.check(self.diagnose())

    def test_where_they_are_by_default(self):
        for rank in range(RANKS):
            self.start(rank)
            self.write(".cache/torch/comm_lib_trace_rank_", rank)
        self.check(self.diagnose())

    def test_a_dump_of_an_earlier_run_is_left_alone(self):
        path = self.write(".cache/torch/comm_lib_trace_rank_", 0)
        os.utime(path, (time.time() - 3600, time.time() - 3600))
        for rank in range(RANKS):
            self.start(rank)
        run = self.diagnose()
        self.assertNotIn("sources", run.json())
        self.assertTrue(any("older than rank 0" in note for note in run.json()["notes"]), run)

    def test_given_by_hand(self):
        for rank in range(RANKS):
            self.start(rank)
            self.write("elsewhere/trace_rank_", rank)
        self.assertNotIn("sources", self.diagnose().json())
        self.check(self.diagnose("--fr", f"{self.scratch}/elsewhere/trace_rank_*"))
        # The same with an earlier capture.
        saved = f"{self.scratch}/saved.odd"
        self.diagnose("--save", saved)
        again = harness.Run(harness.run_here([harness.Options.oddrank, "report", saved, "--json",
                                              "-", "--fr", f"{self.scratch}/elsewhere"]))
        self.check(again)

    def test_inside_of_a_container(self):
        """The container has a file system of its own over the scratch folder, so we do not see the dump."""
        if subprocess.run(harness.unshare("true"), check=False).returncode != 0:
            self.skipTest("no mount namespaces")
        for rank in range(RANKS):
            made = self.write("made/rank_", rank)
            inside = f"{self.scratch}/inside"
            os.makedirs(inside, exist_ok=True)
            self.start(rank, *harness.unshare("sh", "-c"),
                       f"mount -t tmpfs none {inside} && cp {made} {inside}/trace_{rank} && "
                       f"exec /usr/bin/python3 -c \"{SLEEP}\"",
                       TORCH_FR_DUMP_TEMP_FILE=f"{inside}/trace_")
            self.assertEqual(os.listdir(inside), [])
        self.check(self.diagnose())

    def test_by_the_pipe_of_the_rank(self):
        """A byte is written only if there is no dump yet; the rank goes on."""
        processes = []
        for rank in range(RANKS):
            made = self.write("made/rank_", rank)
            pipe = f"{self.scratch}/pipe_{rank}.pipe"
            os.mkfifo(pipe)
            processes.append(self.start(
                rank, "/usr/bin/python3", "-c", ON_PIPE, pipe, made, f"{self.scratch}/trace_{rank}",
                TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"{self.scratch}/pipe_",
                TORCH_FR_DUMP_TEMP_FILE=f"{self.scratch}/trace_"))
        self.check(self.diagnose())
        self.check(self.diagnose())  # a second byte would end the ranks
        for process in processes:
            self.wait_reads(process.pid)
            self.assertIsNone(process.poll())

    def test_a_pipe_that_is_none(self):
        """oddrank does not write to a regular file of that name, nor wait for a pipe without a reader."""
        os.mkfifo(f"{self.scratch}/pipe_0.pipe")
        with open(f"{self.scratch}/pipe_1.pipe", "wb"):
            pass
        for rank in range(RANKS):
            self.start(rank, TORCH_NCCL_DEBUG_INFO_PIPE_FILE=f"{self.scratch}/pipe_")
        self.assertNotIn("sources", self.diagnose().json())
        self.assertEqual(os.path.getsize(f"{self.scratch}/pipe_1.pipe"), 0)

    def test_the_end_of_the_output(self):
        """All ranks write to one file, which is larger than the part that is read."""
        path = f"{self.scratch}/job.log"
        with open(path, "w+", encoding="utf-8") as log:
            log.write("step\n" * (1 << 20))
            log.write(TIMEOUT)
            log.flush()
            for rank in range(RANKS):
                self.start(rank, stderr=log)
            run = self.diagnose()
        rows = [row for row in run.json().get("sources", []) if row["source"] == "log"]
        self.assertEqual([(row["ranks"], row["text"]) for row in rows], [(
            "1", "PyTorch's watchdog gave up ALLREDUCE #12 on rank 0; its desync report names rank 1")],
            run)


if __name__ == "__main__":
    harness.main()
