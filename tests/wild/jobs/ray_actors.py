"""A Ray driver that waits for its actors, or for tasks: ray_actors.py actors|chain|tasks|group

The driver is number 0 and the workers are 1 and 2; worker 1 stands. "group": the actors are ranks 0 to 2
of gloo, and rank 1 stands. "chain": the driver waits for worker 2, and that one for worker 1.
"""
import os
import sys

import ray

import place

FORM = sys.argv[1] if __name__ == "__main__" else ""
STEPS = 5


class Worker:
    def __init__(self, number):
        self.number = number
        self.step = 0

    def told(self):
        self.step += 1
        if self.step == STEPS:
            place.say(self.number)
        return place.HANG and self.number == 1 and self.step == STEPS

    def work(self):
        if self.told():
            place.stand()
        return self.number

    def ask(self, other):
        self.told()
        return ray.get(other.work.remote())

    def train(self, folder, size):
        import torch  # pylint: disable=import-outside-toplevel
        import torch.distributed as dist  # pylint: disable=import-outside-toplevel
        dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=self.number,
                                world_size=size)
        while True:
            self.work()
            dist.all_reduce(torch.ones(8))


@ray.remote
def task(number, stands):
    place.say(number)
    if stands:
        place.stand()
    return number


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    ray.init(num_cpus=4, include_dashboard=False, _temp_dir=os.environ["FOLDER"] + "/r", runtime_env={
        "env_vars": {"PYTHONPATH": here, **{name: os.environ[name]
                                            for name in ("FOLDER", "HANG", "REASON")}}})
    actor = ray.remote(Worker)
    first = 0 if FORM == "group" else 1
    actors = [actor.remote(number) for number in range(first, 3)]
    if FORM == "group":
        ray.get([each.train.remote(place.FOLDER, 3) for each in actors])
    step = 0
    while True:
        step += 1
        if step == STEPS:
            place.say(0)
        if FORM == "actors":
            ray.get([each.work.remote() for each in actors])
        elif FORM == "chain":
            ray.get(actors[1].ask.remote(actors[0]))
        else:
            ray.get([task.remote(number, place.HANG and number == 1 and step == STEPS)
                     for number in (1, 2)])


if __name__ == "__main__":
    main()
