#!/usr/bin/env python3
"""Tests the throwaway cluster itself: it starts, several run at once, and it leaves nothing behind however
its owner dies. Needs no oddrank."""

import contextlib
import os
import signal
import subprocess
import sys
import unittest

SUPPORT = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support")
sys.path.insert(0, SUPPORT)
# pylint: disable=wrong-import-position
import harness
import lab_slot
import proc_facts
from cluster import Cluster, read_state

OWNER = f"""
import sys
sys.path.insert(0, {SUPPORT!r})
from cluster import Cluster
lab = Cluster(nodes=2).start()
print(lab.directory, flush=True)
sys.stdin.read()
"""


def bridge_number(state):
    """Returns the kernel's number of the interface, which is never reused; None if it does not exist."""
    with contextlib.suppress(OSError):  # EINVAL: it is being removed
        with open(f"/sys/class/net/oddrank{state['slot']}/ifindex", encoding="ascii") as file:
            return int(file.read())
    return None


def state_of(directory):
    state = read_state(directory)
    state["bridge"] = bridge_number(state)
    assert state["bridge"] is not None, state
    state["started"] = {pid: lab_slot.start_time(pid) for pid in state["pids"].values()}
    return state


def all_dead(state):
    return all(proc_facts.has_ended(pid) or lab_slot.start_time(pid) != started
               for pid, started in state["started"].items())


class LabTest(unittest.TestCase):
    def assert_gone(self, directory, state):
        """Checks that nothing of that cluster is left: no process, no bridge, no folder. A bridge with its
        name may exist if the cluster of another test has taken its slot."""
        self.assertTrue(all_dead(state))
        self.assertNotEqual(bridge_number(state), state["bridge"])
        self.assertFalse(os.path.exists(directory))

    def test_two_at_once_run_jobs_and_end(self):
        with Cluster(nodes=2) as one, Cluster(nodes=3) as two:
            states = {lab.directory: state_of(lab.directory) for lab in (one, two)}
            for lab, nodes in ((one, ["n0", "n1"]), (two, ["n0", "n1", "n2"])):
                count = len(nodes)
                result = lab.run_client(["srun", f"-N{count}", f"-n{count}", "hostname"])
                self.assertEqual(sorted(result.stdout.split()), nodes, result.stderr)
        for directory, state in states.items():
            self.assert_gone(directory, state)

    def test_nodes_are_apart_and_slurmd_can_die_and_return(self):
        with Cluster(nodes=2) as lab:
            self.assertEqual(lab.node_exec("n1", ["hostname"]).stdout.strip(), "n1")
            inside = lab.node_exec("n1", ["sh", "-c", "echo /proc/[0-9]*"]).stdout.split()
            self.assertLess(len(inside), 20)
            lab.kill_slurmd("n1")
            self.assertIsNone(lab.slurmd("n1"))
            lab.restart_slurmd("n1")
            self.assertIsNotNone(lab.slurmd("n1"))

            def answers():
                return lab.run_client(["srun", "-w", "n1", "hostname"]).stdout.strip() == "n1"
            proc_facts.wait_until(answers, "n1 answers again")

    def start_owner(self):
        owner = subprocess.Popen([sys.executable, "-c", OWNER], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        self.addCleanup(owner.wait, 120)
        self.addCleanup(owner.kill)
        self.addCleanup(owner.stdin.close)
        self.addCleanup(owner.stdout.close)
        directory = owner.stdout.readline().strip()
        return owner, directory, state_of(directory)

    def test_owner_killed(self):
        owner, directory, state = self.start_owner()
        owner.kill()
        proc_facts.wait_until(lambda: not os.path.exists(directory), "the keeper noticed")
        self.assert_gone(directory, state)

    def test_keeper_killed_is_cleaned_by_the_next_one(self):
        _, directory, state = self.start_owner()
        os.kill(state["keeper"], signal.SIGKILL)
        proc_facts.wait_until(lambda: all_dead(state), "the cluster died with its keeper")
        proc_facts.wait_until(lambda: proc_facts.has_ended(state["keeper"]),
                              "the keeper is dead")
        lab_slot.sweep()
        # A cluster of another test may have begun to clean up; then ours leaves it to that one.
        proc_facts.wait_until(lambda: not os.path.exists(directory), "it is cleaned")
        self.assert_gone(directory, state)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
