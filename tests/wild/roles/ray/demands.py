"""A driver asks for resources that do not come: demands.py WHAT

WHAT: group, group_wait or actor (of GPUs that the cluster does not have), task (of a resource that
it does not know), held (an actor wants CPUs that an idle actor has), busy (that an actor has, which
works), nested (an actor has all CPUs, and waits for a task of its own), late (in turns: an actor
works and ends, and gives its CPUs to a group), loaders (actors that load where they are made).
"""
import sys

import ray
from ray.util.placement_group import placement_group, remove_placement_group

import node
import run_folder

CPUS = 8


@ray.remote
def score(number):
    return number


@ray.remote
class Loader:
    def __init__(self):
        run_folder.record("loader")
        self.weights = run_folder.read("shard.1")

    def size(self):
        return len(self.weights)


@ray.remote
class Trainer:
    def __init__(self, name="trainer"):
        self.name = name
        run_folder.record(name)

    def step(self):
        run_folder.count(self.name)
        return len(run_folder.read("shard.1"))

    def steps(self, count):
        return sum(self.step() for _ in range(count))

    def evaluate(self):
        return ray.get(score.remote(1))


def ask_for_group():
    return placement_group([{"GPU": 4}, {"GPU": 4}]).ready()


def ask_for_actor():
    return Trainer.options(num_gpus=4).remote("never").step.remote()


def ask_for_task():
    return score.options(resources={"licence": 1}).remote(1)


def ask_beside(trainer, steps):
    """The other actor can come only if the first one goes."""
    for _ in range(5):
        ray.get(trainer.step.remote())
        run_folder.count("driver")
    work = trainer.steps.remote(steps)
    later = Trainer.options(num_cpus=4).remote("later")
    return ray.get([later.step.remote(), work])


def take_turns():
    while True:
        trainer = Trainer.options(num_cpus=6).remote()
        ray.get(trainer.step.remote())
        trainer.steps.remote(100)
        trainer.__ray_terminate__.remote()
        group = placement_group([{"CPU": 6}])
        ray.get(group.ready())
        remove_placement_group(group)
        run_folder.count("driver")


def make_loaders():
    while True:
        loader = Loader.remote()
        ray.get(loader.size.remote())
        run_folder.count("driver")


def main():
    node.start()
    what = sys.argv[1]
    trainer = Trainer.options(num_cpus=CPUS if what == "nested" else 6)
    if what in ("late", "loaders"):
        (take_turns if what == "late" else make_loaders)()
    run_folder.count("driver")
    if what == "group_wait":
        placement_group([{"GPU": 4}]).wait(timeout_seconds=10**6)
    elif what == "nested":
        trainer = trainer.remote()
        ray.get(trainer.evaluate.remote())
    elif what in ("held", "busy"):
        ask_beside(trainer.remote(), 10**6 if what == "busy" else 0)
    else:
        ray.get({"group": ask_for_group, "actor": ask_for_actor, "task": ask_for_task}[what]())


if __name__ == "__main__":
    main()
