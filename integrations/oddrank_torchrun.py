"""torchrun, whose agent asks oddrank before its watchdog ends the ranks of its node:

    export TORCHELASTIC_ENABLE_FILE_TIMER=1
    python oddrank_torchrun.py --nnodes 2 --nproc-per-node 8 ... train.py

The agent's watchdog goes by timers that the program sets, with torch.distributed.elastic.timer:

    timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
    with timer.expires(after=300):
        ...  # a step

ODDRANK_REPORT: where the report goes (oddrank-HOST.json)."""

import os

import torch.distributed.launcher.api as launcher
import torch.distributed.run

from oddrank_watchdog import examine


class Agent(launcher.LocalElasticAgent):
    asked = None  # for these ranks

    def _log_watchdog_event(self, name, request):
        ranks = [str(pid) for pid in self._pcontext.pids().values()] if self._pcontext else []
        if name == "timer expired" and ranks and self.asked != ranks:
            self.asked = ranks
            examine(os.environ.get("ODDRANK_REPORT", f"oddrank-{os.uname().nodename}.json"), *ranks)
        super()._log_watchdog_event(name, request)


if __name__ == "__main__":
    launcher.LocalElasticAgent = Agent
    torch.distributed.run.main()
