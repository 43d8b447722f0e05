#!/usr/bin/env python3
"""Makes, starts and watches the training job of tests/victims/train.py.

    job = TrainingJob(directory, python, how="input")     # folder with shards, FIFO, job.sh, facts
    job_id = lab.submit(job.script)                       # or: with LocalRanks(job): ...
    job.wait_hung(lab)                                    # by facts and /proc, never by time
    job.feed()                                            # the missing shard arrives; the job goes on

    training_job.py prepare DIR [--how ...]   makes DIR/job.sh for sbatch
    training_job.py wait DIR --cluster LAB    returns when the job hangs as it should
    training_job.py feed DIR                  makes the stuck storage deliver
    training_job.py local DIR [--how ...]     runs the ranks here without SLURM, prints "hung" when
                                              they hang, and ends them at end of file on stdin
"""

import argparse
import io
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import cluster
import proc_facts

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TRAIN = f"{ROOT}/tests/victims/train.py"
SAMPLE_BYTES = 64 * 4  # FEATURES of train.py as float32
BATCH = 4

JOB_SCRIPT = """#!/bin/bash
#SBATCH --job-name=train
#SBATCH --nodes={nodes} --ntasks={ranks} --ntasks-per-node={per_node}
#SBATCH --exclusive --mem=0 --gres=gpu:2
#SBATCH --output={directory}/job.log
set -u
master=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
export MASTER_ADDR=$master MASTER_PORT=29500 GLOO_SOCKET_IFNAME=eth0 OMP_NUM_THREADS=1
{hold}srun {command}
"""
HOLD = """# The storage that took the request and never answers: a writer that writes nothing.
exec 9<>{fifo}
"""


def find_torch_python():
    """Returns an interpreter with PyTorch, or None. scripts/setup --with-torch makes one."""
    for python in (os.environ.get("ODDRANK_TORCH_PYTHON"), f"{ROOT}/.venv/bin/python"):
        if python and os.access(python, os.X_OK):
            return python
    return None


def reserve_port():
    """Returns (port, socket). While the socket is open, the kernel gives that port to no other program,
    unless it asks for the port by number and with SO_REUSEADDR, as PyTorch's store does."""
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind(("", 0))
    return reserved.getsockname()[1], reserved


def sleeping_rank(test, job):
    """Starts a process that looks like the only rank of `job`, "127.0.0.1:NAME"; it ends with the test."""
    address, name = job.split(":")
    rank = subprocess.Popen(["sleep", "1000"], env={**os.environ, "RANK": "0", "WORLD_SIZE": "1",
                                                    "MASTER_ADDR": address, "MASTER_PORT": name})
    test.addCleanup(rank.wait, 60)
    test.addCleanup(rank.kill)
    proc_facts.wait_until(lambda: proc_facts.comm(rank.pid) == "sleep", "it runs")
    return rank


def write_shard(path, samples):
    with tarfile.open(path, "w") as shard:
        for index in range(samples):
            member = tarfile.TarInfo(f"sample-{index:06}.f32")
            member.size = SAMPLE_BYTES
            shard.addfile(member, io.BytesIO(bytes([index % 60]) * SAMPLE_BYTES))


class TrainingJob:
    """One job's folder. Ranks take `at` healthy steps, then rank `rank` hangs in the way `how`."""

    def __init__(self, directory, python, how="input", ranks=8, nodes=4, rank=5, at=4, steps=8):
        if python is None:
            raise ValueError("a training job needs a Python with PyTorch")
        self.directory = os.path.abspath(directory)
        self.how, self.ranks, self.rank, self.at, self.steps = how, ranks, rank, at, steps
        self.data = f"{self.directory}/data"
        self.facts_directory = f"{self.directory}/facts"
        self.fifo = f"{self.data}/shard-{rank}.tar"
        self.script = f"{self.directory}/job.sh"
        self.log = f"{self.directory}/job.log"
        self.command = [python, TRAIN, f"--data={self.data}", f"--facts={self.facts_directory}",
                        f"--how={how}", f"--rank={rank}", f"--at={at}", f"--steps={steps}"]
        self._parameters = {"how": how, "ranks": ranks, "rank": rank, "at": at, "steps": steps,
                            "nodes": nodes}
        self._nodes = nodes
        self._python = python

    def prepare(self):
        """Makes the contents of the folder, which may exist; a second call starts afresh."""
        os.makedirs(self.data, exist_ok=True)
        os.makedirs(self.facts_directory, exist_ok=True)
        os.chmod(self.facts_directory, 0o1777)  # the ranks may run as another user
        os.chmod(self.directory, 0o1777)
        for name in os.listdir(self.facts_directory):
            os.unlink(f"{self.facts_directory}/{name}")
        for rank in range(self.ranks):
            write_shard(f"{self.data}/warm-{rank}.tar", self.at * BATCH)
            write_shard(f"{self.data}/shard-{rank}.tar", (self.steps - self.at) * BATCH)
        if self.how == "input":
            os.replace(self.fifo, f"{self.data}/late-{self.rank}.tar")
            os.mkfifo(self.fifo, 0o666)
            os.chmod(self.fifo, 0o666)
        hold = HOLD.format(fifo=shlex.quote(self.fifo)) if self.how == "input" else ""
        with open(self.script, "w", encoding="utf-8") as script:
            script.write(JOB_SCRIPT.format(
                nodes=self._nodes, ranks=self.ranks, per_node=self.ranks // self._nodes,
                directory=self.directory, hold=hold, command=shlex.join(self.command)))
        with open(f"{self.directory}/job.json", "w", encoding="utf-8") as file:
            json.dump(dict(self._parameters, python=self._python), file)
        return self

    @classmethod
    def load(cls, directory):
        with open(f"{directory}/job.json", encoding="utf-8") as file:
            return cls(directory, **json.load(file))

    # -- facts ------------------------------------------------------------------------------------

    def fact(self, rank, kind="rank"):
        """Returns what the rank (or its "worker") last wrote; {} if nothing yet."""
        try:
            with open(f"{self.facts_directory}/{kind}-{rank}.json", encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return {}

    def host_pid(self, rank, kind="rank", lab=None):
        """Returns the rank's pid as seen from here; None if it cannot be found."""
        fact = self.fact(rank, kind)
        if not fact or lab is None:
            return fact.get("pid")
        for pid in lab.node_pids(fact["host"]):
            if proc_facts.namespace_pid(pid) == fact["pid"]:
                return pid
        return None

    def describe(self):
        rows = (self.fact(rank) for rank in range(self.ranks))
        return ", ".join(f"{rank}: {row.get('doing', '?')}@{row.get('step', '?')}"
                         for rank, row in enumerate(rows))

    def _expected(self, rank):
        """Returns (step, doing) of a rank while the job hangs."""
        if rank != self.rank:
            return self.at, "all_reduce"
        return {"input": (self.at, "next_batch"), "lock": (self.at, "next_batch"),
                "sleep": (self.at, "sleep"),
                "skip": (self.at, "barrier"), "stopped": (self.at, "stopped")}[self.how]

    def _rank_hangs(self, rank, lab):
        fact = self.fact(rank)
        if (fact.get("step"), fact.get("doing")) != self._expected(rank):
            return False
        pid = self.host_pid(rank, lab=lab)
        if pid is None or not proc_facts.sleeping(pid):
            return False
        if rank == self.rank and self.how == "stopped":
            return proc_facts.state(pid) == "T"
        if rank != self.rank or self.how not in ("input", "lock"):
            return True
        return self._worker_reads(lab) if self.how == "input" else self._worker_wants_lock(lab)

    def _worker_reads(self, lab):
        pid = self.host_pid(self.rank, "worker", lab)
        return pid is not None and proc_facts.reads(pid, self.fifo)

    def _worker_wants_lock(self, lab):
        pid = self.host_pid(self.rank, "worker", lab)
        return (self.fact(self.rank, "worker").get("doing") == "lock" and pid is not None
                and proc_facts.wants_lock(pid))

    def wait_hung(self, lab=None, seconds=400, still_there=lambda: True):
        """Returns when every rank has reached the place where it hangs, and is blocked there."""
        def hung():
            if not still_there():
                daemons = lab.logs(40) if lab is not None else ""
                raise RuntimeError(f"the job ended before it hung:\n{self.tail()}{daemons}")
            return all(self._rank_hangs(rank, lab) for rank in range(self.ranks))
        try:
            proc_facts.wait_until(hung, "the job hangs", seconds, 0.1)
        except TimeoutError as error:
            raise TimeoutError(f"{error} ({self.describe()})\n{self.tail()}") from error

    def feed(self):
        """Delivers the missing data, so that a job that hangs in its input goes on."""
        with open(f"{self.data}/late-{self.rank}.tar", "rb") as late:
            content = late.read()
        with open(self.fifo, "wb", buffering=0) as fifo:
            fifo.write(content)

    def tail(self, lines=15):
        try:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                return "".join(log.readlines()[-lines:])
        except OSError:
            return "(no log)"


class LocalRanks:
    """The job's ranks as processes on this machine, without SLURM. A context manager."""

    def __init__(self, job):
        self.job = job
        self.processes = []
        self._fifo = None
        self._reserved = None

    def __enter__(self):
        if self.job.how == "input":
            self._fifo = os.open(self.job.fifo, os.O_RDWR | os.O_CLOEXEC)
        port, self._reserved = reserve_port()
        with open(self.job.log, "ab") as log:
            for rank in range(self.job.ranks):
                environment = {key: value for key, value in os.environ.items()
                               if not key.startswith("SLURM_")}
                environment.update(
                    RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(self.job.ranks),
                    MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1",
                    GLOO_SOCKET_IFNAME="lo")
                self.processes.append(subprocess.Popen(
                    self.job.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=environment, start_new_session=True))
        return self

    def alive(self):
        return all(process.poll() is None for process in self.processes)

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            try:  # the session's group: the rank and its workers
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait(120)
        self._reserved.close()
        if self._fifo is not None:
            os.close(self._fifo)


def command_local(job):
    with LocalRanks(job) as ranks:
        job.wait_hung(still_there=ranks.alive)
        pids = " ".join(str(process.pid) for process in ranks.processes)
        print(f"hung {pids}", flush=True)
        sys.stdin.read()
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("prepare", "wait", "feed", "local"))
    parser.add_argument("directory")
    parser.add_argument("--cluster", metavar="LAB", help="folder of `cluster.py up`")
    parser.add_argument("--python", default=find_torch_python())
    parser.add_argument("--how", default="input")
    for name, default in (("ranks", 8), ("nodes", 4), ("rank", 5), ("at", 4), ("steps", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    if options.action in ("prepare", "local"):
        if options.python is None:
            print("no Python with PyTorch: run scripts/setup", file=sys.stderr)
            return 77
        job = TrainingJob(options.directory, options.python, options.how, options.ranks,
                          options.nodes, options.rank, options.at, options.steps).prepare()
        return command_local(job) if options.action == "local" else 0
    job = TrainingJob.load(options.directory)
    if options.action == "feed":
        job.feed()
    else:
        job.wait_hung(cluster.Cluster.attach(options.cluster) if options.cluster else None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
