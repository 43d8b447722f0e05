#!/usr/bin/env python3
"""Four ranks that create a communicator of NCCL, to which one has not come: no GPU. The root, which counts
those that have come, is made up by the table of the product; or, if a libnccl.so.2 is at hand, it is the
real one, to which the test says what a rank says. That a rank is in ncclCommInitRank is made up in both.

    nccl_root_test.py --oddrank PATH     ODDRANK_NCCL=/a/libnccl.so.2:/b/libnccl.so.2 names real ones
"""

import json
import os
import platform
import socket
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import nccl_layout

WORLD, LATE = 4, 3
COMING = (0, 2, 1)  # rank 1 leaves no note at the root: both of its neighbours have come before
HEARD = "NCCL's bootstrap root (rank 0) has heard of "
COUNTED, NOT_COUNTED = HEARD + "3 of 4 ranks, not of 3", HEARD + "at least 2 of 4 ranks"
CREATES = """
#include <semaphore.h>
int ncclCommInitRank(void) { sem_t never; sem_init(&never, 0, 0); return sem_wait(&never); }
"""
# A thread whose frame is a copy of the bytes that it is given, and which calls accept() from there.
ROOT = """
#include <pthread.h>
#include <sys/socket.h>
static const char version[] = "NCCL version %s+cuda12.9";
const char* ncclGetErrorString(int code) { return version + code; }
static int listening;
__attribute__((used)) static void waits(void) { accept(listening, 0, 0); }
__asm__(".pushsection .text\\n"
        ".type _ZL13bootstrapRootPv, @function\\n"
        "_ZL13bootstrapRootPv:\\n"
        "push %%rbp\\n mov %%rsp, %%rbp\\n sub $1024, %%rsp\\n"
        "mov %%rdi, %%rsi\\n mov %%rsp, %%rdi\\n mov $1024, %%ecx\\n rep movsb\\n"
        "call waits\\n leave\\n ret\\n"
        ".size _ZL13bootstrapRootPv, .-_ZL13bootstrapRootPv\\n"
        ".popsection\\n");
void* root(void*) __asm__("_ZL13bootstrapRootPv");
int start(void* frame, int socket) {
  pthread_t thread;
  listening = socket;
  return pthread_create(&thread, 0, root, frame);
}
"""
RANK = r"""
import ctypes, json, os, socket, struct, sys, time
plan, rank = json.loads(sys.argv[1]), int(os.environ["RANK"])
def made_up_root():
    at, world = plan["layout"], plan["world"]
    infos, addresses = (ctypes.create_string_buffer(size * world) for size in (128, 28))
    frame = ctypes.create_string_buffer(1024)
    def put(block, where, form, value):
        ctypes.memmove(ctypes.addressof(block) + where, struct.pack(form, value), struct.calcsize(form))
    for one in plan["coming"]:
        if not addresses[28 * ((one - 1) % world)][0]:
            put(infos, 128 * one, "<H", 2)
        if not infos[128 * ((one + 1) % world)][0]:
            put(addresses, 28 * one, "<H", 2)
    put(frame, at["ranks"], "<i", world)
    if at["came"] >= 0:
        put(frame, at["came"], "<i", len(plan["coming"]))
    put(frame, at["infos"], "<Q", ctypes.addressof(infos))
    put(frame, at["addresses"], "<Q", ctypes.addressof(addresses))
    for where, value in ((0, plan["coming"][-1]), (4, world), (at["part"], 0), (at["parts"], 1)):
        put(frame, at["last"] + where, "<i", value)
    listens = socket.create_server(("127.0.0.1", 0))
    assert ctypes.CDLL("./libnccl.so.2").start(frame, listens.fileno()) == 0
    return frame, infos, addresses, listens
def real_root():
    unique_id = ctypes.create_string_buffer(128)
    assert ctypes.CDLL(plan["library"]).ncclGetUniqueId(unique_id) == 0
    print(unique_id.raw.hex(), flush=True)
if rank == 0:
    kept = real_root() if "library" in plan else made_up_root()
creates = ctypes.CDLL("./libcreates.so")
def fetches_weights():
    time.sleep(1000)
print("ready", flush=True)
fetches_weights() if rank == plan["late"] else creates.ncclCommInitRank()
"""


def tell(unique_id, version, ranks):
    """Says to a real root what each of the ranks says (struct extInfo), and returns their sockets."""
    _, port, address = struct.unpack(">HH4s", unique_id[8:16])
    kept = []
    for rank in ranks:
        listens = socket.create_server((socket.inet_ntoa(address), 0))
        kept.append(listens)
        here = struct.pack("<H", 2) + struct.pack(">H", listens.getsockname()[1]) + address + bytes(20)
        message = struct.pack("<4i", rank, WORLD, 0, 1) + bytes(4 if version >= 22902 else 0)
        message += here + here + bytes(100)
        with socket.create_connection((socket.inet_ntoa(address), port), 60) as to_root:
            to_root.settimeout(60)
            to_root.sendall(unique_id[:8] + struct.pack("<ii", 1, len(message)) + message)
            to_root.recv(1)  # it has read the message, and closes
    return kept


@unittest.skipIf(platform.machine() != "x86_64", "the frame of NCCL's root is known for x86-64")
class NcclRoot(unittest.TestCase):
    def ranks(self, version, **plan):
        folder = self.enterContext(harness.scratch())
        for name, source in (("libcreates.so", CREATES), ("libnccl.so.2", ROOT % version)):
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{folder}/{name}"],
                           input=source, text=True, check=True, timeout=120)
        code = sum(int(part) * scale for part, scale in zip(version.split("."), (10000, 100, 1)))
        plan.update(world=WORLD, late=LATE, coming=COMING,
                    layout=nccl_layout.table_row(code, "NcclRootLayout", "kRootLayouts"))
        ranks = []
        for rank in range(WORLD):
            environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": str(WORLD),
                           "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
            ranks.append(subprocess.Popen([sys.executable, "-c", RANK, json.dumps(plan)], cwd=folder,
                                          env=environment, stdout=subprocess.PIPE, text=True))
            self.addCleanup(ranks[-1].communicate)
            self.addCleanup(ranks[-1].kill)
        if "library" in plan:
            unique_id = bytes.fromhex(ranks[0].stdout.readline())
            for listens in tell(unique_id, code, COMING):
                self.addCleanup(listens.close)
        for process in ranks:
            self.assertEqual(process.stdout.readline(), "ready\n")
        return [str(process.pid) for process in ranks]

    def check(self, version, **plan):
        pids = self.ranks(version, **plan)
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *pids, "--json", "-", "-q",
                                            "--samples", "2", "--interval", "100ms",
                                            *harness.PATIENTLY]))
        verdict = run.json()["verdict"]
        self.assertEqual((verdict["kind"], [row["rank"] for row in verdict["culprits"]]),
                         ("rendezvous", [LATE]), run)
        counts = version >= "2.28"
        self.assertIn(COUNTED if counts else NOT_COUNTED, verdict["chain"][0]["evidence"], run)

    def test_a_made_up_root(self):
        for version in ("2.26.2", "2.28.9", "2.29.7", "2.32.3"):
            with self.subTest(version):
                self.check(version)

    def test_real_roots(self):
        """Those at hand; none in CI."""
        for library in nccl_layout.find_libraries():
            with self.subTest(library):
                self.check(nccl_layout.version(library), library=library)


if __name__ == "__main__":
    harness.main()
