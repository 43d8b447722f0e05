"""Modules of many sizes, whose names a reader looks up; prints "ready", then blocks in a read.

Each name_I has the value I; every seventh is removed. "changed" has a key that is no str, so that its
table is of the other kind, and "grown" lost most of its names and got them again in another order.
"""

import os
import sys
import types


def fill(name, count):
    module = types.ModuleType(name)
    names = vars(module)
    for i in range(count):
        names["name_%d" % i] = i
    for i in range(0, count, 7):
        del names["name_%d" % i]
    sys.modules[name] = module
    return names


class Instance:
    def __init__(self, count):
        for i in range(count):
            setattr(self, "name_%d" % i, i)


for size in (3, 100, 300, 60000):
    fill("names_%d" % size, size)
fill("changed", 300)[1] = None
grown = fill("grown", 300)
for number in [i for i in reversed(range(300)) if i % 7]:
    del grown["name_%d" % number]
    grown["name_%d" % number] = number
objects = fill("objects", 3)
objects["few"] = Instance(5)
objects["many"] = Instance(200)
objects["alike"] = [Instance(5), Instance(5)]

print("ready", flush=True)
os.read(0, 1)
