#!/usr/bin/env python3
"""Runs jobs of frameworks with the callbacks of integrations/: of a hung job the callback's report names rank 1, and of
its healthy twin, which ends by itself, there is no report. And a job with PyTorch's debug server, of whose dumps
`oddrank fr` names rank 1.

    run_watched.py --oddrank PATH [NAME...]      NAME: see WATCHED; all without

Run by scripts/test --wild after run_jobs.py, whose machinery it uses.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import time

import run_jobs
from run_jobs import DEADLINE_S, Failed, JOBS_FOLDER, PYTHON

INTEGRATIONS = os.path.join(os.path.dirname(os.path.dirname(run_jobs.HERE)), "integrations")
TORCHRUN = f"{PYTHON} -m torch.distributed.run --nproc-per-node 2"
WATCHED = {f"watched_{name}": f"{start} watched.py {name}"
           for name, start in (("lightning", PYTHON), ("trainer", TORCHRUN), ("ray", PYTHON),
                               ("debug_server", f"TORCH_FR_BUFFER_SIZE=100 {TORCHRUN}"))}
run_jobs.JOBS.update({name: (2, command) for name, command in WATCHED.items()})


def wait_for(job, pattern):
    """Returns what is in the job's folder by that name, once it is there."""
    end = time.monotonic() + DEADLINE_S
    while not (found := glob.glob(f"{job.folder}/{pattern}")):
        if time.monotonic() > end or job.has_ended():
            raise Failed(f"no {pattern}:\n{job.log()}")
        time.sleep(0.1)
    return found


def check_debug_server(job):
    """Gets the dumps as docs/flight-recorder.md says, into the folder that has the server's texts."""
    pids = job.wait()
    path, *_ = wait_for(job, "dumps/stacks_*.txt")
    with open(path, encoding="utf-8") as file:
        addresses = re.findall(r"=== Rank (\d+): (http://\S+?)/handler/", file.read())
    for rank, address in addresses:
        subprocess.run([*job.inner(), "curl", "-sSf", "--max-time", "20", "-X", "POST", f"{address}/handler/fr_trace_json",
                        "-o", f"{job.folder}/dumps/rank_{rank}.json"], check=True, timeout=60)
    run = subprocess.run([os.environ["ODDRANK"], "fr", f"{job.folder}/dumps", "--json", "-"], capture_output=True,
                         text=True, check=False)
    verdict = run_jobs.answer_of(run)["verdict"]
    if len(addresses) != len(pids) or [each["rank"] for each in verdict["culprits"]] != [1] or run.returncode != 0:
        raise Failed(f"not rank 1 of {addresses}: status {run.returncode}, {verdict['summary']}")
    return verdict["summary"]


def check(job):
    try:
        if job.name == "watched_debug_server":
            return check_debug_server(job)
        pids = job.wait()
        if not job.hang:
            wait_for(job, "over.*")
            if glob.glob(f"{job.folder}/oddrank*.json") or "oddrank:" in job.log():
                raise Failed(f"a healthy job was examined:\n{job.log()}")
            return "nobody asked"
        path, = wait_for(job, "oddrank*.json")
        with open(path, encoding="utf-8") as file:
            verdict = json.load(file)["verdict"]
        if [each["pid"] for each in verdict["culprits"]] != [pids[1]]:
            raise Failed(f"not rank 1 of {pids}: {verdict['summary']}")
        return verdict["summary"]
    finally:
        job.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    os.environ.update(ODDRANK=os.path.abspath(options.oddrank), PYTHONPATH=f"{INTEGRATIONS}:{JOBS_FOLDER}")
    run_jobs.report_each(
        (name, hang, lambda name=name, hang=hang: check(run_jobs.Job(name, hang)))
        for name in options.names or WATCHED
        for hang in (("fifo",) if name == "watched_debug_server" else ("fifo", "")))


if __name__ == "__main__":
    main()
