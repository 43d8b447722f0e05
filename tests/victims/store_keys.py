"""Threads that wait in stores of torch.distributed, each named after what it does.

Prints one line, a JSON object of each thread's name and its key, when all of them block or have
polled often.
"""
import datetime
import json
import os
import sys
import tempfile
import threading
import time

import torch.distributed as dist

LIMIT = datetime.timedelta(seconds=600)
server = dist.TCPStore("127.0.0.1", 0, 1, True, timeout=LIMIT)
polled = threading.Event()
begun = {}
expected = {}


def client():
    return dist.TCPStore("127.0.0.1", server.port, None, False, timeout=LIMIT)


def waits_for(key):
    def register(function):
        expected[function.__name__] = key
        return function
    return register


@waits_for("worker/3")
def constant(store):
    store.wait(["worker/3"])


@waits_for("rank5")
def formatted(store):
    store.get(f"rank{len('12345')}")


@waits_for("a, b, c, d, ...")
def several(store):
    store.wait(["a", "b", "c", "d", "e"], LIMIT)


@waits_for("in/a/variable")
def variable(store):
    keys = ["in/a/variable"]
    store.wait(keys)


@waits_for("under/a/prefix")
def prefix(store):
    dist.PrefixStore("job", store).get("under/a/prefix")


@waits_for("in/a/file")
def file(_):
    store = dist.FileStore(os.path.join(tempfile.mkdtemp(dir=sys.argv[1]), "store"), 1)
    store.set_timeout(LIMIT)
    store.get("in/a/file")


# The poll's object is in its loop; between the checks it queries no store.
@waits_for(None)
def polls(store):
    rounds = 0
    while not store.check(["poll/1"]):
        rounds += 1
        if rounds > 20:
            polled.set()
        time.sleep(0.01)


def run(function, store):
    begun[function.__name__] = threading.get_native_id()
    function(store)


def main():
    for function in (constant, formatted, several, variable, prefix, file, polls):
        store = client()
        threading.Thread(target=run, args=(function, store), name=function.__name__,
                         daemon=True).start()
    polled.wait()
    print(json.dumps({"keys": expected, "tids": begun}), flush=True)
    sys.stdin.read()


main()
