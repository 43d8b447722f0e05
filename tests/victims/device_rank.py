"""A process whose threads are inside calls of a device's driver or runtime. The libraries are made
up (device_wait_test.py builds them): each of their functions waits in the given way.

    device_rank.py FOLDER WAY LIBRARY:FUNCTION...

FUNCTION is called in a thread of its own; with WAY "main-..." the last one in the main thread. Prints
"ready TID..." in the order of the functions as soon as all of them are inside.
"""

import ctypes
import importlib.util
import os
import sys
import threading

WAYS = ("sleep", "spin", "yield", "pipe", "lock")


def load(folder, library):
    return ctypes.CDLL(os.path.join(folder, library), mode=ctypes.RTLD_GLOBAL)


def enter(function, way, inside):
    """Calls it; Python libraries are loaded from the folder, too."""
    function(WAYS.index(way), ctypes.byref(inside))


def python_call(folder, path, name):
    spec = importlib.util.spec_from_file_location("made_up", os.path.join(folder, path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


def main():
    folder, way, *calls = sys.argv[1:]
    in_main = way.startswith("main-")
    way = way.removeprefix("main-")
    driver = load(folder, "libcuda.so.1")
    inside = [ctypes.c_int(0) for _ in calls]
    tids = [0] * len(calls)

    def run(index):
        tids[index] = threading.get_native_id()
        library, _, name = calls[index].partition(":")
        if library.endswith(".py"):
            python_call(folder, library, name)(getattr(driver, "cuStreamSynchronize"),
                                               WAYS.index(way), ctypes.byref(inside[index]))
        else:
            enter(getattr(load(folder, library), name), way, inside[index])

    def announce():
        while not all(flag.value for flag in inside):
            threading.Event().wait(0.01)
        print("ready", *tids, flush=True)

    threads = [threading.Thread(target=run, args=(index,), daemon=True)
               for index in range(len(calls) - in_main)]
    for thread in threads:
        thread.start()
    if in_main:
        threading.Thread(target=announce, daemon=True).start()
        run(len(calls) - 1)
    announce()
    sys.stdin.read()
    os._exit(0)


main()
