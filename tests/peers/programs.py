"""Small programs that the tools compared by compare.py read while these block: what the peers' documentation
names. The first argument chooses one. Each prints "ready" when all of its threads are at their places.
"""
import os
import sys
import threading


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


PROGRAMS = {
    "values": values,
    "arguments": lambda: arguments(1, 2, 3, keyword=4, extra=5),
    "threads": threads,
    "generators": generators,
    "recursion": recursion,
    "lines": lines,
    "methods": lambda: Job().run(),
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]]()
