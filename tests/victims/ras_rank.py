#!/usr/bin/env python3
"""One rank with a real RAS service of NCCL and no GPU: it loads a real libnccl.so.2, gives its RAS a
made-up communicator, and sleeps.

    RANK=r WORLD_SIZE=n NCCL_RAS_ADDR=... ras_rank.py LAYOUT.json DIR COUNT

LAYOUT.json is the output of tests/support/nccl_layout.py. The ranks meet in DIR. COUNT is the
number of AllReduces that this rank pretends to have launched; with "0+20" a thread starts at 0 and
adds 20 a second until the first line arrives. Each line on stdin is a new count; at the end of
stdin the rank exits. It writes DIR/ready-R when its RAS knows all ranks.
"""

import ctypes
import json
import os
import socket
import struct
import sys
import threading
import time

MAGIC = 0x0280028002800280
COMM_HASH = 0x1122334455667788
HOST_HASH, PID_HASH = 0x99, 0x5500
ALL_REDUCE = 4  # of seqNumber
RANK_INIT = struct.Struct("=28siiiQQ")  # rasRankInit: address, pid, cudaDev, nvmlDev, two hashes


class Rank:
    def __init__(self, layout, directory, rank, ranks):
        self.layout, self.directory, self.rank, self.ranks = layout, directory, rank, ranks
        library = ctypes.CDLL(layout["library"])
        version = ctypes.cast(library.pncclGetVersion, ctypes.c_void_p).value
        base = version - layout["version"]
        pointers = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        self.comm_init = pointers(base + layout["comm_init"])
        self.add_ranks = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int)(
            base + layout["add_ranks"])
        self.comm = ctypes.create_string_buffer(layout["comm_size"])
        self.peers = ctypes.create_string_buffer(layout["peer_size"] * ranks)
        self.abort = ctypes.c_uint32(0)

    def put(self, name, kind, value):
        if self.layout["comm"][name] is not None:  # not every version has all of them
            struct.pack_into(kind, self.comm, self.layout["comm"][name], value)

    def set_count(self, count):
        struct.pack_into("=Q", self.comm, self.layout["comm"]["seqNumber"] + 8 * ALL_REDUCE, count)

    def fill(self, count):
        for name in ("startMagic", "endMagic", "magic"):
            self.put(name, "=Q", MAGIC)
        self.put("commHash", "=Q", COMM_HASH)
        for name, value in (("rank", self.rank), ("nRanks", self.ranks), ("cudaDev", self.rank),
                            ("nvmlDev", self.rank)):
            self.put(name, "=i", value)
        self.put("peerInfoValid", "=B", 1)
        self.put("peerInfo", "=Q", ctypes.addressof(self.peers))
        self.put("abortFlag", "=Q", ctypes.addressof(self.abort))
        self.set_count(count)
        for at in range(self.ranks):
            first = at * self.layout["peer_size"]
            for name, kind, value in (("rank", "=i", at), ("cudaDev", "=i", at),
                                      ("nvmlDev", "=i", at),
                                      ("hostHash", "=Q", (HOST_HASH + COMM_HASH) % 2**64),
                                      ("pidHash", "=Q", (PID_HASH + at + COMM_HASH) % 2**64)):
                struct.pack_into(kind, self.peers, first + self.layout["peer"][name], value)

    def start_service(self):
        address = struct.pack("=H", socket.AF_INET) + b"\0\0" + socket.inet_aton("127.0.0.1")
        mine = ctypes.create_string_buffer(RANK_INIT.pack(
            address.ljust(28, b"\0"), os.getpid(), self.rank, self.rank, HOST_HASH,
            PID_HASH + self.rank))
        status = self.comm_init(ctypes.addressof(self.comm), ctypes.addressof(mine))
        if status != 0:
            raise RuntimeError(f"ncclRasCommInit: {status}")
        return mine.raw[:RANK_INIT.size]

    def meet(self, mine):
        """Exchanges the rasRankInit of all ranks through files."""
        with open(f"{self.directory}/.rank-{self.rank}", "wb") as file:
            file.write(mine)
        os.rename(f"{self.directory}/.rank-{self.rank}", f"{self.directory}/rank-{self.rank}")
        everybody = b""
        deadline = time.monotonic() + 60
        for rank in range(self.ranks):
            while not os.path.exists(f"{self.directory}/rank-{rank}"):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"rank {rank} did not come")
                time.sleep(0.01)
            with open(f"{self.directory}/rank-{rank}", "rb") as file:
                everybody += file.read()
        libc = ctypes.CDLL(None)  # the service frees it
        libc.malloc.restype = ctypes.c_void_p
        block = libc.malloc(ctypes.c_size_t(len(everybody)))
        ctypes.memmove(block, everybody, len(everybody))
        status = self.add_ranks(block, self.ranks)
        if status != 0:
            raise RuntimeError(f"ncclRasAddRanks: {status}")


def launch(rank, end, every_s):
    count = 0
    while not end.wait(every_s):
        count += 1
        rank.set_count(count)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        layout = json.load(file)
    rank = Rank(layout, sys.argv[2], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    count, _, per_second = sys.argv[3].partition("+")
    rank.fill(int(count))
    rank.meet(rank.start_service())
    with open(f"{sys.argv[2]}/ready-{rank.rank}", "wb"):
        pass
    if per_second:
        lines = threading.Event()
        arguments = (rank, lines, 1 / float(per_second))
        threading.Thread(target=launch, args=arguments, daemon=True).start()
        sys.stdin.readline()
        lines.set()
    for line in sys.stdin:
        rank.set_count(int(line))
    os._exit(0)


if __name__ == "__main__":
    main()
