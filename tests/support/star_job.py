"""A job of plain Python ranks on a cluster: all receive from rank 0, which reads a FIFO without a writer.
It starts in a second or two; ranks with PyTorch take half a minute.

    job = StarJob(lab, folder, nodes=2, ranks=2).start()     # returns when it hangs
    job.feed()                                               # the data arrives, and the job ends
"""

import json
import os

import proc_facts

PEERS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims",
                     "peers.py")
SCRIPT = """#!/bin/bash
#SBATCH --nodes={nodes} --ntasks={ranks} --ntasks-per-node={per_node} --output={folder}/log
#SBATCH --job-name=star
exec srun {step}
"""
STEP = "/usr/bin/python3 {peers} ranks {folder}"


class StarJob:
    def __init__(self, lab, folder, nodes, ranks, step=STEP):
        self.lab, self.folder, self.nodes, self.ranks = lab, folder, nodes, ranks
        self.step = step.format(peers=PEERS, folder=folder)
        self.fifo = f"{folder}/shard-0.tar"
        self.id = None

    def start(self, *options, others=(), batch=None, environment=None):
        """Starts the job; returns when it hangs. `others`: ranks that are another program, which writes
        no facts. `batch`: a batch script to use instead of the usual one."""
        if not os.path.exists(self.fifo):
            os.mkfifo(self.fifo)
        script = f"{self.folder}/job.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(batch or SCRIPT.format(
                nodes=self.nodes, ranks=self.ranks, folder=self.folder,
                per_node=self.ranks // self.nodes, step=self.step))
        self.id = self.lab.submit(script, *options, extra_env=environment)
        self.lab.wait_job_running(self.id)
        for rank in set(range(self.ranks)) - set(others):
            proc_facts.wait_until(lambda rank=rank: self.blocked(rank), f"rank {rank} blocks")
        return self

    def fact(self, rank):
        """Returns what the rank wrote before it blocked; None until then."""
        try:
            with open(f"{self.folder}/rank-{rank}.json", encoding="utf-8") as file:
                return json.load(file)
        except OSError:
            return None

    def host_pid(self, rank):
        """Returns the rank's pid as seen from here; None if there is none."""
        fact = self.fact(rank)
        return next((pid for pid in (self.lab.node_pids(fact["host"]) if fact else [])
                     if proc_facts.namespace_pid(pid) == fact["pid"]), None)

    def blocked(self, rank):
        """Returns whether the rank is blocked for good: rank 0 in read(), the others in recv()."""
        pid = self.host_pid(rank)
        if pid is None:
            return False
        return (proc_facts.reads(pid, self.fifo) if rank == 0
                else proc_facts.in_call(pid, proc_facts.RECVFROM))

    def feed(self):
        with open(self.fifo, "wb") as fifo:
            fifo.write(b"x")
