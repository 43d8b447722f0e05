"""Jobs with the callbacks of integrations/, or with PyTorch's debug server: watched.py lightning|trainer|ray|debug_server.
Rank 1 hangs the job at its third step; a healthy job trains for some times the seconds after which a callback would ask."""
# pylint: disable=import-outside-toplevel
import os
import sys
import time

import torch

import place

SECONDS = 4
REPORT = f"{place.FOLDER}/oddrank.json"
STEPS = 4 * SECONDS * 20


def step(number, rank):
    if number == 3:
        place.say(rank)
        place.stop(rank)
    time.sleep(0.05)


def run_lightning():
    import lightning
    from oddrank_lightning import OddrankCallback

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def training_step(self, batch, number):
            step(number, self.global_rank)
            return self.layer(batch).sum()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)
    lightning.Trainer(accelerator="cpu", devices=2, strategy="ddp", max_epochs=1, limit_train_batches=STEPS,
                      logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                      callbacks=[OddrankCallback(SECONDS, REPORT)]).fit(
        Model(), torch.utils.data.DataLoader(torch.ones(1 << 16, 4), batch_size=4))


def run_trainer():
    from transformers import Trainer, TrainingArguments
    from oddrank_trainer import OddrankCallback

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.number = torch.nn.Linear(4, 1), 0

        def forward(self, x):
            self.number += 1
            step(self.number, int(os.environ["RANK"]))
            return {"loss": self.layer(x).sum()}
    arguments = TrainingArguments(place.FOLDER, max_steps=STEPS, use_cpu=True, ddp_backend="gloo", report_to=[],
                                  save_strategy="no", disable_tqdm=True, per_device_train_batch_size=2)
    Trainer(Model(), arguments, train_dataset=[{"x": torch.ones(4)}] * 64,
            callbacks=[OddrankCallback(SECONDS, REPORT)]).train()


def work():
    import ray.train
    import torch.distributed as dist
    for number in range(STEPS // 20):  # a report takes a second or two
        step(number, dist.get_rank())
        dist.all_reduce(torch.ones(8))
        ray.train.report({"number": number})


def run_ray():
    import ray
    from oddrank_ray import OddrankCallback
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer
    passed = ("PYTHONPATH", "FOLDER", "HANG", "REASON", "ODDRANK")
    ray.init(num_cpus=4, include_dashboard=False, runtime_env={"env_vars": {name: os.environ[name] for name in passed}})
    TorchTrainer(work, scaling_config=ScalingConfig(num_workers=2), torch_config=TorchConfig(backend="gloo"),
                 run_config=RunConfig(storage_path=f"{place.FOLDER}/ray",
                                      callbacks=[OddrankCallback(2 * SECONDS, place.FOLDER)])).fit()


def run_debug_server():
    import torch.distributed as dist
    from torch.distributed.debug import start_debug_server
    dist.init_process_group("gloo")
    start_debug_server(port=25999, dump_dir=f"{place.FOLDER}/dumps", dump_interval=1)
    for number in range(STEPS):
        step(number, dist.get_rank())
        dist.all_reduce(torch.ones(8))


if __name__ == "__main__":
    globals()[f"run_{sys.argv[1]}"]()
    open(f"{place.FOLDER}/over.{os.environ.get('RANK', '')}", "w", encoding="utf-8").close()
