"""One task waits for another: a driver for `summarize`, which waits for `tokenize`."""
import ray

import node
import run_folder


@ray.remote
def tokenize():
    run_folder.record("tokenize")
    return len(run_folder.read("shard.1"))


@ray.remote
def summarize():
    run_folder.record("summarize")
    return ray.get(tokenize.remote()) + 1


def main():
    node.start()
    while True:
        ray.get(summarize.remote())
        run_folder.count("driver")


if __name__ == "__main__":
    main()
