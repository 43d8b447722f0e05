"""Small programs that the tools compared by compare.py read while these block: what the peers' documentation
names. The first argument chooses one. Each prints "ready" when all of its threads are at their places.
"""
import asyncio
import atexit
import collections
import ctypes
import functools
import gc
import os
import signal
import sys
import threading
import time


def block():
    print("ready", flush=True)
    os.read(0, 1)


def values(number=7, text="train", flag=True, nothing=None):
    real, negative, large = 0.5, -12345678901, 2 ** 80
    pair, row, table = (1, 2), [1, "b", None], {"a": 1, 2: "c"}
    empty = [(), [], {}]
    nested = [[1, [2]], {"k": [3]}]
    raw = b"bytes"
    long_list, long_text = list(range(100)), "x" * 300
    block()
    return (number, text, flag, nothing, real, negative, large, pair, row, table, empty, nested, raw,
            long_list, long_text)


def arguments(first, *rest, keyword=3, **others):
    def inner():
        block()
        return first, rest, keyword, others
    cell = [first]
    inner()
    return cell


def threads():
    started = threading.Barrier(4)
    done = threading.Event()

    def work(index):
        started.wait()
        done.wait()
        return index
    for index in range(3):
        threading.Thread(target=work, args=(index,), name="worker-%d" % index, daemon=True).start()
    started.wait()
    block()


def generators():
    def numbers():
        block()
        yield 1

    def through():
        yield from numbers()
    return list(through())


def recursion(depth=200):
    if depth == 0:
        block()
        return 0
    return 1 + recursion(depth - 1)


def lines():
    if (True and
            not False):
        (block
         (

         ))


class Job:
    def __init__(self):
        self.steps = 3

    def run(self):
        for step in range(self.steps):
            for _ in [block() for _ in range(1)]:
                pass
        return step


def containers(*rest, **others):
    ordered = collections.OrderedDict([("b", 1), ("a", [2])])
    counted = collections.Counter("abca")
    queue = collections.deque([1, 2, 3], maxlen=4)
    chosen, frozen = {3}, frozenset({4})
    text, wide, astral = "na\u00efve", "\u0420\u0443\u0441", "\U0001f600"
    quoted, lines_of = "it's", "a\nb\t\\"
    infinite, small, whole = float("inf"), 1e-300, 100.0
    deep = {"a": {"b": {"c": [1]}}}
    block()
    return (rest, others, ordered, counted, queue, chosen, frozen, text, wide, astral, quoted, lines_of,
            infinite, small, whole, deep)


def unicode_names():
    def größe(шаг):
        block()
        return шаг
    return größe(1)


def handler():
    """A signal interrupts the program, and its handler blocks."""
    def on_signal(number, _):
        block()
        return number

    def interrupted():
        signal.signal(signal.SIGUSR1, on_signal)
        os.kill(os.getpid(), signal.SIGUSR1)
        return 1
    return interrupted()


def coroutine():
    async def inner():
        block()

    async def outer():
        await inner()
        return 1
    return asyncio.new_event_loop().run_until_complete(outer())  # 3.6 has no asyncio.run


def exceptions():
    try:
        raise ValueError(1)
    except ValueError as error:
        try:
            block()
        finally:
            kept = [error.args]
    return kept


def finaliser():
    class Owner:
        def __init__(self):
            self.own = self

        def __del__(self):
            block()
    Owner()
    gc.collect()


def callbacks():
    """Python below functions in C."""
    def key(item):
        if item == 2:
            block()
        return item
    return sorted(map(key, [2, 1]), key=key)


def closures():
    total = 1

    def add(step):
        def inner():
            nonlocal total
            total += step
            block()
            return total
        return inner
    return add(2)()


def with_many():
    # pylint: disable=exec-used
    exec("def many():\n" + "".join("    v%d = %d\n" % (i, i) for i in range(100)) +
         "    block()\n    return v0\nmany()", {"block": block})


class Last:
    """Blocks while the interpreter shuts down."""

    def __del__(self, read=os.read, write=os.write):
        write(1, b"ready\n")
        read(0, 1)


def shutdown():
    sys.modules["__last__"] = last = Last()
    return last


def exit_hook():
    """No Python frame is left when the hook blocks."""
    atexit.register(functools.partial(os.read, 0, 1))
    atexit.register(functools.partial(os.write, 1, b"ready\n"))


def collection():
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    finaliser()


def keep_gil():
    """Blocks in a function in C that keeps the GIL."""
    libc = ctypes.PyDLL(None)
    libc.write(1, b"ready\n", 6)
    libc.read(0, ctypes.create_string_buffer(1), 1)


def gil_kept():
    begun = threading.Event()

    def other():
        begun.set()
        while True:
            time.sleep(0.001)
    threading.Thread(target=other, daemon=True).start()
    begun.wait()
    sys.setswitchinterval(1000)
    keep_gil()


def collection_with_gil():
    class Owner:
        def __init__(self):
            self.own = self

        def __del__(self):
            keep_gil()
    Owner()
    gc.collect()


def mapped_twice():
    """Where Python has its library built in, libffi maps its file once more."""
    kept = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.CDLL(None).PyGILState_Check)
    block()
    return kept


def foreign():
    """A function in C calls back: qsort."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)

    def order(*_):
        block()
        return 0
    ctypes.CDLL(None).qsort((ctypes.c_int * 2)(2, 1), 2, ctypes.sizeof(ctypes.c_int), kind(order))


def wide():
    return [

        block()

        for _ in range(1)
    ]


def partials():
    def inner():
        block()

    def outer():
        functools.partial(inner)()
    functools.partial(outer)()


def dictionaries():
    class Point:
        def __init__(self, x, y):
            self.x = x
            self.y = y
    split = Point(1, "two").__dict__
    removed = {key: key for key in range(9)}
    del removed[0], removed[4]
    removed[4] = -1
    keys = {(1, 2): [3], None: 0.5, "é": True}
    block()
    return split, removed, keys


def damaged():
    """Objects that are none, as in a program whose memory was overwritten."""
    word = ctypes.sizeof(ctypes.c_void_p)

    def type_at(value):
        return id(value) + sys.getsizeof(None) - word

    def put(address, value):
        ctypes.c_void_p.from_address(address).value = value
    no_type, no_item, fine = (1, 2, 3), [4, 5, 6], (7, 8)
    put(type_at(no_type), 0xdea0)
    put(ctypes.c_void_p.from_address(type_at(no_item) + 2 * word).value + word, 0xbad0)
    block()
    os._exit(len(fine))


def importing():
    """One thread waits until another has imported a module."""
    folder = os.getcwd()
    with open(os.path.join(folder, "slow_module.py"), "w", encoding="utf-8") as file:
        file.write("import sys\nsys.begun.set()\nsys.stay.wait()\n")
    sys.path.insert(0, folder)
    sys.begun, sys.stay = threading.Event(), threading.Event()

    def load():
        __import__("slow_module")
    for _ in range(2):
        threading.Thread(target=load, daemon=True).start()
    sys.begun.wait()
    while not all_wait_for(2, "futex_"):
        time.sleep(0.01)
    block()


def all_wait_for(count, channel):
    """Returns whether so many threads sleep in it."""
    found = 0
    for tid in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/wchan" % tid, encoding="ascii") as file:
            found += file.read().startswith(channel)
    return found >= count


PROGRAMS = {
    "values": values,
    "arguments": lambda: arguments(1, 2, 3, keyword=4, extra=5),
    "threads": threads,
    "generators": generators,
    "recursion": recursion,
    "lines": lines,
    "methods": lambda: Job().run(),
    "containers": lambda: containers(1, two=2),
    "unicode_names": unicode_names,
    "handler": handler,
    "coroutine": coroutine,
    "exceptions": exceptions,
    "finaliser": finaliser,
    "callbacks": callbacks,
    "closures": closures,
    "with_many": with_many,
    "shutdown": shutdown,
    "exit_hook": exit_hook,
    "collection": collection,
    "gil_kept": gil_kept,
    "collection_with_gil": collection_with_gil,
    "mapped_twice": mapped_twice,
    "foreign": foreign,
    "wide": wide,
    "partials": partials,
    "dictionaries": dictionaries,
    "damaged": damaged,
    "importing": importing,
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
