"""An actor with four threads that stores features."""
import time

import ray

import node
import run_folder


@ray.remote(max_concurrency=4)
class FeatureStore:
    def __init__(self):
        run_folder.record("store")

    def fetch(self, number):
        return len(run_folder.read(f"shard.{number}"))


def main():
    node.start()
    store = FeatureStore.remote()
    while True:
        ray.get([store.fetch.remote(number) for number in range(4)])
        run_folder.count("driver")
        time.sleep(0.15)


if __name__ == "__main__":
    main()
