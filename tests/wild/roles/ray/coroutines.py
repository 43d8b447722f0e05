"""An asynchronous actor whose coroutines wait for each other: coroutines.py WHAT [ITEMS]

WHAT: lock (one has the lock and waits for what the other does when it has the lock), event (that
nobody sets), queue (into which nobody puts), none (all is served), relay (another one awaits the
answer of a third actor, and a fourth sleeps in its method), consume (an actor takes what the driver makes: as many ITEMS).
"""
import asyncio
import sys
import time

import ray

import node
import run_folder


@ray.remote
class Store:
    def __init__(self):
        self.lock, self.filled = asyncio.Lock(), asyncio.Event()
        self.items = asyncio.Queue()
        run_folder.record("store")

    async def take(self):
        async with self.lock:
            await self.filled.wait()
        return 1

    async def fill(self):
        async with self.lock:
            self.filled.set()
        return 1

    async def is_locked(self):
        return self.lock.locked()

    async def wait_until_filled(self):
        await self.filled.wait()
        return 1

    async def get_item(self):
        return await self.items.get()

    async def put_item(self, item):
        await self.items.put(item)


@ray.remote
class Trainer:
    def __init__(self, store):
        self.store = store
        run_folder.record("trainer")

    def step(self, item):
        ray.get([self.store.put_item.remote(item), self.store.get_item.remote()])
        run_folder.count("trainer")
        return len(run_folder.read("shard.1"))


@ray.remote
class Relay:
    def __init__(self, trainer):
        self.trainer = trainer
        run_folder.record("relay")

    async def step(self, item):
        return await self.trainer.step.remote(item)


@ray.remote
class Watcher:
    def watch(self):
        time.sleep(10**6)


@ray.remote
class Consumer:
    def __init__(self, store):
        self.store = store
        run_folder.record("consumer")

    def consume(self):
        while True:
            ray.get(self.store.get_item.remote())
            run_folder.count("consumer")


def make_items(store, count):
    """Makes as many, and then computes for ever."""
    for item in range(count):
        store.put_item.remote(item)
        run_folder.count("driver")
        time.sleep(0.1)
    while True:
        count *= 1


def main():
    node.start()
    what, store = sys.argv[1], Store.remote()
    trainer = Trainer.remote(store)
    if what == "relay":
        trainer = Relay.remote(trainer)
        watcher = Watcher.remote()
        watcher.watch.remote()
    if what == "consume":
        consumer = Consumer.remote(store)
        consumer.consume.remote()
        make_items(store, int(sys.argv[2]))
    if what not in ("none", "relay"):
        ray.get(trainer.step.remote(0))
        run_folder.count("driver")
    if what == "lock":
        taken = store.take.remote()
        while not ray.get(store.is_locked.remote()):
            time.sleep(0.01)
        ray.get([taken, store.fill.remote()])
    elif what == "event":
        ray.get(store.wait_until_filled.remote())
    elif what == "queue":
        ray.get(store.get_item.remote())
    for item in range(sys.maxsize):
        ray.get(trainer.step.remote(item))
        run_folder.count("driver")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
