"""A callback for Lightning: if no batch has ended for `seconds`, the first rank of each node asks oddrank.

    lightning.Trainer(callbacks=[OddrankCallback(seconds=600)], ...)

The report is oddrank-HOST.json, unless `report` names another file. `words` are further options of
`oddrank node`, such as "--select", "4711". Choose more seconds than the longest
checkpoint, compilation or sanity check takes."""

import os

import lightning

from oddrank_watchdog import Watchdog, examine


class OddrankCallback(lightning.Callback):
    def __init__(self, seconds=600, report=None, words=()):
        self.seconds, self.alarm = seconds, (report or f"oddrank-{os.uname().nodename}.json", *words)
        self.watchdog = None

    def on_train_start(self, trainer, pl_module):
        if trainer.local_rank == 0:
            self.watchdog = Watchdog(self.seconds, lambda: examine(*self.alarm))

    def beat(self, *_, **__):
        if self.watchdog:
            self.watchdog.beat()

    on_train_batch_end = on_validation_batch_end = on_save_checkpoint = beat

    def teardown(self, trainer, pl_module, stage):
        if self.watchdog:
            self.watchdog.end()
        self.watchdog = None
