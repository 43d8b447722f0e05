"""A planner and a worker that ask each other."""
import ray

import node
import run_folder


@ray.remote
class Planner:
    def __init__(self):
        self.version = 1
        self.worker = None
        run_folder.record("planner")

    def attach(self, worker):
        self.worker = worker

    def plan(self):
        run_folder.count("planner")
        return ray.get(self.worker.execute.remote(self.version))

    def status(self):
        return self.version


@ray.remote
class Worker:
    def __init__(self, planner):
        self.planner = planner
        run_folder.record("worker")

    def execute(self, version):
        run_folder.count("worker")
        return ray.get(self.planner.status.remote()) == version


def main():
    node.start()
    planner = Planner.remote()
    ray.get(planner.attach.remote(node.far(Worker).remote(planner)))
    ray.get(planner.plan.remote())


if __name__ == "__main__":
    main()
