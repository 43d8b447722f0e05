#!/usr/bin/env python3
"""Runs `oddrank node` on ranks of Open MPI and MPICH, each in a network of its own, one link of which is cut.

    run_links.py --oddrank PATH
"""

import contextlib
import os
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import networks
import proc_facts

RANKS = 4
TRIES = 5  # of the kernel: about seven seconds
# Starts a daemon of mpirun on a "host": in the network with that address.
AGENT = """#!/bin/sh
host=$1; shift
exec nsenter -t "$(awk -v host="$host" '$1 == host {print $2}' %s)" -n sh -c "$*"
"""
OPENMPI_TCP = {"btl": "tcp,self", "pml": "ob1", "btl_tcp_if_include": "eth0", "oob_tcp_if_include": "eth0",
               "plm_rsh_no_tree_spawn": "1"}
UCX_TCP = {"UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "eth0"}


def openmpi(agent, hosts):
    """Returns how mpirun starts a rank on each host."""
    options = [word for name, value in {**OPENMPI_TCP, "plm_rsh_agent": agent}.items()
               for word in ("--mca", name, value)]
    return ["mpirun.openmpi", "--allow-run-as-root", "--host", ",".join(hosts), "-np", str(RANKS), *options]


def mpich(agent, hosts):
    """The same of MPICH, which sends by UCX."""
    settings = [word for name, value in UCX_TCP.items() for word in ("-genv", name, value)]
    return ["mpirun.mpich", "-launcher", "rsh", "-launcher-exec", agent, "-localhost", hosts[0], "-hosts",
            ",".join(hosts), "-ppn", "1", "-n", str(RANKS), *settings]


COMPILERS = {openmpi: "mpicc.openmpi", mpich: "mpicc.mpich"}


class Job:
    def __init__(self, starts, call, numbers):
        self.starts, self.call, self.numbers = starts, call, numbers
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as undo:
            undo.callback(self.ends.close)
            self.start()
            undo.pop_all()
        return self

    def start(self):
        folder = self.folder = self.ends.enter_context(harness.scratch())
        subprocess.run([COMPILERS[self.starts], "-w", "-O2", f"{HERE}/jobs/mpi_rounds.c", "-o", f"{folder}/program"],
                       check=True, timeout=120)
        net = self.networks = self.ends.enter_context(networks.Networks(RANKS, "10.97.9"))
        addresses = [net.address(rank) for rank in range(RANKS)]
        with open(f"{folder}/hosts", "w", encoding="ascii") as file:
            file.writelines(f"{address} {pid}\n" for address, pid in zip(addresses, net.pids()))
        with open(f"{folder}/agent", "w", encoding="ascii") as file:
            file.write(AGENT % f"{folder}/hosts")
        os.chmod(f"{folder}/agent", 0o755)
        self.ends.callback(self.end_all)
        self.starter = net.start(0, [*self.starts(f"{folder}/agent", addresses), f"{folder}/program", folder,
                                     self.call, str(self.numbers)],
                                 stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        proc_facts.wait_until(lambda: len(self.steps()) == RANKS and min(self.steps().values()) > 5, "they work", 120)

    def __exit__(self, *what):
        self.ends.close()

    def end_all(self):
        # mpirun cannot end what a cut link keeps from it: everything in our networks is ours.
        kept = set(self.networks.pids())
        ours = {self.network_of(pid) for pid in kept}
        for pid in proc_facts.pids():
            if pid not in kept and self.network_of(pid) in ours:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.starter.wait(timeout=60)

    @staticmethod
    def network_of(pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            return None

    def steps(self):
        """Returns the steps of each rank, by its pid."""
        found = {}
        for rank in range(RANKS):
            with contextlib.suppress(FileNotFoundError, ValueError):
                with open(f"{self.folder}/step.{rank}", encoding="ascii") as file:
                    step, pid = map(int, file.read().split())
                    found[pid] = step
        return found

    def verdict(self):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *map(str, self.steps()),
                                            "--json", "-", "-q", *harness.PATIENTLY]))
        return run, run.json()["verdict"]


class MpiLinks(unittest.TestCase):
    def cut(self, starts, call, numbers, ends, how=networks.Networks.cut):
        with self.subTest(call=call, numbers=numbers), Job(starts, call, numbers) as job:
            how(job.networks, *ends)
            proc_facts.wait_until(lambda: max(map(networks.tries, job.steps())) >= TRIES, "tries", 120)
            run, verdict = job.verdict()
            self.assertEqual(verdict["kind"], "link_stall", run)
            self.assertEqual(verdict["culprits"] + verdict["also"], [], run)
            self.assertEqual([tuple(sorted((link["from"]["rank"], link["to"]["rank"])))
                              for link in verdict["links"]], [ends], run)

    def test_a_link_that_is_cut(self):
        for call, numbers, ends in (("all_reduce", 1000, (1, 3)), ("barrier", 1, (0, 1)), ("ring", 1000, (1, 2)),
                                    ("ring", 100000, (2, 3))):
            self.cut(openmpi, call, numbers, ends)

    def test_a_link_that_is_cut_with_mpich(self):
        for call, numbers, ends in (("all_reduce", 1000, (1, 3)), ("barrier", 1, (0, 1)), ("ring", 1000, (1, 2)),
                                    ("ring", 100000, (2, 3))):
            self.cut(mpich, call, numbers, ends)

    def test_a_link_that_loses_some(self):
        """One way, or only large packets."""
        def one_way(net, one, other):
            net.lose(one, other)

        def back(net, one, other):
            net.lose(other, one)

        def large(net, one, other):
            net.lose(one, other, larger=600)
        for starts in (openmpi, mpich):
            for how in (one_way, back, large):
                self.cut(starts, "ring", 1000, (1, 2), how)

    def test_a_rank_that_does_not_receive(self):
        """Its kernel acknowledges until its window is full: no link is broken."""
        for starts in (openmpi, mpich):
            with self.subTest(starts=starts.__name__), Job(starts, "ring", 1000000) as job:
                with open(f"{job.folder}/sleeps.2", "w", encoding="ascii"):
                    pass

                def is_named():
                    run, verdict = job.verdict()
                    self.assertEqual(verdict.get("links", []), [], run)
                    return [row["rank"] for row in verdict["culprits"]] == [2]
                proc_facts.wait_until(is_named, "it is named", 60)

    def slow(self, starts):
        with Job(starts, "all_reduce", 1000) as job:
            job.networks.delay(2, 200)
            before = min(job.steps().values())
            proc_facts.wait_until(lambda: min(job.steps().values()) > before + 2, "they go on", 60)
            run, verdict = job.verdict()
            self.assertNotEqual(verdict["kind"], "link_stall", run)
            self.assertEqual(verdict["culprits"], [], run)

    def test_a_slow_path_is_not_broken(self):
        self.slow(openmpi)

    def test_a_slow_path_is_not_broken_with_mpich(self):
        self.slow(mpich)


if __name__ == "__main__":
    harness.main(networks.why_not)
