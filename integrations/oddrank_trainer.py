"""A callback for the Trainer of transformers: if no step has ended for `seconds`, the first rank of each node
asks oddrank.

    Trainer(callbacks=[OddrankCallback(seconds=600)], ...)

The report is oddrank-HOST.json, unless `report` names another file. `words` are further options of
`oddrank node`, such as "--select", "4711". Choose more seconds than the longest
checkpoint or compilation takes."""

import os

from transformers import TrainerCallback

from oddrank_watchdog import Watchdog, examine


class OddrankCallback(TrainerCallback):
    def __init__(self, seconds=600, report=None, words=()):
        self.seconds, self.alarm = seconds, (report or f"oddrank-{os.uname().nodename}.json", *words)
        self.watchdog = None

    def on_train_begin(self, args, state, control, **_):
        if state.is_local_process_zero:
            self.watchdog = Watchdog(self.seconds, lambda: examine(*self.alarm))

    def beat(self, *_, **__):
        if self.watchdog:
            self.watchdog.beat()

    on_step_end = on_substep_end = on_prediction_step = on_save = beat

    def on_train_end(self, args, state, control, **_):
        if self.watchdog:
            self.watchdog.end()
        self.watchdog = None
