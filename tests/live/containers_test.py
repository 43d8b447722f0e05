#!/usr/bin/env python3
"""Runs `oddrank node` in a container, of which other ranks of the job may be outside: in a pid namespace of its own,
with the machine's network; beside containers with networks of their own; and outside of containers as users make them
without root.

    containers_test.py --oddrank PATH
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

# A container as `enroot start --root` and `apptainer --fakeroot` make it for a user: namespaces of users and of mounts,
# and a root of its own, which alone has the program. Apptainer's --pid adds a namespace of pids.
USER = ("setpriv", "--reuid=61234", "--regid=61234", "--clear-groups", "--inh-caps=-all")
NAMESPACES = ("unshare", "--map-root-user", "--mount")
ROOTLESS = """
set -e
mount -t tmpfs none "$CONTAINER"
cd "$CONTAINER"
mkdir usr proc app old
for name in bin lib lib64; do ln -s usr/$name $name; done
mount --rbind /usr usr
[ $$ != 1 ] || mount -t proc proc proc
[ $$ = 1 ] || mount --rbind /proc proc
printf %s "$3" >app/train.py
pivot_root . old
cd /
umount -l old
exec "$1" /app/train.py "$4"
"""


def can_be_rootless():
    return subprocess.run([*USER, *NAMESPACES, "true"], stdin=subprocess.DEVNULL, capture_output=True,
                          check=False).returncode == 0


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

    @harness.only_with(can_be_rootless())
    def test_rootless_containers_are_read_by_their_user_and_by_root(self):
        folder = self.enterContext(harness.scratch())
        program = shutil.copy(harness.Options.oddrank, f"{folder}/oddrank")
        os.mkdir(f"{folder}/root")
        os.environ["CONTAINER"] = f"{folder}/root"
        for pids in ((), ("--pid", "--fork", "--kill-child=KILL")):
            before = [*USER, *NAMESPACES, *pids, "sh", "-c", ROOTLESS, "sh"]
            first, port = self.start(1, "0", before=before)
            second, _ = self.start(0, port, before=before)
            ranks = [proc_facts.children(each.pid)[0] if pids else each.pid for each in (first, second)]
            for user in ((), USER):
                with self.subTest(pids=pids, user=user):
                    report = harness.Run(harness.run_here([*user, program, "node", "--select", ADDRESS, "--json", "-",
                                                           *harness.PATIENTLY])).json()
                    self.assertEqual([each["pid"] for each in report["verdict"]["culprits"]], ranks[:1], report["verdict"])
                    self.assertEqual([each["pid"] for each in report["ranks"]], ranks[::-1])
                    for rank in report["ranks"]:
                        self.assertIn("/app/train.py", [frame["filename"] for frame in rank["threads"][0]["frames"]])
            self.end(first)
            self.end(second)

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
