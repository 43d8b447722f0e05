"""Rank 0 serves the other two ranks: `servers.py FOLDER WAY STANDS`. In each round the other ranks
send a byte and wait for the answer, which rank 0 gives when it has both bytes.

  select  rank 0 waits for both connections in select()
  master  the same, at MASTER_PORT, whose listening socket it has been given as LISTENER
  loop    all ranks have an event loop of asyncio; rank 0 takes THINKS to answer: the kernel counts in
          ticks, and only then tells whether it was asked or answered last

In round 5, rank 1 writes FOLDER/stands and stands: in the way named STANDS, or for `none` not at all.
For `server`, rank 0 does, at a lock, when it has both bytes.
Each rank writes its pid to FOLDER/rank.R. Rank 0 writes the number of the round to FOLDER/round, and
each other rank writes it to FOLDER/asks.R before it sends.
"""
import asyncio
import os
import select
import socket
import sys
import threading
import time

FOLDER, WAY, STANDS = sys.argv[1:]
RANK = int(os.environ["RANK"])
AT = 5
THINKS = 0.05  # s; more than a tick of any kernel


def write(name, text):
    path = os.path.join(FOLDER, name)
    with open(path + ".new", "w") as file:
        file.write(str(text))
    os.rename(path + ".new", path)


def stands(number):
    return RANK == (0 if STANDS == "server" else 1) and number == AT and STANDS != "none"


def stand():
    write("stands", "")
    if STANDS in ("lock", "server"):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    elif STANDS == "sleep":
        time.sleep(10**6)


def connect():
    while not os.path.exists(FOLDER + "/port"):
        time.sleep(0.05)
    with open(FOLDER + "/port") as file:
        return "127.0.0.1", int(file.read())


def serve():
    if WAY == "master":
        listener = socket.socket(fileno=int(os.environ["LISTENER"]))
    else:
        listener = socket.create_server(("127.0.0.1", 0))
    write("port", listener.getsockname()[1])
    clients = [listener.accept()[0] for _ in range(2)]
    got, number = set(), 0
    while True:
        for client in select.select(clients, [], [])[0]:
            client.recv(1)
            got.add(client)
        if len(got) == 2:
            number += 1
            write("round", number)
            if stands(number):
                stand()
            got.clear()
            for client in clients:
                client.send(b"x")


def ask():
    server = socket.create_connection(connect())
    number = 0
    while True:
        number += 1
        if stands(number):
            stand()
        write("asks.%d" % RANK, number)
        server.send(b"x")
        server.recv(1)
        time.sleep(0.05)


async def serve_in_loop():
    got, number = [], 0

    async def talk(reader, writer):
        nonlocal number
        while True:
            await reader.readexactly(1)
            got.append(writer)
            if len(got) == 2:
                number += 1
                write("round", number)
                asked = list(got)
                got.clear()
                await asyncio.sleep(THINKS)
                for each in asked:
                    each.write(b"x")
    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    write("port", server.sockets[0].getsockname()[1])
    await server.serve_forever()


async def ask_in_loop():
    reader, writer = await asyncio.open_connection(*connect())
    number = 0
    while True:
        number += 1
        if stands(number):
            write("stands", "")
            await asyncio.Event().wait()
        write("asks.%d" % RANK, number)
        writer.write(b"x")
        await reader.readexactly(1)
        await asyncio.sleep(0.05)


write("rank.%d" % RANK, os.getpid())
if WAY == "loop":
    asyncio.run(serve_in_loop() if RANK == 0 else ask_in_loop())
elif RANK == 0:
    serve()
else:
    ask()
