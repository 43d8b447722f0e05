"""Eight hung gloo ranks on this machine, for benchmarks. They are killed by pid when the context ends."""

import os
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "support"))
# pylint: disable=wrong-import-position
import proc_facts
import training_job

RANKS = 8


class HungJob:
    """Has `pids` and `threads` (of all ranks) while the context lasts."""

    def __init__(self, ranks=RANKS):
        self.python = training_job.find_torch_python()
        if self.python is None:
            sys.exit("no Python with PyTorch: run scripts/setup")
        self.ranks = ranks
        self.processes = []

    def __enter__(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for rank in range(self.ranks):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank),
                               WORLD_SIZE=str(self.ranks), MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
            self.processes.append(subprocess.Popen(
                [self.python, f"{HERE}/hung_rank.py"], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
                start_new_session=True))
        for process in self.processes:
            if process.stdout.readline().strip() != b"ready":
                self.__exit__(None, None, None)
                sys.exit("a rank ended before it hung")
        proc_facts.wait_until(lambda: all(proc_facts.sleeping(pid) for pid in self.pids),
                              "all ranks to block", 60, 0.2)
        # Idle OpenMP threads spin for a while before they sleep.
        proc_facts.wait_until(self._quiet, "all threads to sleep", 60, 1.0)
        return self

    def _quiet(self):
        """Returns whether no thread runs now, not even one of gloo's timers."""
        running = 0
        for pid in self.pids:
            for tid in os.listdir(f"/proc/{pid}/task"):
                running += proc_facts.status(pid, tid).get("State", "")[:1] == "R"
        return running == 0

    def __exit__(self, kind, value, trace):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait(20)

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    @property
    def threads(self):
        return sum(len(os.listdir(f"/proc/{pid}/task")) for pid in self.pids)
