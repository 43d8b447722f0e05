#!/usr/bin/env python3
"""A rank of a job of plain Python: rank 0 has work before it answers the others.

    loop_work.py WORK

WORK is the loop that rank 0 is in for good: "range", "list", "tuple" and "nested" get items done; "stands" is in one
item, "asks" looks for a file at each, "endless" ends never. Prints a line when it is there.
"""

import os
import socket
import sys
import time

ITEMS = 10**5
NAP = 0.05
MISSING = "/nonexistent/go"


def evaluate(nap):
    time.sleep(nap)


def in_range():
    for _ in range(ITEMS):
        evaluate(NAP)


def in_list():
    for _, _ in enumerate([None] * ITEMS):
        evaluate(NAP)


def in_tuple():
    for _ in (None,) * ITEMS:
        evaluate(NAP)


def in_nested():
    for _ in range(ITEMS):
        for _ in range(3):
            evaluate(NAP)


def stands():
    for _ in range(ITEMS):
        evaluate(10**6)


def asks():
    for _ in range(ITEMS):
        if os.path.exists(MISSING):
            break
        time.sleep(NAP)


def endless():
    turn = 0
    while True:
        turn += 1
        evaluate(NAP)


WORK = {"range": in_range, "list": in_list, "tuple": in_tuple, "nested": in_nested, "stands": stands, "asks": asks,
        "endless": endless}


def main():
    port = int(os.environ["MASTER_PORT"])
    if os.environ["RANK"] == "0":
        with socket.socket(fileno=int(os.environ["LISTENER"])) as listener:
            clients = [listener.accept()[0] for _ in range(int(os.environ["WORLD_SIZE"]) - 1)]
            print("ready", flush=True)
            WORK[sys.argv[1]]()
            del clients
    else:
        with socket.create_connection(("127.0.0.1", port)) as server:
            print("ready", flush=True)
            server.recv(1)


if __name__ == "__main__":
    main()
