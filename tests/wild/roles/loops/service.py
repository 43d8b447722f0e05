"""A service with anyio, on trio or asyncio, and its client.

    service.py trio|asyncio healthy|locks|event|joins     the service
    service.py client -

Each answer takes a shard, which a thread of a pool reads. With `locks`, after some answers, the task
that answers and one beside it want each other's locks; with `event`, it waits for one that nobody
sets; with `joins`, it waits for a thread that wants something of the loop.
"""
import socket
import sys
import threading
import time

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread

import run_folder

ANSWERS = 5
PORT = 29520


async def move(own, other, inside):
    async with own:
        inside.append(own)
        while len(inside) < 2:
            await anyio.sleep(0.01)
        async with other:
            pass


def join_asking_thread():
    """The loop runs this, so it cannot do what the thread asks for."""
    token = anyio.lowlevel.current_token()
    thread = threading.Thread(
        target=lambda: anyio.from_thread.run(anyio.sleep, 0, token=token))
    thread.start()
    thread.join()


async def answer(stream, how):
    answers = 0
    async for _ in stream:
        answers += 1
        if answers > ANSWERS and how == "event":
            await anyio.Event().wait()
        if answers > ANSWERS and how == "joins":
            join_asking_thread()
        if answers > ANSWERS and how == "locks":
            one, two, inside = anyio.Lock(), anyio.Lock(), []
            async with anyio.create_task_group() as group:
                group.start_soon(move, one, two, inside)
                group.start_soon(move, two, one, inside)
        await anyio.to_thread.run_sync(run_folder.read, "shard.0")
        await stream.send(b"a")


async def serve(how):
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=PORT)
    await listener.serve(lambda stream: answer(stream, how))


def ask():
    while True:
        try:
            link = socket.create_connection(("127.0.0.1", PORT))
            break
        except ConnectionRefusedError:
            pass
    while True:
        link.sendall(b"q")
        link.recv(1)
        run_folder.count("client")
        time.sleep(0.1)


def main():
    backend, how = sys.argv[1:3]
    run_folder.record("client" if backend == "client" else "server")
    if backend == "client":
        ask()
    else:
        anyio.run(serve, how, backend=backend)


if __name__ == "__main__":
    main()
