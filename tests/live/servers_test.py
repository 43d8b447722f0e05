#!/usr/bin/env python3
"""Runs `oddrank node` on ranks one of which serves the others. If a client does not send its part, all
other clients wait for the server, and the server for that client: the server is not to be named.

    servers_test.py --oddrank PATH
"""

import os
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

THREADED = os.path.join(os.path.dirname(HERE), "victims", "threaded_server.py")
SERVERS = os.path.join(os.path.dirname(HERE), "victims", "servers.py")
RANKS = 3
AT = "5"  # the round in which rank 1 stands
ROUNDS = 20  # of a job that goes on


class Servers(unittest.TestCase):
    def start(self, folder, way, stands):
        """Starts a job; returns its pids by rank when it stands, or when it is well on its way."""
        self.processes = []
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1] if way == "master" else 29500
            for rank in range(RANKS):
                process = subprocess.Popen(
                    [sys.executable, SERVERS, folder, way, stands], stdin=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, pass_fds=[listener.fileno()] if rank == 0 else [],
                    env=dict(os.environ, RANK=str(rank), WORLD_SIZE=str(RANKS),
                             MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                             LISTENER=str(listener.fileno())))
                self.addCleanup(self.end, process)
                self.processes.append(process)
        names = [f"rank.{rank}" for rank in range(RANKS)]
        self.wait_for(folder, *names, "round")
        pids = [int(self.text(folder, name)) for name in names]
        if stands == "none":
            proc_facts.wait_until(lambda: int(self.text(folder, "round")) >= ROUNDS, "they work")
        else:
            self.wait_for(folder, "stands")
            proc_facts.wait_until(lambda: self.text(folder, "asks.2") == AT, "the other one asks")
            for pid in pids:
                proc_facts.wait_until(lambda pid=pid: proc_facts.sleeping(pid), "it stands")
        return pids

    @staticmethod
    def text(folder, name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    @staticmethod
    def wait_for(folder, *names):
        for name in names:
            proc_facts.wait_until(lambda name=name: os.path.exists(os.path.join(folder, name)), name)

    @staticmethod
    def end(process):
        process.kill()
        process.wait(60)

    def verdict(self, way, stands):
        with harness.scratch() as folder:
            pids = self.start(folder, way, stands)
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", *map(str, pids), "--json", "-", "-q"]))
            for process in self.processes:
                self.end(process)
        verdict = run.json()["verdict"]
        return verdict["kind"], [row["rank"] for row in verdict["culprits"]], run

    def test_the_client_that_does_not_ask_is_named(self):
        for stands in ("sleep", "lock"):
            with self.subTest(stands=stands):
                kind, named, run = self.verdict("select", stands)
                self.assertEqual((kind, named), ("stuck_rank", [1]), run)

    def test_the_server_that_does_not_answer_is_named(self):
        # At MASTER_PORT as well: a process without PyTorch keeps no store there.
        for way in ("select", "master"):
            with self.subTest(way=way):
                kind, named, run = self.verdict(way, "server")
                self.assertEqual((kind, named), ("stuck_rank", [0]), run)
                self.assertEqual(run.json()["verdict"]["confidence"], "likely", run)

    def test_of_event_loops_the_one_whose_turn_it_is_is_named(self):
        kind, named, run = self.verdict("loop", "event")
        self.assertEqual((kind, named), ("stuck_rank", [1]), run)
        self.assertEqual(run.json()["verdict"]["confidence"], "possible", run)

    def test_the_thread_that_has_the_connection_owes_the_answer(self):
        for way in ("socketserver", "xmlrpc", "messages", "sockets", "local"):
            with self.subTest(way=way), harness.scratch() as folder:
                self.processes = []
                for rank in range(2):
                    process = subprocess.Popen(
                        [sys.executable, THREADED, folder, way], stdin=subprocess.DEVNULL,
                        env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2",
                                 MASTER_ADDR="127.0.0.1", MASTER_PORT="29500"))
                    self.addCleanup(self.end, process)
                    self.processes.append(process)
                self.wait_for(folder, "pid.0", "pid.1", "asleep")
                pids = [self.text(folder, f"pid.{rank}") for rank in range(2)]
                for pid in pids:
                    proc_facts.wait_until(lambda pid=pid: proc_facts.sleeping(int(pid)), "it waits")
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "node", *pids, "--json", "-", "-q", "--samples", "2",
                     "--interval", "300ms"]))
                for process in self.processes:
                    self.end(process)
                verdict = run.json()["verdict"]
                self.assertEqual(verdict["kind"], "stuck_rank", run)
                self.assertEqual([row["rank"] for row in verdict["culprits"]], [0], run)
                self.assertIn("sleeps in answer (victims/threaded_server.py", verdict["summary"], run)

    def test_nobody_is_named_while_they_work(self):
        for way in ("select", "loop"):
            with self.subTest(way=way):
                _, named, run = self.verdict(way, "none")
                self.assertEqual(named, [], run)


if __name__ == "__main__":
    harness.main()
