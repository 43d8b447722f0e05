#!/usr/bin/python3
"""A front, its engine and a worker of that, which have given themselves titles. The front waits for the
engine's answer, the engine for the worker's, and the worker opens a file.

    roles.py FILE      prints "ready PID PID PID": front, engine and worker
"""

import os
import socket
import subprocess
import sys

TITLES = {"engine": "serve::EngineCore", "worker": "serve::Worker_TP1"}


def start(part, path):
    """Starts a part; returns our end of the connection with it."""
    ours, theirs = socket.socketpair()
    subprocess.Popen([TITLES[part], os.path.abspath(__file__), part, path, str(theirs.fileno())],
                     executable="/proc/self/exe", pass_fds=[theirs.fileno()])
    theirs.close()
    return ours


def main():
    if sys.argv[1] not in TITLES:
        engine = start("engine", sys.argv[1])
        print("ready", os.getpid(), *engine.recv(100).decode().split(), flush=True)
        engine.recv(100)
        return
    _, part, path, number = sys.argv
    caller = socket.socket(fileno=int(number))
    if part == "engine":
        worker = start("worker", path)
        caller.send(f"{os.getpid()} {worker.recv(100).decode()}".encode())
        caller.send(worker.recv(100))
    else:
        caller.send(str(os.getpid()).encode())
        with open(path, encoding="utf-8") as file:
            caller.send(file.read().encode())


main()
