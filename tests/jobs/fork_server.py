#!/usr/bin/env python3
"""Starts the ranks of generated jobs by fork, because importing torch takes seconds.

    fork_server.py FD       reads requests from the socket FD, one JSON object each

A request {directory, script, ranks: [{environment, stdin}, ...], keep_zombies} forks a launcher,
the parent of the job's ranks, in a session of its own. The answer is the launcher's pid. A rank
runs `script` as __main__ at the top level of this file, and exits as the interpreter does. stdin:
"null", "pipe" or "pty"; the launcher holds the other end, and writes nothing. The launcher writes
"RANK STATUS" lines to DIR/ended, and exits when all ranks have.

/proc/PID/environ shows the variables that a process was started with, and oddrank finds ranks
there. So the server is started with a long meaningless variable (`room`), and each rank writes its
own variables over it.
"""

import ctypes
import gc
import json
import os
import pickle
import signal
import socket
import sys
import types

ROOM_NAME, ROOM_SIZE = "TEST_ROOM", 2048
PR_SET_PDEATHSIG = 1


def room():
    """Returns the variable that the server has to be started with."""
    return {ROOM_NAME: "-" * ROOM_SIZE}


def overwrite_environment(variables):
    """Makes `variables` part of /proc/self/environ, in place of the room."""
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start, env_end: fields 50 and 51
    with open("/proc/self/environ", "rb") as file:
        old = file.read()
    entry = f"{ROOM_NAME}=".encode()
    at = 0 if old.startswith(entry) else old.index(b"\0" + entry) + 1
    size = old.index(b"\0", at) - at
    new = b"\0".join(f"{name}={value}".encode() for name, value in variables.items())
    if len(new) > size or start + at + size > end:
        raise ValueError("the server's room is too small")
    ctypes.memmove(start + at, new.ljust(size, b"\0"), size)
    os.environ.pop(ROOM_NAME, None)
    os.environ.update(variables)


def end_with(parent, how):
    """Sets the signal `how` that this process gets when its parent dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def open_stdin(kind):
    """Returns (the rank's end, the launcher's end or None)."""
    if kind == "pipe":
        return os.pipe()
    if kind == "pty":
        master, slave = os.openpty()
        return slave, master
    return os.open(os.devnull, os.O_RDONLY), None


def become_rank(request, rank, stdin):
    """Returns the script to run, in a child of the launcher."""
    os.dup2(stdin, 0)
    log = os.open(f"{request['directory']}/log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.closerange(3, 256)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    overwrite_environment(rank["environment"])
    os.chdir(request["directory"])
    sys.argv = [request["script"]]
    sys.path[0] = request["directory"]
    return request["script"]


def launch(request, server):
    """Forks the ranks. Returns the script in each of them; the launcher does not come back. When
    the server dies, the launcher and all processes that the ranks have started die, too."""
    os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
    end_with(server, signal.SIGTERM)
    launcher, held, pids = os.getpid(), [], {}
    for number, rank in enumerate(request["ranks"]):
        stdin, other_end = open_stdin(rank["stdin"])
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            end_with(launcher, signal.SIGKILL)
            return become_rank(request, rank, stdin)
        os.close(stdin)
        held.append(other_end)
        pids[pid] = number
    with open(f"{request['directory']}/pids.new", "w", encoding="utf-8") as file:
        json.dump(list(pids), file)
    os.rename(f"{request['directory']}/pids.new", f"{request['directory']}/pids")
    with open(f"{request['directory']}/ended", "w", encoding="utf-8") as ended:
        while pids:
            options = os.WEXITED | (os.WNOWAIT if request["keep_zombies"] else 0)
            result = os.waitid(os.P_ALL, 0, options)
            ended.write(f"{pids.pop(result.si_pid, -1)} {result.si_status}\n")
            ended.flush()
            if request["keep_zombies"]:
                signal.pause()
    os._exit(0)


def serve(channel):
    """Returns in each rank, with the script that it has to run. The server ends at end of file."""
    server = os.getpid()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        text = channel.recv(1 << 16)
        if not text:
            os._exit(0)
        pid = os.fork()
        if pid == 0:
            channel.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return launch(json.loads(text), server)
        channel.send(str(pid).encode())


def import_everything():
    """Imports what jobs need. It must not start a thread: threads do not survive fork."""
    # pylint: disable=import-outside-toplevel,unused-import
    import warnings
    warnings.filterwarnings("ignore")
    import torch
    import torch.distributed
    import torch.distributed._functional_collectives
    import torch.distributed.device_mesh
    import torch.distributed.fsdp
    import torch.distributed.tensor
    import torch.nn.parallel
    import torch.utils.data
    import torch.utils.file_baton
    import asyncio, concurrent.futures, multiprocessing, pdb, queue, sqlite3, subprocess  # noqa
    import torch._dynamo  # noqa: DDP looks it up
    import job_facts
    try:
        import numpy
    except ImportError:
        # Received objects are read by numpy, which is never on a waiting thread's stack.
        torch.distributed.distributed_c10d._tensor_to_object = read_object
    gc.collect()
    gc.freeze()


def read_object(tensor, size, group):
    return pickle.loads(bytes(tensor.tolist()[:int(size)]))


def run(script):
    """Runs the script as the interpreter would, except for the frames below it."""
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    with open(script, encoding="utf-8") as file:
        code = compile(file.read(), script, "exec")
    exec(code, main.__dict__)  # pylint: disable=exec-used


if __name__ == "__main__":
    import_everything()
    run(serve(socket.socket(fileno=int(sys.argv[1]))))
