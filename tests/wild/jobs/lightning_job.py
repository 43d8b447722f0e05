"""Lightning: lightning_job.py STRATEGY [NODES]"""
import sys

import lightning
import torch

import place


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def training_step(self, batch, step):
        if step == 3:
            place.say(self.global_rank)
            place.stop(self.global_rank)
        return self.layer(batch).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


if __name__ == "__main__":
    trainer = lightning.Trainer(accelerator="cpu", devices=2, strategy=sys.argv[1], max_epochs=-1,
                                num_nodes=int((sys.argv[2:] or "1")[0]), logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(Model(), torch.utils.data.DataLoader(torch.ones(1 << 16, 4), batch_size=4))
