#!/usr/bin/env python3
"""A rank of a job of plain Python: rank 0 has work before it answers the others.

    loop_work.py WORK

WORK is the loop that rank 0 is in for good. Those of GETS_DONE get items done; those of WAITS come nearer to an end, too,
but ask for something at each turn, stand in one item, or end never. Prints a line when it is there.
"""

import concurrent.futures
import os
import queue
import socket
import subprocess
import sys
import threading
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


def emptied():
    items = list(range(ITEMS))
    while items:
        items.pop()
        evaluate(NAP)


def counted():
    done = 0
    while done < ITEMS:
        done += 1
        evaluate(NAP)


def children():
    for _ in range(ITEMS):
        subprocess.run(["sleep", str(NAP)], check=True)


def of_queue():
    box = queue.Queue(1)

    def fill():
        while True:
            evaluate(NAP)
            box.put(None)

    threading.Thread(target=fill, daemon=True).start()
    for _ in dict.fromkeys(range(ITEMS)):
        box.get(timeout=60)


def completed():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in concurrent.futures.as_completed([pool.submit(evaluate, NAP) for _ in range(1000)]):
            done.result()


def looks_aside():
    for _ in range(ITEMS):
        os.path.exists(MISSING)
        evaluate(NAP)


def tries():
    box = queue.Queue()
    for _ in range(ITEMS):
        try:
            box.get(timeout=NAP)
            break
        except queue.Empty:
            continue


def checks():
    left = ITEMS
    while left > 0:
        left -= 1
        if os.path.exists(MISSING):
            return
        time.sleep(NAP)


def remembers():
    for _ in range(ITEMS):
        found = os.path.exists(MISSING)
        time.sleep(NAP)
        if found:
            break


def gathers():
    found = []
    for _ in range(ITEMS):
        found.append(os.path.exists(MISSING))
        if any(found):
            break
        time.sleep(NAP)


def waits_for_event():
    done = threading.Event()
    for _ in range(ITEMS):
        if done.wait(NAP):
            break


GETS_DONE = (in_range, in_list, in_tuple, in_nested, emptied, counted, children, of_queue, completed, looks_aside)
WAITS = (stands, asks, endless, tries, checks, remembers, gathers, waits_for_event)
WORK = {work.__name__: work for work in GETS_DONE + WAITS}


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
