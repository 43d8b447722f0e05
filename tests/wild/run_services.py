#!/usr/bin/env python3
"""Runs oddrank on jobs whose processes serve each other: Ray's drivers, actors and tasks, and engines
that serve a model, each hung for several reasons and as a healthy twin.

    run_services.py --oddrank PATH [NAME...]      NAME: see SERVICES; all without

Run by scripts/test --wild after run_jobs.py, whose machinery it uses.
"""

import argparse
import os

import run_jobs
from run_jobs import Failed, PORT, PYTHON

REASONS = {"fifo": ("io_stall",), "compute": ("busy_rank",), "lock": ("file_lock",)}


class Form:
    """`ranks`: these say who they are, and `stands` is the one that does (None: nobody may be named).
    oddrank is given their pids, unless it has to find ranks by itself: then these are `found`."""

    def __init__(self, command, reasons, ranks, found=(), stands="1"):
        self.command, self.reasons, self.ranks = command, reasons, ranks
        self.found, self.stands = found, stands


ALL_THREE, TWO = ("0", "1", "2"), ("0", "1")
SERVICES = {
    **{f"ray_{form}": Form(f"{PYTHON} ray_actors.py {form}", REASONS, ALL_THREE)
       for form in ("actors", "chain", "tasks")},
    "ray_group": Form(f"{PYTHON} ray_actors.py group", REASONS, ALL_THREE, found=ALL_THREE),
    **{f"serving_{way}": Form(f"{PYTHON} serving.py {way} {PORT}", REASONS, ("engine", *TWO),
                               found=("engine", *TWO))
       for way in ("ipc", "tcp")},
    "serving_engine_found": Form(f"WHO=engine {PYTHON} serving.py ipc {PORT}",
                                 {reason: REASONS[reason] for reason in ("fifo", "lock")},
                                 ("engine", *TWO), found=("engine", *TWO), stands="engine"),
    # That it computes is no fault unless somebody is seen to wait; the front is not read.
    "serving_engine_computes": Form(f"WHO=engine {PYTHON} serving.py ipc {PORT}",
                                    {"compute": ("unknown",)}, ("engine", *TWO),
                                    found=("engine", *TWO), stands=None),
    **{f"serving_{way}_engine": Form(f"WHO=engine {PYTHON} serving.py {way} {PORT}", REASONS,
                                     ("front", "engine", *TWO), stands="engine")
       for way in ("ipc", "tcp")},
    "serving_pids": Form(f"{PYTHON} serving.py ipc {PORT}", REASONS, ("front", "engine", *TWO)),
}
run_jobs.JOBS.update({name: (0, form.command) for name, form in SERVICES.items()})


class Service(run_jobs.Job):
    def __init__(self, name, hang):
        super().__init__(name, hang)
        self.form = SERVICES[name]
        self.names = self.form.ranks
        self.pids = ()

    def wait(self):
        pids = super().wait()
        if not self.form.found:
            self.pids = tuple(dict.fromkeys(pids.values()))  # a worker may run two tasks
        return pids


def check(job, program):
    try:
        pids = job.wait()
        report = job.oddrank(program)
    finally:
        job.end()
    found = {"engine" if row["role"] == "engine" else str(row["rank"]): row["pid"]
             for row in report["ranks"]}
    if job.form.found and found != pids:
        raise Failed(f"ranks {found}, and not {pids}; notes {report['notes']}")
    verdict = report["verdict"]
    culprits = [each["pid"] for each in verdict["culprits"]]
    said = f"{verdict['kind']} ({verdict['confidence']}) names {culprits}"
    wanted = [pids[job.form.stands]] if job.hang and job.form.stands else []
    # The engine is a child of the front, which is named with it.
    if wanted and f"its child process pid {wanted[0]}" in verdict["summary"]:
        wanted = [pids["front"]]
    kinds = job.form.reasons[job.hang] if job.hang else ("healthy",)
    if culprits != wanted or verdict["kind"] not in kinds:
        raise Failed(f"{said} of {pids}: {verdict['summary']}")
    return said


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--reason", action="append", help='only this one; "healthy": the healthy twin')
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    oddrank = os.path.abspath(options.oddrank)
    run_jobs.report_each(
        (name, hang, lambda name=name, hang=hang: check(Service(name, hang), oddrank))
        for name in options.names or SERVICES
        for hang in ("" if reason == "healthy" else reason
                     for reason in options.reason or (*SERVICES[name].reasons, "")))


if __name__ == "__main__":
    main()
