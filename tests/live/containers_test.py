#!/usr/bin/env python3
"""Runs `oddrank node` in a container, of which other ranks of the job may be outside: in a pid namespace of its own,
with the machine's network; and beside containers with networks of their own.

    containers_test.py --oddrank PATH
"""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

# Rank 0 receives from rank 1, which reads its stdin, or has ended. Or rank 1 has the store at which
# the ranks meet, and rank 0 waits for something else.
RANK = """
import os, socket, sys
if os.environ["RANK"] == "1":
    listener = socket.create_server(("127.0.0.1", int((sys.argv + ["0"])[1])))
    print(listener.getsockname()[1], flush=True)
    other = listener.accept()[0]
    sys.stdin.read()
else:
    other = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    print("ready", flush=True)
    if int(sys.argv[1]) == int(os.environ["MASTER_PORT"]) or other.recv(1) == b"":
        sys.stdin.read()
"""


PORT = 20000 + os.getpid() % 10000
ADDRESS = f"127.0.0.1:{PORT}"


class Containers(unittest.TestCase):
    def start(self, rank, *words, before=()):
        """Returns the process when it has said a line, and the line."""
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(PORT))
        process = subprocess.Popen([*before, "/usr/bin/python3", "-c", RANK, *words], env=environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        return process, process.stdout.readline().strip()

    @staticmethod
    def end(process):
        process.kill()
        process.communicate(timeout=60)

    def report(self, unshare):
        """Returns the report made in the namespace that `unshare` has made."""
        inner, = proc_facts.children(unshare.pid)
        run = harness.Run(harness.run_here(["nsenter", "-t", str(inner), "-m", "-p", harness.Options.oddrank, "node",
                                            "--json", "-", *harness.PATIENTLY]))
        return run.json()

    def contained(self, *before):
        return [*harness.unshare("--pid", "--fork", "--mount-proc", "--kill-child=KILL"), *before]

    def check_unknown(self, report):
        self.assertEqual(report["verdict"]["culprits"], [], report["verdict"])
        self.assertNotEqual(report["verdict"]["kind"], "missing_rank")
        self.assertEqual([(each["rank"], each["why"]) for each in report["coverage"]["unread"]],
                         [(1, "not in the containers that were looked at")])

    def test_two_containers_at_one_address_have_two_jobs(self):
        pids = []
        for _ in range(2):
            unshare, _ = self.start(1, before=harness.unshare("--net", "--fork", "--kill-child=KILL"))
            pids.extend(proc_facts.children(unshare.pid))
        found = []
        for network in {os.readlink(f"/proc/{pid}/ns/net").strip("net:[]") for pid in pids}:
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", "--select", f"{ADDRESS} in network {network}", "--json", "-",
                 *harness.PATIENTLY]))
            found.append([each["pid"] for each in run.json()["ranks"]])
        self.assertEqual(sorted(found), sorted([pid] for pid in pids))

    def test_a_rank_of_another_container_is_not_gone(self):
        _, port = self.start(1)
        unshare, _ = self.start(0, port, before=self.contained())
        self.check_unknown(self.report(unshare))

    def test_nor_if_a_shell_started_the_container(self):
        _, port = self.start(1)
        unshare, _ = self.start(0, port, before=self.contained("sh", "-c", '"$@"; exit', "sh"))
        self.check_unknown(self.report(unshare))

    def test_nor_if_nobody_waits_for_its_connection(self):
        self.start(1, str(PORT))
        unshare, _ = self.start(0, str(PORT), before=self.contained("sh", "-c", '"$@"; exit', "sh"))
        self.check_unknown(self.report(unshare))

    def test_a_rank_that_ended_in_this_container_is_gone(self):
        first, port = self.start(1)
        unshare, _ = self.start(0, port, before=self.contained("sh", "-c", '"$@"; exit', "sh"))
        self.end(first)
        shell, = proc_facts.children(unshare.pid)
        rank, = proc_facts.children(shell)
        proc_facts.wait_until(lambda: proc_facts.in_call(rank, proc_facts.READ), "rank 0 has seen its end")
        verdict = self.report(unshare)["verdict"]
        self.assertEqual((verdict["kind"], [each["rank"] for each in verdict["culprits"]]), ("missing_rank", [1]))


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
