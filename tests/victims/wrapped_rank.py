"""A rank below processes that only wait for it.

    wrapped_rank.py FOLDER LIBRARY WRAPPER,WRAPPER...

Each WRAPPER starts the next, the last one starts the rank; see WRAPPERS and PROGRAMS. The rank loads the
library of that path ("" for none), writes its pid to FOLDER/rank.$RANK and sleeps.
"""

import asyncio
import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time


def command(folder, library, wrappers):
    return [sys.executable, os.path.abspath(__file__), folder, library, ",".join(wrappers)]


def run(*rest):
    subprocess.run(command(*rest), check=False)


def capture(*rest):
    subprocess.run(command(*rest), check=False, stdout=subprocess.PIPE)


def lines(*rest):
    with subprocess.Popen(command(*rest), stdout=subprocess.PIPE) as child:
        for _ in child.stdout:
            pass


def poll(*rest):
    with subprocess.Popen(command(*rest)) as child:
        while child.poll() is None:
            time.sleep(0.05)


def thread(*rest):
    done = threading.Event()

    def wait():
        subprocess.run(command(*rest), check=False)
        done.set()
    threading.Thread(target=wait, daemon=True).start()
    done.wait()


def aio(*rest):
    async def wait():
        child = await asyncio.create_subprocess_exec(*command(*rest))
        await child.wait()
    asyncio.run(wait())


def fork(*rest):
    pid = os.fork()
    if pid == 0:
        start(*rest)
        os._exit(0)
    os.waitpid(pid, 0)


def mp_fork(*rest):
    child = multiprocessing.get_context("fork").Process(target=start, args=rest)
    child.start()
    child.join()


def mp_spawn(*rest):
    child = multiprocessing.get_context("spawn").Process(target=start, args=rest)
    child.start()
    child.join()


def become(*words):
    return lambda *rest: os.execvp(words[0], [*words, *command(*rest)])


# Wrappers that do nothing but wait for their child.
WRAPPERS = {"run": run, "thread": thread, "asyncio": aio, "fork": fork, "mp_fork": mp_fork,
            "mp_spawn": mp_spawn,
            "sh": become("sh", "-c", '"$@"; exit $?', "sh"),
            "bash": become("bash", "-c", 'trap : TERM; "$@"; exit $?', "bash"),
            "env": become("env", "ODDRANK_ANY=1"), "nice": become("nice", "-n", "1"),
            "timeout": become("timeout", "3000"), "setsid": become("setsid", "--wait")}
# Wrappers that sleep, and could sleep for something else: capture, lines, poll; and programs that
# are not Python's.
SLEEPERS = {"capture": capture, "lines": lines, "poll": poll}
PROGRAMS = {f"waiter-{how}": how for how in ("wait", "signalfd", "pidfd", "threads")}


def be_rank(folder, library):
    loaded = ctypes.CDLL(library) if library else None
    path = os.path.join(folder, "rank." + os.environ["RANK"])
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(str(os.getpid()))
    os.rename(path + ".new", path)
    while loaded or True:
        signal.pause()


def start(folder, library, wrappers):
    if not wrappers:
        be_rank(folder, library)
    name, *rest = wrappers
    if name in PROGRAMS:
        program = os.path.join(os.environ["ODDRANK_VICTIMS"], "wrapper")
        become(program, PROGRAMS[name])(folder, library, rest)
    {**WRAPPERS, **SLEEPERS}[name](folder, library, rest)


if __name__ == "__main__":
    start(sys.argv[1], sys.argv[2], sys.argv[3].split(",") if sys.argv[3] else [])
