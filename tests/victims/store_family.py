#!/usr/bin/env python3
"""A rank that sets its key in a store and waits for the keys of all; one rank sets another key.

    store_family.py URL RANK SIZE ODD uv|threads

URL is "host:port" of the store, which rank 0 serves.
"""

import datetime
import sys

import torch.distributed as dist


def main():
    host, port = sys.argv[1].rsplit(":", 1)
    rank, size, odd = (int(word) for word in sys.argv[2:5])
    store = dist.PrefixStore("run", dist.TCPStore(host, int(port), None, rank == 0, wait_for_workers=False,
                                                  use_libuv=sys.argv[5] == "uv"))
    store.set(f"ready/{rank}" if rank != odd else "Ready", b"1")
    print("ready", flush=True)
    for other in range(size):
        store.wait([f"ready/{other}"], datetime.timedelta(seconds=1000))


if __name__ == "__main__":
    main()
