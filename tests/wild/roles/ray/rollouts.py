"""Two actors make rollouts and a third learns from them: rollouts.py [STEPS [held|sleeps]]

With STEPS it makes as many, and then as many as each line of its input says. "held": before that, one
actor begins to wait for a lock that nobody gives back. "sleeps": it sleeps instead.
"""
import sys
import threading
import time

import ray

import node
import run_folder


@ray.remote
class Rollout:
    def __init__(self, number):
        self.number = number
        run_folder.record(f"rollout{number}")

    def sample(self):
        raw = run_folder.read(f"shard.{self.number}")
        run_folder.count(f"rollout{self.number}")
        return sum(raw)

    def hold(self):
        lock = threading.Lock()
        lock.acquire()
        return lock.acquire()


@ray.remote
class Learner:
    def __init__(self):
        self.value = 0.0
        run_folder.record("learner")

    def update(self, batches):
        self.value = 0.9 * self.value + 0.1 * sum(batches)
        return self.value


def run_steps(rollouts, learner, steps):
    for _ in range(steps):
        value = ray.get(learner.update.remote(ray.get([each.sample.remote() for each in rollouts])))
        run_folder.count("driver")
        run_folder.export("checkpoint", str(value))
        time.sleep(0.15)


def main():
    node.start()
    makers = Rollout, node.far(Rollout)
    rollouts, learner = [makers[number].remote(number) for number in range(2)], Learner.remote()
    run_steps(rollouts, learner, int(sys.argv[1]) if len(sys.argv) > 1 else sys.maxsize)
    if "held" in sys.argv:
        rollouts[1].hold.remote()
    if "sleeps" in sys.argv:
        time.sleep(1000)
    for line in sys.stdin:
        run_steps(rollouts, learner, int(line))


if __name__ == "__main__":
    main()
