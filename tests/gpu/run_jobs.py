#!/usr/bin/env python3
"""Runs the jobs of nccl_jobs.py, all ranks of each on one GPU, and checks that oddrank names the rank at
fault, or nobody.

    run_jobs.py --oddrank PATH [--keep FOLDER] [--device cpu] [NAME...]

Several jobs run at once, each with a store and a RAS service of its own. FOLDER gets the captures and the
reports. Prints one line for each job; exit status 1 if one is not as it should be.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import nccl_jobs
import shared_gpu
import training_job

DEADLINE_S = 120


class Failed(Exception):
    """The job is not as it should be."""


class Running:
    """The ranks of a job, as a context."""

    def __init__(self, name, options):
        self.name, self.job = name, nccl_jobs.JOBS[name]
        self.folder = tempfile.mkdtemp(prefix=f"oddrank-{name}-")
        self.log = open(f"{self.folder}/log", "w", encoding="utf-8")
        self.options, self.ranks, self.port = options, [], 0

    def __enter__(self):
        self.port, self._store = training_job.reserve_port()
        ras, self._ras = training_job.reserve_port()
        self._ras.close()
        for rank in range(self.job.ranks):
            environment = {
                **os.environ, "SAYS": self.folder, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port),
                "WORLD_SIZE": str(self.job.ranks), "LOCAL_WORLD_SIZE": str(self.job.ranks),
                "RANK": str(rank), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1",
                "JOB_DEVICE": self.options.device, "PYTHONWARNINGS": "ignore",
                "NCCL_RAS_ADDR": f"127.0.0.1:{ras}", **shared_gpu.variables(self.name, rank),
                **self.job.environment}
            self.ranks.append(subprocess.Popen(
                [self.options.python, os.path.join(HERE, "nccl_jobs.py"), self.name], env=environment,
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                start_new_session=True))
        return self

    def __exit__(self, kind, value, trace):
        for process in self.ranks:  # with the workers of its loaders
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.ranks:
            process.wait(60)
        self.log.close()
        self._store.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def said(self, what, rank):
        return os.path.exists(f"{self.folder}/{what}{rank}")

    def is_hung(self):
        return all(self.said("rank", rank) and
                   (self.job.moves or rank in self.job.mute or self.said("still", rank) or
                    (rank in self.job.ends and self.ranks[rank].poll() is not None))
                   for rank in range(self.job.ranks))

    def wait(self):
        started = time.monotonic()
        while not self.is_hung():
            if time.monotonic() - started > DEADLINE_S:
                raise Failed("it does not come to its last call")
            for rank, process in enumerate(self.ranks):
                if process.poll() is not None and rank not in self.job.ends:
                    raise Failed(f"rank {rank} has ended with {process.returncode}")
            time.sleep(0.1)

    def diagnose(self):
        """Returns the verdict and the samples that it took."""
        with contextlib.ExitStack() as stack:
            kept = self.options.keep or stack.enter_context(tempfile.TemporaryDirectory(prefix="oddrank-"))
            path = f"{kept}/{self.name}"
            run = subprocess.run(
                [self.options.oddrank, "node", "--select", f"127.0.0.1:{self.port}", "--json", path + ".json",
                 "--save", path + ".odd"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=120, check=False)
            with open(path + ".txt", "w", encoding="utf-8") as file:
                file.write(run.stdout + run.stderr)
            if not os.path.exists(path + ".json"):
                raise Failed(run.stderr.strip())
            with open(path + ".json", encoding="utf-8") as file:
                report = json.load(file)
        samples = max((thread["samples"] for rank in report["ranks"] for thread in rank["threads"]), default=0)
        return report["verdict"], samples

    def check(self):
        """Returns one line; raises Failed."""
        verdict, samples = self.diagnose()
        named = tuple(sorted(row["rank"] for row in verdict["culprits"]))
        words = f"{verdict['kind']} ({verdict['confidence']}, {samples} samples): {verdict['summary']}"
        if named != self.job.roots:
            raise Failed(f"names {list(named)}, not {list(self.job.roots)}: {words}")
        if self.job.kinds and verdict["kind"] not in self.job.kinds:
            raise Failed(f"not {self.job.kinds}: {words}")
        return words

    def log_end(self):
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as file:
            return file.read().strip()[-600:]


def look(running):
    """Returns whether all was well, and a line about it."""
    try:
        running.wait()
        return True, f"ok   {running.name}: {running.check()}"
    except Failed as failed:
        return False, f"FAIL {running.name}: {failed}\n{running.log_end()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--keep", default="")
    parser.add_argument("--at-once", type=int, default=max(1, (os.cpu_count() or 1) // 3))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or [name for name, job in nccl_jobs.JOBS.items()
                              if name != "steps" and (options.device == "cuda" or not job.cuda_only)]
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    failed = 0
    for at in range(0, len(names), options.at_once):
        with contextlib.ExitStack() as stack:
            jobs = [stack.enter_context(Running(name, options)) for name in names[at:at + options.at_once]]
            with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
                for well, line in pool.map(look, jobs):
                    failed += not well
                    print(line, flush=True)
    print(f"{len(names) - failed} of {len(names)} jobs are as they should be")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
