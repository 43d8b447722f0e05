"""Threads that wait in loops of their own, one for each shape of loop, named after it.

Prints one line: a JSON object of each thread's name and its loops, innermost first. Each loop says
whether it is a `for` loop, and lists its calls with their objects (null: none), sorted. The line is
printed when every thread has repeated its loop so often that the interpreter has specialised the
code.
"""
import asyncio
import glob
import json
import os
import os.path
import pathlib
import queue
import sys
import threading
import time

MARKER = "/nonexistent/oddrank-marker"
PATH = pathlib.Path("/nonexistent/oddrank-path")
WARM = 150  # more often than any interpreter waits before it specialises
NAP = 0.002
NEVER = threading.Lock()
NEVER.acquire()

rounds = {}
expected = {}
shapes = []


def shape(*loops, endless=False):
    """Registers a thread's function with the loops that it is in; `endless`: only an exception ends
    them."""
    def register(function):
        expected[function.__name__] = [
            {"iterates": iterates, "endless": endless, "calls": sorted(map(list, calls))}
            for iterates, calls in loops]
        shapes.append(function)
        return function
    return register


def tick():
    name = threading.current_thread().name
    rounds[name] = rounds.get(name, 0) + 1
    return name


class Store:
    def check(self, keys):
        return not NEVER.locked() and keys


class Work:
    def __init__(self, path):
        self.path = path

    def is_completed(self):
        return os.path.exists(self.path)


@shape((False, [("exists", MARKER), ("sleep", None)]))
def while_not():
    while not os.path.exists(MARKER):
        rounds["while_not"] += 1
        time.sleep(NAP)


@shape((False, [("exists", "/nonexistent/local"), ("sleep", None)]))
def local_variable():
    path = "/nonexistent/local"
    while True:
        if os.path.exists(path):
            break
        rounds["local_variable"] += 1
        time.sleep(NAP)
    print("it came", path)


@shape((False, [("is_file", str(PATH)), ("sleep", None)]))
def path_object():
    while not PATH.is_file():
        rounds["path_object"] += 1
        time.sleep(NAP)


@shape((True, [("sleep", None)]))
def plain_sleep():
    for _ in range(10**9):
        rounds["plain_sleep"] += 1
        time.sleep(NAP)


@shape((False, [("monotonic", None), ("sleep", None)]))
def until_deadline():
    end = time.monotonic() + 10**6
    while time.monotonic() < end:
        rounds["until_deadline"] += 1
        time.sleep(NAP)


@shape((True, [("sleep", None)]), (False, [("exists", MARKER), ("range", None), ("sleep", None)]))
def nested():
    while not os.path.exists(MARKER):
        for _ in range(10**9):
            rounds["nested"] += 1
            time.sleep(NAP)


@shape((False, [("get_nowait", None), ("sleep", None)]))
def with_except():
    items = queue.Queue()
    while True:
        try:
            item = items.get_nowait()
            break
        except queue.Empty:
            rounds["with_except"] += 1
            time.sleep(NAP)
    print("after the loop", item)


@shape((False, [("mkdir", "/nonexistent/dir/lock"), ("sleep", None)]))
def with_finally():
    while True:
        try:
            os.mkdir("/nonexistent/dir/lock")
        except OSError:
            pass
        else:
            print("it came")
            break
        finally:
            rounds["with_finally"] += 1
        time.sleep(NAP)


@shape((False, [("exists", None), ("all", None), ("sleep", None)]))
def generator_expression():
    paths = [MARKER, "/nonexistent/other"]
    while not all(os.path.exists(path) for path in paths):
        rounds["generator_expression"] += 1
        time.sleep(NAP)


@shape((False, [("exists", None), ("all", None), ("sleep", None)]))
def comprehension():
    names = ["a", "b"]
    while not all([os.path.exists("/nonexistent/" + name) for name in names]):
        rounds["comprehension"] += 1
        time.sleep(NAP)


@shape((False, [("glob", "/nonexistent/*.done"), ("len", None), ("sleep", None)]))
def call_in_call():
    while len(glob.glob("/nonexistent/*.done")) < 4:
        rounds["call_in_call"] += 1
        time.sleep(NAP)


@shape((False, [("exists", None), ("sleep", None)]))
def either():
    while not os.path.exists("/nonexistent/x" if MARKER else "y"):
        rounds["either"] += 1
        time.sleep(NAP)


@shape((False, [("exists", "/nonexistent/run7/rank-3.done"), ("sleep", None)]))
def formatted():
    folder, rank = "/nonexistent/run7", 3
    while not os.path.exists(f"{folder}/rank-{rank}.done"):
        rounds["formatted"] += 1
        time.sleep(NAP)


@shape((False, [("exists", None), ("sleep", None)]))
def formatted_otherwise():
    rank = 3
    while not os.path.exists(f"/nonexistent/{rank:04d}"):
        rounds["formatted_otherwise"] += 1
        time.sleep(NAP)


@shape((False, [("exists", "/nonexistent/run7/a.done"), ("sleep", None)]))
def added():
    folder = "/nonexistent/run7"
    while not os.path.exists(folder + "/a" + ".done"):
        rounds["added"] += 1
        time.sleep(NAP)


@shape((False, [("isfile", "/nonexistent/run7/sub/b"), ("join", "/nonexistent/run7"),
                ("sleep", None)]))
def joined():
    folder = "/nonexistent/run7"
    while not os.path.isfile(os.path.join(folder, "sub", "b")):
        rounds["joined"] += 1
        time.sleep(NAP)


@shape((False, [("exists", str(PATH / "sub" / "c")), ("sleep", None)]))
def divided():
    while not (PATH / "sub" / "c").exists():
        rounds["divided"] += 1
        time.sleep(NAP)


@shape((False, [("locked", "ready/3"), ("sleep", None)]))
def method_of_the_file():
    store = Store()
    while not store.check(["ready/3"]):
        rounds["method_of_the_file"] += 1
        time.sleep(NAP)


@shape((False, [("exists", None), ("sleep", None)]))
def method_of_an_attribute():
    work = Work(MARKER)
    while not work.is_completed():
        rounds["method_of_an_attribute"] += 1
        time.sleep(NAP)


@shape((False, [("isdir", MARKER), ("sleep", None)]))
def attribute():
    work = Work(MARKER)
    while not os.path.isdir(work.path):
        rounds["attribute"] += 1
        time.sleep(NAP)


@shape((False, [("open", MARKER), ("sleep", None)]))
def keywords():
    while True:
        try:
            return open(MARKER, "x", encoding="utf-8")
        except OSError:
            rounds["keywords"] += 1
            time.sleep(NAP)


# The loop calls a function that blocks in the end.
@shape((True, [("tick", None), ("acquire", None)]))
def computes():
    def block(step):
        if tick() and step > WARM:
            NEVER.acquire()
    for step in range(10**9):
        block(step)


# The variable of the closure is in a cell.
@shape((False, [("exists", "/nonexistent/cell"), ("sleep", None)]))
def in_a_cell():
    path = "/nonexistent/cell"

    def look():
        return path
    assert look()
    while not os.path.exists(path):
        rounds["in_a_cell"] += 1
        time.sleep(NAP)


@shape((False, [("access", "/nonexistent/generator"), ("sleep", None)]))
def generator():
    def polls(path):
        while not os.access(path, os.R_OK):
            rounds["generator"] += 1
            time.sleep(NAP)
            yield
    for _ in polls("/nonexistent/generator"):
        pass


expected["generator"].append({"iterates": True, "endless": False, "calls": []})


# Code behind the loop, and handlers that the compiler moves to the end, are not in the loop.
@shape((False, [("exists", MARKER), ("enumerate", None), ("sleep", None)]))
def much_around():
    before = sorted(range(3))
    with open(os.devnull, encoding="utf-8") as file:
        while not os.path.exists(MARKER):
            try:
                with NEVER_HELD:
                    for _, _ in enumerate(before):
                        pass
                rounds["much_around"] += 1
                time.sleep(NAP)
            except OSError as error:
                raise SystemExit(error) from None
        file.read()
    os.listdir(MARKER)


# A chain of conditions leaves values on the stack on several paths.
@shape((False, [("exists", "/nonexistent/a"), ("isfile", "/nonexistent/b"), ("max", None),
                ("sleep", None)]))
def conditions():
    first = second = None
    while not (os.path.exists("/nonexistent/a") or os.path.isfile("/nonexistent/b")):
        rounds["conditions"] += 1
        time.sleep(max(NAP if first else NAP, NAP if not second else 0.1))


@shape((False, [("acquire", None), ("sleep", None)]))
def alias():
    acquire = NEVER.acquire
    while not acquire(timeout=0):
        rounds["alias"] += 1
        time.sleep(NAP)


@shape((False, [("exists", MARKER), ("sleep", None)]))
def coroutine():
    async def polls():
        while not os.path.exists(MARKER):
            rounds["coroutine"] += 1
            time.sleep(NAP)
    asyncio.run(polls())


@shape((False, [("get", "forever"), ("locked", None), ("max", None), ("sleep", None)]),
       endless=True)
def forever():
    while True:
        rounds["forever"] = max(1, rounds.get("forever", 0) + 1)
        if NEVER.locked():
            time.sleep(NAP)


@shape((False, [("locked", None), ("sleep", None)]))
def returns():
    while True:
        rounds["returns"] += 1
        if not NEVER.locked():
            return
        time.sleep(NAP)


@shape()
def no_loop():
    rounds["no_loop"] = WARM
    NEVER.acquire()


NEVER_HELD = threading.Lock()
if sys.version_info < (3, 9):
    # The code of a `finally` is shared by all paths through it, so paths out of the loop seem to
    # lead back into it.
    expected["with_finally"][0]["calls"].insert(1, ["print", "it came"])
    expected["much_around"][0]["calls"].insert(0, ["SystemExit", None])


def main():
    for function in shapes:
        rounds[function.__name__] = 0
        threading.Thread(target=function, name=function.__name__, daemon=True).start()
    while min(rounds.values()) < WARM:
        time.sleep(0.01)
    print(json.dumps(expected), flush=True)
    sys.stdin.read()


main()
