#!/usr/bin/env python3
"""A process whose main thread waits for ever, in one of the ways of Python's library.

    python_waits.py HOW

Prints "ready" just before it waits. A wait that needs a child process ends when stdin ends.
"""
import asyncio
import concurrent.futures
import multiprocessing
import os
import queue
import subprocess
import sys
import threading

never = threading.Event()


def in_child():
    os.read(0, 1)


def ready():
    print("ready", flush=True)


def wait_asyncio():
    async def main():
        ready()
        await asyncio.get_running_loop().create_future()
    asyncio.run(main())


def wait_future():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(never.wait)
        ready()
        future.result()


def wait_process_pool():
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        future = pool.submit(in_child)
        ready()
        future.result()


def wait_queue():
    ready()
    queue.Queue().get()


def wait_mp_queue():
    items = multiprocessing.Queue()
    ready()
    items.get()


def wait_mp_join():
    child = multiprocessing.Process(target=in_child)
    child.start()
    ready()
    child.join()


def wait_mp_pool():
    with multiprocessing.Pool(1) as pool:
        result = pool.apply_async(in_child)
        ready()
        result.get()


def wait_mp_connection():
    here, there = multiprocessing.Pipe()
    ready()
    here.recv()
    there.close()


def wait_subprocess():
    child = subprocess.Popen(["cat"])
    ready()
    child.wait()


def wait_join():
    thread = threading.Thread(target=never.wait, daemon=True)
    thread.start()
    ready()
    thread.join()


def wait_event():
    ready()
    never.wait()


def wait_condition():
    condition = threading.Condition()
    with condition:
        ready()
        condition.wait()


def wait_barrier():
    barrier = threading.Barrier(2)
    ready()
    barrier.wait()


globals()[f"wait_{sys.argv[1]}"]()
