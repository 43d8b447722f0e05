#!/usr/bin/env python3
"""Real gloo jobs that hang although nothing was prepared in them (no variables, no dumps). Their
programs are parts of a test, which names the part that each rank runs.

A program tells its end by `last()` (PREAMBLE): it is called before the call that hangs.
"""

import json
import os
import re
import resource
import shutil
import signal
import subprocess

import harness
import proc_facts
import training_job

DEADLINE_S = 300
GCORE = shutil.which("gcore")
PAUSE = 34  # system call of x86-64
PREAMBLE = """
import os, signal, sys
import torch, torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def last():
    path = os.path.join(os.environ["SAYS"], "rank" + str(rank))
    with open(path + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
"""
ENDING = """
dist.init_process_group(os.environ.get("JOB_BACKEND", "gloo"))
globals()[sys.argv[1]]()
"""


class Job:
    """The ranks of one job, from their start until they hang; without `hangs`, until they are started. `more`:
    their variables."""

    def __init__(self, test, program, part, ranks=4, python=None, hangs=True, **more):
        self.test = test
        self.python = python or training_job.find_torch_python()
        self.folder = test.enterContext(harness.scratch())
        self.port, reserved = training_job.reserve_port()
        test.addCleanup(reserved.close)
        env = {**os.environ, "SAYS": self.folder, "MASTER_ADDR": "127.0.0.1",
               "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
               "MASTER_PORT": str(self.port), "OMP_NUM_THREADS": "1", **more}
        path = f"{self.folder}/train.py"
        with open(path, "w", encoding="utf-8") as file:
            file.write(PREAMBLE + program + ENDING)
        self.ranks = []
        for rank in range(ranks):
            os.mkdir(self.place(rank))
            self.ranks.append(subprocess.Popen(
                [self.python, path, part],
                env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank), **self.variables(rank)},
                stdin=subprocess.DEVNULL, cwd=self.place(rank)))
        test.addCleanup(self.end)
        if hangs:
            self.wait_last()
            self.wait_hung()

    def wait_last(self):
        """Waits until each rank has said that its last call comes."""
        proc_facts.wait_until(
            lambda: self.live() and all(os.path.exists(f"{self.folder}/rank{rank}")
                                        for rank in range(len(self.ranks))),
            "all ranks are at their last call", DEADLINE_S)

    def variables(self, rank):
        """Returns variables of this rank alone."""
        del rank
        return {}

    def place(self, rank):
        """Returns the working directory of a rank."""
        return f"{self.folder}/at{rank}"

    def live(self):
        """Returns True; fails if a rank has ended."""
        ended = [process.args for process in self.ranks if process.poll() is not None]
        if ended:
            raise AssertionError(f"a rank has ended: {ended}")
        return True

    def wait_hung(self):
        """Waits until no main thread runs, and none has run for a while."""
        seen = [None, 0]

        def is_hung():
            pids = [process.pid for process in self.ranks]
            now = [proc_facts.status(pid).get("voluntary_ctxt_switches") for pid in pids]
            self.live()
            blocked = all(proc_facts.wants_lock(pid) or proc_facts.in_call(pid, PAUSE)
                          for pid in pids)
            seen[:] = [now, seen[1] + 1 if blocked and now == seen[0] else 0]
            return seen[1] >= 10
        proc_facts.wait_until(is_hung, "all ranks hang", DEADLINE_S)

    def end(self):
        """Ends all ranks at one time, so that none complains about another one's end."""
        for process in self.ranks:
            process.kill()
        for process in self.ranks:
            process.wait(60)

    def run(self, *more):
        """Returns the run of `oddrank node`."""
        return harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"127.0.0.1:{self.port}",
             *harness.PATIENTLY, *more]))

    def diagnose(self, *more):
        """Returns the run of `oddrank node` and its JSON."""
        run = self.run("--json", "-", "-q", *more)
        return run, run.json()

    def dumped(self, path):
        """Returns the calls in a flight recorder's dump, as the job's own Python reads it."""
        code = ("import json, pickle, sys\n"
                "json.dump(pickle.load(open(sys.argv[1], 'rb'))['entries'], sys.stdout)")
        said = subprocess.run([self.python, "-c", code, path], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=True, timeout=120)
        return json.loads(said.stdout)

    def diagnose_cores(self, cores):
        """Returns the run of `oddrank core` and its JSON."""
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "core", *cores, "--json", "-", "-q"]))
        return run, run.json()

    def gcores(self):
        """Writes core files with gdb; the ranks live on."""
        folder = self.test.enterContext(harness.scratch())
        for process in self.ranks:
            subprocess.run([GCORE, "-o", f"{folder}/core", str(process.pid)], check=True,
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=300)
        return [f"{folder}/core.{process.pid}" for process in self.ranks]

    def kernel_cores(self):
        """Ends all ranks at one time, so that none sees another one's end, and returns the cores."""
        for process in self.ranks:
            unlimited = resource.RLIM_INFINITY
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (unlimited, unlimited))
        for number in (signal.SIGSTOP, signal.SIGABRT, signal.SIGCONT):
            for process in self.ranks:
                process.send_signal(number)
        found = []
        for rank, process in enumerate(self.ranks):
            process.wait(DEADLINE_S)
            found += [os.path.join(self.place(rank), name) for name in os.listdir(self.place(rank))
                      if name.startswith("core")]
        return found


def writes_cores_beside():
    """Returns whether the kernel writes core files into the working directory."""
    with open("/proc/sys/kernel/core_pattern", encoding="ascii") as file:
        return re.fullmatch(r"core(\.%p)?", file.read().strip()) is not None
