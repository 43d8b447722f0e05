#!/usr/bin/env python3
"""Runs torchrun with the agent of integrations/oddrank_torchrun.py: before its watchdog kills the ranks, it has asked
oddrank who holds them up. (tests/wild/run_watched.py has the other callbacks.)

    integrations_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/support")
# pylint: disable=wrong-import-position
import harness
import training_job

# Rank 1 reads a named pipe that nobody opens, for longer than its timer allows. Rank 0 waits for it.
RANK = """
import os, torch, torch.distributed as dist
from torch.distributed.elastic import timer
timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
dist.init_process_group("gloo")
dist.barrier()
with open(f"rank{dist.get_rank()}", "w") as file:
    file.write(str(os.getpid()))
if dist.get_rank() == 1:
    with timer.expires(after=1):
        open("fifo").read()
dist.all_reduce(torch.ones(4))
"""


class Integrations(unittest.TestCase):
    def test_the_watchdog_of_torchruns_agent(self):
        folder = self.enterContext(harness.scratch())
        os.mkfifo(f"{folder}/fifo")
        with open(f"{folder}/train.py", "w", encoding="utf-8") as file:
            file.write(RANK)
        run = harness.Run(subprocess.run(
            [training_job.find_torch_python(), f"{ROOT}/integrations/oddrank_torchrun.py", "--standalone",
             "--nproc-per-node", "2", "train.py"],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TORCHELASTIC_ENABLE_FILE_TIMER": "1", "TMPDIR": folder,
                 "ODDRANK": os.path.abspath(harness.Options.oddrank), "ODDRANK_REPORT": "report.json"}))
        self.assertNotEqual(run.status, 0, run)
        with open(f"{folder}/report.json", encoding="utf-8") as file:
            verdict = json.load(file)["verdict"]
        with open(f"{folder}/rank1", encoding="utf-8") as file:
            self.assertEqual([each["pid"] for each in verdict["culprits"]], [int(file.read())], verdict)
        self.assertEqual(verdict["kind"], "io_stall", verdict)
        self.assertEqual(run.err.count(f"oddrank: io_stall: {verdict['summary']}\n"), 1, run)


if __name__ == "__main__":
    harness.main(harness.needs_torch)
