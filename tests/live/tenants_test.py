#!/usr/bin/env python3
"""Tests that root, when it reads the ranks of another user, opens nothing that this user may not open
himself: files, pipes and sockets that a rank names by its environment, by links, by its descriptors and
from within its own root folder. A watch of the kernel (inotify) on every file that must stay closed tells
whether anybody opened it. The user is a number only; root starts the ranks and lets them become it."""

import ctypes
import json
import os
import pickle
import select
import socket
import struct
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

TENANT = 61234  # no such user is needed
RANKS = 3
IN_ACCESS, IN_MODIFY, IN_OPEN = 0x1, 0x2, 0x20
SLEEP = "import sys; print('ready', flush=True); sys.stdin.read()"
LISTENS = """
import os, socket, sys
pipe = os.open(sys.argv[1], os.O_RDWR)
print('ready', flush=True)
os.read(pipe, 1)
with open(sys.argv[2], 'w') as file:
    file.write('poked')
sys.stdin.read()
"""
POLLS = """
import os, sys, time
def take(path):
    while True:
        try:
            return os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR)
        except OSError:
            time.sleep(0.2)
print('ready', flush=True)
take(sys.argv[1])
"""
CONTROLLED = """
import os, socket, sys, threading
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
def serve():
    while True:
        peer, _ = listener.accept()
        peer.recv(4096)
        with open(sys.argv[2], 'rb') as file:
            peer.sendall(b'HTTP/1.0 200 OK\\r\\n\\r\\n' + file.read())
        peer.close()
threading.Thread(target=serve, daemon=True).start()
print('ready', flush=True)
sys.stdin.read()
"""
LOG = ("[rank0]:[E1121 10:00:01.000 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0(default_pg) Rank 0] "
       "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, "
       "NumelOut=4, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n")


def needs_root():
    return None if os.geteuid() == 0 else "needs root, to become other users"


def dump(rank):
    began = time.time_ns() - 600 * 10**9
    entries = [{"record_id": 0, "process_group": ("0", "default_pg"), "collective_seq_id": 1,
                "profiling_name": "nccl:all_reduce", "time_created_ns": began,
                "input_sizes": [[4]], "input_dtypes": ["Float"], "output_sizes": [[4]],
                "output_dtypes": ["Float"], "state": "scheduled", "retired": False, "is_p2p": False}]
    return pickle.dumps({"version": "2.10", "entries": entries if rank else [], "pg_config": {
        "0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(RANKS)))}}}, protocol=2)


class Watch:
    """The kernel's own record of who touched the files of some folders since the last look."""

    def __init__(self):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self.folders = {}

    def add(self, folder):
        number = self.libc.inotify_add_watch(self.fd, folder.encode(), IN_ACCESS | IN_MODIFY | IN_OPEN)
        self.folders[number] = folder

    def touched(self):
        """Returns the files in these folders that were opened, read or written."""
        names = set()
        while select.select([self.fd], [], [], 0)[0]:
            data, at = os.read(self.fd, 65536), 0
            while at < len(data):
                number, _, _, length = struct.unpack_from("iIII", data, at)
                name = data[at + 16:at + 16 + length].rstrip(b"\0").decode()
                if name:
                    names.add(f"{self.folders[number]}/{name}")
                at += 16 + length
        return names

    def close(self):
        os.close(self.fd)


class Tenants(unittest.TestCase):
    def setUp(self):
        self.scratch = self.enterContext(harness.scratch())
        self.watch = Watch()
        self.addCleanup(self.watch.close)
        self.pids = []
        # Root's own; nobody else may enter it.
        self.vault = f"{self.scratch}/vault"
        os.mkdir(self.vault, 0o700)
        self.home = f"{self.scratch}/home"
        os.mkdir(self.home, 0o755)
        os.chown(self.home, TENANT, TENANT)

    def put(self, path, contents=b"x", mode=0o600):
        with open(path, "wb") as file:
            file.write(contents if isinstance(contents, bytes) else contents.encode())
        os.chmod(path, mode)
        return path

    def own(self, path):
        os.chown(path, TENANT, TENANT, follow_symlinks=False)
        return path

    def link(self, name, to):
        """Makes a link of the tenant."""
        path = f"{self.home}/{name}"
        os.symlink(to, path)
        return self.own(path)

    def start(self, rank, *command, root=None, stderr=None, waits=proc_facts.READ, **environment):
        base = {"PATH": os.environ["PATH"], "RANK": str(rank), "WORLD_SIZE": str(RANKS),
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "HOME": self.home}
        script = ["/usr/bin/python3", "-c", SLEEP]
        if root:
            script[2] = (f"import os; os.chroot({root!r}); os.chdir('/'); os.setgroups([]); "
                         f"os.setgid({TENANT}); os.setuid({TENANT}); " + SLEEP)
        process = subprocess.Popen(
            list(command) or script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            env={**base, **environment}, cwd="/", user=None if root else TENANT,
            group=None if root else TENANT, extra_groups=None if root else [])
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.in_call(process.pid, waits), "it waits")
        self.pids.append(process.pid)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    def diagnose(self, *more, samples=1):
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *map(str, self.pids), "--json", "-", "--samples",
             str(samples), *more]))
        self.assertEqual(run.status, 0, run)
        return run

    def sources(self, run):
        return [row["source"] for row in run.json().get("sources", [])]

    def test_links_to_what_only_root_may_open(self):
        """Links in the tenant's own folder lead to a dump, a configuration and a log of root's."""
        for rank in range(RANKS):
            self.put(f"{self.vault}/dump_{rank}", dump(rank))
            self.link(f"dump_{rank}", f"{self.vault}/dump_{rank}")
        self.put(f"{self.vault}/nccl.conf", "NCCL_RAS_ADDR=127.0.0.1:1\n")
        self.link(".nccl.conf", f"{self.vault}/nccl.conf")
        for rank in range(RANKS):
            self.start(rank, TORCH_FR_DUMP_TEMP_FILE=f"{self.home}/dump_")
        self.watch.add(self.vault)
        run = self.diagnose()
        self.assertEqual(self.watch.touched(), set(), run.err)
        self.assertEqual(self.sources(run), [], run)

    def test_links_of_the_tenant_among_given_dumps(self):
        for rank in range(RANKS):
            self.put(f"{self.vault}/secret_{rank}", dump(rank))
            self.link(f"trace_rank_{rank}", f"{self.vault}/secret_{rank}")
            self.start(rank)
        self.watch.add(self.vault)
        run = self.diagnose("--fr", f"{self.home}/trace_rank_*")
        self.assertEqual(self.watch.touched(), set(), run.err)
        self.assertEqual(self.sources(run), [], run)

    def test_a_pipe_and_a_socket_that_are_not_the_ranks_own(self):
        """A pipe that root reads gets no byte; a socket of root's gets no connection."""
        os.mkfifo(f"{self.vault}/0.pipe", 0o600)
        os.mkfifo(self.own_folder("open") + "/1.pipe", 0o666)
        os.chmod(f"{self.home}/open/1.pipe", 0o666)
        readers = [os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                   for path in (f"{self.vault}/0.pipe", f"{self.home}/open/1.pipe")]
        self.link("0.pipe", f"{self.vault}/0.pipe")
        listeners = []
        for path, mode in ((f"{self.vault}/control", 0o600), (f"{self.home}/open/control", 0o666)):
            listener = socket.socket(socket.AF_UNIX)
            self.addCleanup(listener.close)
            listener.bind(path)
            os.chmod(path, mode)
            listener.listen()
            listener.setblocking(False)
            listeners.append(listener)
        self.link("control", f"{self.vault}/control")
        self.start(0, TORCH_FR_DEBUG_INFO_PIPE_FILE=f"{self.home}/",
                   TORCH_WORKER_SERVER_SOCKET=f"{self.home}/control")
        self.start(1, TORCH_FR_DEBUG_INFO_PIPE_FILE=f"{self.home}/open/",
                   TORCH_WORKER_SERVER_SOCKET=f"{self.home}/open/control")
        self.start(2)
        self.watch.add(self.vault)
        run = self.diagnose()
        self.assertEqual(self.watch.touched(), set(), run.err)
        for reader in readers:
            self.assertEqual(select.select([reader], [], [], 0)[0], [], run)
            os.close(reader)
        for listener in listeners:
            self.assertRaises(BlockingIOError, listener.accept)

    def own_folder(self, name):
        os.mkdir(f"{self.home}/{name}")
        return self.own(f"{self.home}/{name}")

    def test_a_log_that_the_rank_may_only_write(self):
        """Root gave the rank a descriptor of a file that it may not read."""
        path = self.put(f"{self.vault}/log", LOG)
        with open(path, "ab") as log:
            for rank in range(RANKS):
                self.start(rank, stderr=log if rank == 0 else None)
        self.watch.add(self.vault)
        run = self.diagnose()
        self.assertEqual(self.watch.touched(), set(), run.err)
        self.assertNotIn("Watchdog caught", run.out)

    def test_lock_files(self):
        """A rank polls for a lock file where it may not look: neither its age nor the pid in it is said;
        both are, of a file of the rank's own."""
        holder = self.start(2)
        own = self.own(self.put(f"{self.home}/train.lock", str(holder.pid)))
        root = self.put(f"{self.vault}/train.lock", str(holder.pid))
        for rank, path in enumerate((own, root)):
            self.start(rank, "/usr/bin/python3", "-c", POLLS, path,
                       waits=proc_facts.CLOCK_NANOSLEEP)
        self.watch.add(self.vault)
        run = self.diagnose(samples=2)
        self.assertEqual(self.watch.touched(), set(), run.err)
        waits = {rank["rank"]: rank["threads"][0]["wait"] for rank in run.json()["ranks"]}
        self.assertEqual(waits[0]["pid"], holder.pid, waits)
        self.assertIn("made", waits[0]["detail"])
        self.assertIsNone(waits[1]["pid"], waits)
        self.assertNotIn("made", str(waits[1]))

    def test_out_of_the_ranks_root_folder(self):
        """A link in a rank's root folder leads to a file outside that everybody may read."""
        outside = self.own_folder("outside")
        self.put(f"{outside}/nccl.conf", "NCCL_RAS_ADDR=127.0.0.1:1\n", 0o644)
        self.put(f"{outside}/dump_0", dump(0), 0o644)
        root = self.own_folder("root")
        os.mkdir(f"{root}/etc")
        os.symlink(f"{outside}/nccl.conf", f"{root}/etc/nccl.conf")
        os.symlink(f"{outside}/dump_0", f"{root}/dump_0")
        self.start(0, root=root, HOME="/", TORCH_FR_DUMP_TEMP_FILE="/dump_")
        self.start(1)
        self.start(2)
        self.watch.add(outside)
        run = self.diagnose()
        self.assertEqual(self.watch.touched(), set(), run.err)

    def test_fifos_cost_no_time(self):
        for name in ("dump_0", ".nccl.conf", "given_0"):
            os.mkfifo(f"{self.home}/{name}")
            self.own(f"{self.home}/{name}")
        for rank in range(RANKS):
            self.start(rank, TORCH_FR_DUMP_TEMP_FILE=f"{self.home}/dump_")
        began = time.monotonic()
        self.diagnose("--fr", f"{self.home}/given_*")
        self.assertLess(time.monotonic() - began, 8)

    def test_what_is_the_tenants_own_is_read(self):
        """The same places, if all of it is the user's own: a dump for his eyes only, his pipe, and the
        socket on which his rank answers."""
        for rank in range(2):
            self.own(self.put(f"{self.home}/dump_{rank}", dump(rank)))
        os.mkfifo(f"{self.home}/2.pipe", 0o600)
        self.own(f"{self.home}/2.pipe")
        self.start(0, TORCH_FR_DUMP_TEMP_FILE=f"{self.home}/dump_")
        self.start(1, "/usr/bin/python3", "-c", CONTROLLED, f"{self.home}/control",
                   f"{self.home}/dump_1", TORCH_WORKER_SERVER_SOCKET=f"{self.home}/control")
        poked = f"{self.home}/poked"
        self.start(2, "/usr/bin/python3", "-c", LISTENS, f"{self.home}/2.pipe", poked,
                   TORCH_FR_DEBUG_INFO_PIPE_FILE=f"{self.home}/")
        run = self.diagnose()
        self.assertEqual(self.sources(run), ["flight recorder"], run)
        proc_facts.wait_until(lambda: os.path.exists(poked), "the rank got its byte")

    def test_a_link_in_place_of_the_folder_for_dumps(self):
        """A tenant's link leads to a folder of root's: nothing is written there."""
        self.start(0)
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(self.pids[0]), "--fr-dump",
                                            self.link("dumps", self.vault) + "/"]))
        harness.check_trouble(self, run, f"is a link of user {TENANT}", "give a folder of your own")

    def test_what_reads_captures_can_do_little_else(self):
        """While it waits for a capture, `oddrank report` can neither run a program nor get rights."""
        pipe = f"{self.scratch}/capture"
        os.mkfifo(pipe)
        process = subprocess.Popen([harness.Options.oddrank, "report", pipe], stdin=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        with open(pipe, "wb"):  # it opens the pipe, so it has come so far
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                status = dict(line.split(":\t") for line in file.read().splitlines() if ":\t" in line)
        process.wait(60)
        self.assertEqual((status["NoNewPrivs"], status["Seccomp"]), ("1", "2"))

    def test_a_program_with_the_rights_of_its_owner(self):
        """A setuid program runs with a tenant's environment: what it names is not opened as root."""
        program = f"{self.scratch}/setuid"
        with open("/bin/sleep", "rb") as file:
            self.put(program, file.read(), 0o4755)
        self.put(f"{self.vault}/dump_0", dump(0))
        os.mkfifo(f"{self.vault}/hold")
        process = subprocess.Popen(
            [program, "1000"], env={"RANK": "0", "WORLD_SIZE": "1", "PATH": os.environ["PATH"],
                                    "TORCH_FR_DUMP_TEMP_FILE": f"{self.vault}/dump_"},
            user=TENANT, group=TENANT, extra_groups=[], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end, process)
        proc_facts.wait_until(
            lambda: os.readlink(f"/proc/{process.pid}/exe") == program, "it runs")
        self.watch.add(self.vault)
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid),
                                            "--json", "-", "--samples", "1"]))
        self.assertEqual(self.watch.touched(), set(), run.err)
        self.assertTrue(json.loads(run.out)["ranks"], run)


if __name__ == "__main__":
    harness.main(needs_root)
