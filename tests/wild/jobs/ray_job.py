"""Ray Train with two workers."""
import os
import tempfile

import ray
from ray.train import ScalingConfig, RunConfig
from ray.train.torch import TorchConfig, TorchTrainer


def work():
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    import place  # pylint: disable=import-outside-toplevel
    place.train(dist, dist.get_rank())


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    ray.init(num_cpus=4, include_dashboard=False, runtime_env={
        "env_vars": {"PYTHONPATH": here, "FOLDER": os.environ["FOLDER"],
                     "HANG": os.environ["HANG"]}})
    TorchTrainer(work, scaling_config=ScalingConfig(num_workers=2),
                 torch_config=TorchConfig(backend="gloo"),
                 run_config=RunConfig(storage_path=tempfile.mkdtemp(
                     dir=os.environ["FOLDER"]))).fit()
