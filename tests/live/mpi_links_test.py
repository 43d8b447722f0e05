#!/usr/bin/env python3
"""Runs `oddrank node` on MPI ranks, each in a network of its own, of which two lose what they send to each
other; or one does not receive. With Open MPI and MPICH, whichever are installed, over TCP.

    mpi_links_test.py --oddrank PATH
"""

import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import networks
import proc_facts

COMPILERS = {name: f"mpicc.{name}" for name in ("openmpi", "mpich") if shutil.which(f"mpicc.{name}")}
RANKS = 3
STEPS = 3  # of each rank, before anything happens
TRIES = 5  # of the kernel: about seven seconds
FLOATS = 100_000
# Writes its pid, and the number of each step before it. While FOLDER/sleeps.RANK exists, it sleeps.
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void write_number(const char* folder, const char* name, int rank, int number) {
  char path[4096], fresh[4096];
  snprintf(path, sizeof path, "%s/%s.%d", folder, name, rank);
  snprintf(fresh, sizeof fresh, "%s/new.%d", folder, rank);
  FILE* file = fopen(fresh, "w");
  fprintf(file, "%d", number);
  fclose(file);
  rename(fresh, path);
}
int main(int count, char** words) {
  MPI_Init(&count, &words);
  int rank = 0, floats = atoi(words[2]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  write_number(words[1], "pid", rank, getpid());
  float* mine = calloc(floats, sizeof(float));
  float* all = calloc(floats, sizeof(float));
  char sleeps[4096];
  snprintf(sleeps, sizeof sleeps, "%s/sleeps.%d", words[1], rank);
  for (int step = 0;; ++step) {
    write_number(words[1], "step", rank, step);
    while (access(sleeps, F_OK) == 0) sleep(1000);
    MPI_Allreduce(mine, all, floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    usleep(50000);
  }
}
"""
# What the launcher runs in place of ssh: [OPTION...] ADDRESS COMMAND...
AGENT = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
address=$1
shift
case $address in
%s
esac
exec nsenter --net=/proc/$pid/ns/net sh -c "$*"
"""


def launch(name, agent, addresses):
    hosts = ",".join(addresses)
    if name == "mpich":
        return ["mpirun.mpich", "-launcher", "ssh", "-launcher-exec", agent, "-hosts", hosts, "-n", str(RANKS)]
    return ["mpirun.openmpi", "--allow-run-as-root", "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", agent,
            "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "eth0",
            "--mca", "oob_tcp_if_include", "eth0", "--host", hosts, "-n", str(RANKS)]


class MpiLinks(unittest.TestCase):
    def start(self, name):
        """Returns the networks of ranks that work, and their folder."""
        folder = self.enterContext(harness.scratch())
        subprocess.run([COMPILERS[name], "-w", "-O1", "-x", "c", "-", "-o", f"{folder}/program"],
                       input=PROGRAM, text=True, check=True, timeout=300)
        nets = self.enterContext(networks.Networks(RANKS))
        addresses = [nets.address(rank) for rank in range(RANKS)]
        agent = f"{folder}/agent"
        with open(agent, "w", encoding="utf-8") as file:
            file.write(AGENT % "\n".join(f"{address}) pid={pid};;" for address, pid in zip(addresses, nets.pids())))
        os.chmod(agent, 0o755)
        nets.start(0, [*launch(name, agent, addresses), f"{folder}/program", folder, str(FLOATS)],
                   stderr=subprocess.DEVNULL, env=dict(os.environ, FI_PROVIDER="tcp", UCX_TLS="tcp,self"))
        self.addCleanup(self.end, folder)
        proc_facts.wait_until(lambda: min(self.numbers(folder, "step")) > STEPS, "they work", 120)
        return nets, folder

    @staticmethod
    def numbers(folder, name):
        found = []
        for rank in range(RANKS):
            path = f"{folder}/{name}.{rank}"
            if not os.path.exists(path):
                return [0]
            with open(path, encoding="utf-8") as file:
                found.append(int(file.read()))
        return found

    def end(self, folder):
        for pid in filter(None, self.numbers(folder, "pid")):
            if os.path.exists(f"/proc/{pid}"):
                os.kill(pid, 9)

    def verdict(self, folder):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node",
                                            *map(str, self.numbers(folder, "pid")), "--json", "-", "-q"]))
        return run.json()["verdict"], run

    def test_a_link_that_loses_everything(self):
        for name in COMPILERS:
            with self.subTest(name):
                nets, folder = self.start(name)
                nets.cut(1, 2)
                proc_facts.wait_until(lambda pids=self.numbers(folder, "pid"):
                                      max(map(networks.tries, pids)) >= TRIES, "tries", 120)
                verdict, run = self.verdict(folder)
                self.assertEqual((verdict["kind"], verdict["culprits"]), ("link_stall", []), run)
                self.assertEqual([sorted(link[end]["rank"] for end in ("from", "to"))
                                  for link in verdict["links"]], [[1, 2]], run)

    def test_a_rank_that_does_not_receive(self):
        for name in COMPILERS:
            with self.subTest(name):
                _, folder = self.start(name)
                with open(f"{folder}/sleeps.1", "w", encoding="utf-8"):
                    pass
                pid = self.numbers(folder, "pid")[1]
                proc_facts.wait_until(lambda at=pid: proc_facts.sleeping(at), "it sleeps")
                verdict, run = self.verdict(folder)
                self.assertEqual([row["rank"] for row in verdict["culprits"]], [1], run)
                self.assertEqual(verdict.get("links", []), [], run)


if __name__ == "__main__":
    harness.main(networks.why_not,
                 lambda: None if COMPILERS else "not installed: mpicc.openmpi, mpicc.mpich (libopenmpi-dev, libmpich-dev)")
