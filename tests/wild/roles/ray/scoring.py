"""Scores four shards in as many tasks, and takes the scores as they come."""
import ray

import node
import run_folder


@ray.remote
def score(number):
    run_folder.record(f"score{number}")
    total = sum(run_folder.read(f"shard.{number}"))
    error = 1.0 if total else float("nan")
    while not error < 1e-3:
        error *= 0.9
    return error


def main():
    node.start()
    while True:
        pending = [score.remote(number) for number in range(4)]
        while pending:
            done, pending = ray.wait(pending, num_returns=1)
            ray.get(done)
        run_folder.count("driver")


if __name__ == "__main__":
    main()
