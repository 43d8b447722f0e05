"""A callback for Ray Train (its second version): if the workers have not called ray.train.report() for
`seconds`, every node asks oddrank, in a task of Ray.

    RunConfig(callbacks=[OddrankCallback(seconds=600, folder="/shared/hangs")])

The callback begins with the first report, and writes FOLDER/oddrank-NODE.json on each node. `words` are
further options of `oddrank node`. The workers need oddrank_watchdog on their PYTHONPATH."""

import ray
from ray.train import UserCallback
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from oddrank_watchdog import Watchdog, examine


class OddrankCallback(UserCallback):
    def __init__(self, seconds=600, folder=".", words=()):
        self.seconds, self.folder, self.words = seconds, folder, words
        self.watchdog = None

    def after_report(self, run_context, metrics, checkpoint):
        if not self.watchdog:
            self.watchdog = Watchdog(self.seconds, self.examine_nodes)
        self.watchdog.beat()

    def after_exception(self, run_context, worker_exceptions):
        if self.watchdog:
            self.watchdog.end()
        self.watchdog = None

    def examine_nodes(self):
        asks = ray.remote(num_cpus=0, max_retries=0)(examine)
        said = [asks.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)).remote(
            f"{self.folder}/oddrank-{node['NodeManagerHostname']}.json", *self.words)
                for node in ray.nodes() if node["Alive"]]
        ray.wait(said, num_returns=len(said), timeout=120)
