#!/usr/bin/env python3
"""Four ranks that lay out NCCL's proxies in their memory by the table of the product, in a library that
has NCCL's name and symbols: no GPU, and no NCCL. What is tested is the way from a process's memory to
the verdict; the table is compared with NVIDIA's libraries by scripts/nccl_offsets.

    nccl_proxies_test.py --oddrank PATH
"""

import json
import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import nccl_layout

LIBRARY = """
static const char version[] = "NCCL version %s+cuda12.9";
const char* ncclGetErrorString(int code) { return version + code; }
void* ncclComms;
int nNcclComms;
static void* ncclLastProxyState;
char ncclNetSocketDevs[4096];
void set(void* list, int length, void* last) {
  ncclComms = list; nNcclComms = length; ncclLastProxyState = last;
}
void* last(void) { return ncclLastProxyState; }
"""
RUNTIME = """
#include <semaphore.h>
int cudaStreamSynchronize(void* stream) { sem_t never; sem_init(&never, 0, 0); return sem_wait(&never); }
"""
MEMORY = r"""
import ctypes, json, os, struct, sys, threading
plan = json.load(sys.stdin)
at, rank, world = plan["layout"], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
nccl, runtime = ctypes.CDLL("./libnccl.so.2"), ctypes.CDLL("./libcudart.so.13")
kept = []
def block(size):
    kept.append(ctypes.create_string_buffer(size))
    return ctypes.addressof(kept[-1])
def put(where, form, value):
    ctypes.memmove(where, struct.pack(form, value), struct.calcsize(form))
"""
# Sends to the rank after it, and receives from the one before it.
RING = r"""
def end(sends, peer):
    kind, resources, connection = "send" if sends else "recv", block(4096), block(256)
    put(resources + at[kind + "_rank"], "<i", rank)
    put(resources + at[kind + "_peer"], "<i", peer)
    put(connection + at["sends"], "<i", int(sends))
    put(connection + at["transport"], "<i", 2)
    put(connection + at["resources"], "<Q", resources)
    return connection
def operation(connection, sends, steps, next_one):
    op = block(1 << 17)
    posted, passed, done = steps
    for channel in range(2):
        sub = op + channel * at["sub_size"]
        put(sub + at["connection"], "<Q", connection)
        put(sub + at["channel"], "<i", channel)
        put(sub + at["steps"], "<i", 24)
        put(sub + at["base"], "<Q", 96)
        put(sub + at["posted"], "<Q", posted)
        put(sub + at["transmitted" if sends else "received"], "<Q", passed)
        put(sub + at["done"], "<Q", done)
    put(op + at["sub_count"], "<i", 2)
    put(op + at["protocol"], "<B", 2)
    put(op + at["state"], "<i", 2)
    put(op + at["next"], "<Q", next_one)
    return op
after, before = (rank + 1) % world, (rank - 1) % world
receive = operation(end(False, before), False, plan["wires"][before]["receiver"], 0)
send = operation(end(True, after), True, plan["wires"][rank]["sender"], receive)
"""
# Each rank is the only head of its host; the network adds up.
COLLNET = r"""
def end(sends):
    kind, resources, connection = "collnet_send" if sends else "collnet_recv", block(4096), block(256)
    put(resources + at[kind + "_head"], "<i", rank)
    put(connection + at["sends"], "<i", int(sends))
    put(connection + at["transport"], "<i", 3)
    put(connection + at["resources"], "<Q", resources)
    put(connection + at["connection_collnet"], "<Q", shared)
    return connection
def operation(connection, counts, next_one):
    op = block(1 << 17)
    for channel in range(2):
        sub = op + channel * at["sub_size"]
        put(sub + at["connection"], "<Q", connection)
        put(sub + at["channel"], "<i", channel)
        put(sub + at["steps"], "<i", 24)
        put(sub + at["base"], "<Q", 96)
        for name, count in zip(("posted", "received", "transmitted", "done"), counts):
            put(sub + at[name], "<Q", count)
    put(op + at["sub_count"], "<i", 2)
    put(op + at["protocol"], "<B", 2)
    put(op + at["state"], "<i", 2)
    put(op + at["next"], "<Q", next_one)
    return op
shared = block(64)
posted, filled, given, returned, taken = plan["heads"][rank]
receive = operation(end(False), (taken + 8, returned, returned, taken), 0)
send = operation(end(True), (posted, filled, given, returned), receive)
"""
STATE = r"""
net, state, comm = block(64), block(8192), block(1 << 21)
put(net, "<Q", ctypes.cast(ctypes.c_char_p(b"Socket"), ctypes.c_void_p).value)
devices = ctypes.addressof(ctypes.c_char.in_dll(nccl, "ncclNetSocketDevs"))
ctypes.memmove(devices + at["socket_name"], b"eth0", 5)
addresses = block(28 * world)
for peer in range(world):
    ctypes.memmove(addresses + 28 * peer, struct.pack("<HHI", 2, 4000 + peer, 7), 8)
put(state + at["rank"], "<i", rank)
put(state + at["ranks"], "<i", world)
put(state + at["net"], "<Q", net)
put(state + at["peer_addresses"], "<Q", addresses)
put(state + at["active"], "<Q", send)
of = plan["communicator"]
for where in (0, of["end_magic"]):
    put(comm + where, "<Q", 0x0280028002800280)
put(comm + of["ranks"], "<i", world)
put(comm + at["proxy_state"], "<Q", state)
if "heads" in plan:
    put(state + at["collnet"], "<Q", net)
    heads = block(4)
    put(heads, "<i", rank)
    put(comm + of["rank"], "<i", rank)
    for member, form, value in (("collnet_shared", "<Q", shared), ("heads", "<Q", heads),
                                ("head_count", "<i", 1), ("nodes", "<i", world)):
        put(comm + at[member], form, value)
listed = block(8)
put(listed, "<Q", comm)
# Ranks with RAS have a list of communicators; the others have the last one's proxy.
is_listed = rank % 2 or "heads" in plan
nccl.set(ctypes.c_void_p(listed if is_listed else 0), int(is_listed), ctypes.c_void_p(0 if is_listed else state))
def move():
    base = 96
    while True:
        base += 1
        for op in (receive, send):
            for channel in range(2):
                put(op + channel * at["sub_size"] + at["base"], "<Q", base)
if plan["moves"]:
    threading.Thread(target=move, daemon=True).start()
# A frame like PyTorch's, by which the rank is in a call.
code = compile("def all_reduce(tensor):\n    wait(None)\n", "/x/torch/distributed/distributed_c10d.py", "exec")
scope = {"wait": runtime.cudaStreamSynchronize}
exec(code, scope)
print("ready", flush=True)
scope["all_reduce"](None) if plan["in_call"] else runtime.cudaStreamSynchronize(None)
"""
# What each sender of a ring of four ranks, and its receiver, have posted, passed on and finished.
LINK = [{"sender": (16, 8, 8), "receiver": (16, 8, 8)}, {"sender": (13, 9, 5), "receiver": (13, 5, 5)},
        {"sender": (14, 6, 6), "receiver": (14, 6, 6)}, {"sender": (15, 7, 7), "receiver": (15, 7, 7)}]
# What each of four heads has room for, and what its GPU has filled, it has given to the network, has
# come back, and its GPU has taken. All but one have given all that they have room for.
HEADS = [(13, 13, 13, 5, 5)] * 4
HEAD_WITHOUT_DATA = [*HEADS[:2], (13, 5, 5, 5, 5), *HEADS[3:]]
HEAD_WITHOUT_RESULT = [(20, 20, 20, 13, 13), (20, 20, 20, 13, 13), (13, 13, 13, 5, 5), (20, 20, 20, 13, 13)]
GPU = [*LINK[:1], {"sender": (17, 9, 9), "receiver": (13, 9, 5)}, *LINK[2:]]


class NcclProxies(unittest.TestCase):
    def ranks(self, version, part, **story):
        folder = self.enterContext(harness.scratch())
        for name, source in (("libnccl.so.2", LIBRARY % version), ("libcudart.so.13", RUNTIME)):
            subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", f"{folder}/{name}"],
                           input=source, text=True, check=True, timeout=120)
        code = sum(int(part) * scale for part, scale in zip(version.split("."), (10000, 100, 1)))
        plan = json.dumps({"layout": nccl_layout.table_row(code, "NcclProxyLayout", "kProxyLayouts"),
                           "communicator": nccl_layout.table_row(code, "NcclLayout", "kLayouts"),
                           "moves": False, "in_call": False, **story})
        ranks = []
        for rank in range(4):
            environment = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "4", "LOCAL_RANK": str(rank),
                           "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
            ranks.append(subprocess.Popen([sys.executable, "-c", MEMORY + part + STATE], cwd=folder, env=environment,
                                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            self.addCleanup(ranks[-1].communicate)
            self.addCleanup(ranks[-1].kill)
            ranks[-1].stdin.write(plan)
            ranks[-1].stdin.close()
            ranks[-1].stdin = None
        for process in ranks:
            self.assertEqual(process.stdout.readline(), "ready\n")
        return [str(process.pid) for process in ranks]

    def verdict(self, pids):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", *pids, "--json", "-", "-q",
                                            "--samples", "2", "--interval", "100ms",
                                            *harness.PATIENTLY]))
        return run, run.json()["verdict"]

    def test_a_link(self):
        for version in ("2.26.2", "2.28.9", "2.32.3"):
            with self.subTest(version):
                run, verdict = self.verdict(self.ranks(version, RING, wires=LINK))
                self.assertEqual(verdict["kind"], "link_stall", run)
                self.assertEqual(verdict["culprits"], [], run)
                link, = verdict["links"]
                self.assertEqual((link["from"]["rank"], link["to"]["rank"], link["from"]["device"]),
                                 (1, 2, "eth0"), run)
                self.assertIn("8 steps given to the network on 2 channels have not arrived",
                              verdict["summary"], run)

    def test_a_gpu(self):
        run, verdict = self.verdict(self.ranks("2.28.9", RING, wires=GPU))
        self.assertEqual((verdict["kind"], [row["rank"] for row in verdict["culprits"]]),
                         ("device_stall", [2]), run)
        self.assertIn("8 steps have arrived on 2 channels of NCCL, and it has taken none",
                      verdict["summary"], run)

    def test_data_that_moves(self):
        run, verdict = self.verdict(self.ranks("2.28.9", RING, wires=LINK, moves=True))
        self.assertNotIn(verdict["kind"], ("link_stall", "device_stall"), run)

    def test_a_gpu_that_gives_nothing_to_collnet(self):
        for version in ("2.26.2", "2.28.9", "2.32.3"):
            with self.subTest(version):
                run, verdict = self.verdict(self.ranks(version, COLLNET, heads=HEAD_WITHOUT_DATA))
                self.assertEqual((verdict["kind"], [row["rank"] for row in verdict["culprits"]]),
                                 ("device_stall", [2]), run)
                self.assertIn("it has given none", verdict["summary"], run)

    def test_a_network_that_adds_up_nothing(self):
        run, verdict = self.verdict(self.ranks("2.28.9", COLLNET, heads=HEADS, in_call=True))
        self.assertEqual((verdict["kind"], verdict["culprits"]), ("below_host", []), run)
        self.assertIn("in the network itself (CollNet, Socket 0): all 4 heads have given it 16 steps on 2 "
                      "channels, and none has got", verdict["summary"], run)

    def test_a_head_without_its_result(self):
        run, verdict = self.verdict(self.ranks("2.28.9", COLLNET, heads=HEAD_WITHOUT_RESULT, in_call=True))
        self.assertEqual((verdict["kind"], verdict["culprits"]), ("below_host", []), run)
        self.assertIn("and rank 2 (", verdict["summary"], run)


if __name__ == "__main__":
    harness.main()
