"""A process that waits for its servers with multiprocessing.connection.wait. Prints "ready", its pid
and the servers'.

    supervisor.py ends|message SERVERS [FIFO]

`ends`: it waits for their end; `message`: also for a message of the last one. With FIFO, the last one
opens it.
"""
import asyncio
import multiprocessing
import multiprocessing.connection
import os
import sys


def serve(ready, fifo, _outbox):
    async def main():
        server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
        ready.release()
        if fifo:
            with open(fifo, encoding="ascii"):
                pass
        await server.serve_forever()
    asyncio.run(main())


def main():
    spawn = multiprocessing.get_context("spawn")
    way, count, fifo = sys.argv[1], int(sys.argv[2]), "".join(sys.argv[3:])
    ready, (inbox, outbox) = spawn.Semaphore(0), spawn.Pipe(duplex=False)
    servers = []
    for number in range(count):
        last = number == count - 1
        servers.append(spawn.Process(target=serve, 
                                     args=(ready, last and fifo, last and outbox)))
        servers[-1].start()
    outbox.close()
    for _ in servers:
        ready.acquire()
    own, waker = spawn.Pipe(duplex=False)  # by which another thread would wake it
    awaited = [*(server.sentinel for server in servers), own]
    print("ready", os.getpid(), *(server.pid for server in servers), flush=True)
    multiprocessing.connection.wait(awaited + [inbox] * (way == "message"))
    del waker


if __name__ == "__main__":
    main()
