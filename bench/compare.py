"""Runs commands in turn and compares medians. Machines drift, but ratios within one run do not."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


class Candidate:
    """A way to do the work: a list of commands, `at_once` of them at a time."""

    def __init__(self, name, commands, at_once=1, every=1, before=None, fails=False):
        """`before` is called before each round, and not timed. `fails`: the commands may fail."""
        self.name, self.commands, self.at_once, self.every = name, commands, at_once, every
        self.before, self.fails = before, fails
        self.seconds, self.cpu, self.peak_kib = [], [], 0
        self.failed = False  # in any round

    def run(self):
        """Runs the commands, which counts as one round."""
        if self.before:
            self.before()
        started, cpu = time.perf_counter(), 0.0
        waiting, running = list(self.commands), {}
        while waiting or running:  # the memory is not that of wait4: it includes this Python's
            while waiting and len(running) < self.at_once:
                process = subprocess.Popen(waiting.pop(0), stdin=subprocess.DEVNULL,
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                running[process.pid] = process
            pid, status, usage = os.wait4(-1, 0)
            if pid in running:
                process = running.pop(pid)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.failed = self.failed or process.returncode != 0
                if process.returncode != 0 and not self.fails:
                    sys.exit(f"{' '.join(process.args)[:200]} failed with {process.returncode}")
                cpu += usage.ru_utime + usage.ru_stime
        self.cpu.append(cpu)
        self.seconds.append(time.perf_counter() - started)

    def measure_memory(self):
        """Notes the peak of the largest process of the commands."""
        timer = shutil.which("time")
        for command in self.commands[:1] if timer else []:
            with tempfile.NamedTemporaryFile("r", encoding="utf-8") as told:
                subprocess.run([timer, "-q", "-f", "%M", "-o", told.name, *command], check=False,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
                text = told.read().split()
                self.peak_kib = max(self.peak_kib, int(text[-1]) if text else 0)

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def cpu_ms(self):
        return statistics.median(self.cpu) * 1e3


def alternate(candidates, rounds):
    """Runs every candidate once per round; one with every=3 only in every third round."""
    for candidate in candidates:
        candidate.measure_memory()  # also warms the caches
    for turn in range(rounds):
        for candidate in candidates:
            if turn % candidate.every == 0:
                candidate.run()
