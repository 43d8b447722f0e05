"""Actors in a placement group: placed.py SHARDS"""
import sys
import time

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

import node
import run_folder


@ray.remote(num_cpus=2)
class Shard:
    def __init__(self, number):
        run_folder.record(f"shard{number}")

    def work(self):
        return 1


def main():
    node.start()
    run_folder.count("driver")
    numbers = range(int(sys.argv[1]))
    group = placement_group([{"CPU": 4} for _ in numbers], strategy="PACK")
    ray.get(group.ready())
    shards = [Shard.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group, number))
              .remote(number) for number in numbers]
    while True:
        ray.get([each.work.remote() for each in shards])
        run_folder.count("driver")
        time.sleep(0.15)


if __name__ == "__main__":
    main()
