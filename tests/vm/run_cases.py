#!/usr/bin/env python3
"""Runs the cases in a guest (scripts/vm), each in a process of its own, and writes one JSON line a case.

    run_cases.py --results FILE --venv FOLDER --tree FOLDER --case NAME
"""

import argparse
import importlib
import json
import os
import platform
import re
import signal
import sys
import time
import traceback

import guest

MODULES = ("yama", "limits", "hidden", "namespaces", "confined", "containers", "dead_disks", "devices", "clocks",
           "addresses", "torch_job")
AARCH64_MODULES = ("torch_job", "yama", "clocks", "native")
LIMIT_S = 400


def cases(wanted):
    """Yields (name, sentence, function)."""
    names = AARCH64_MODULES if platform.machine() == "aarch64" else MODULES
    modules = {name: importlib.import_module(name) for name in names}
    for name, module, kind in [*((name, module, "CASES") for name, module in modules.items()),
                               *((name, module, "LAST") for name, module in modules.items())]:
        for case in getattr(module, kind, ()):
            title = f"{name}.{case.__name__}"
            if wanted in title:
                yield title, case.__doc__.strip(), case


def run(case, pipe):
    """Runs the case in this process, and writes what was seen to the pipe."""
    os.setsid()
    began = time.monotonic()
    answer = {"result": "failed", "saw": ""}
    try:
        with guest.Guest() as machine:
            answer = {"result": "right", "saw": case(machine) or ""}
    except guest.CannotRun as reason:
        answer = {"result": "not run", "saw": str(reason)}
    except BaseException as error:  # pylint: disable=broad-exception-caught
        traceback.print_exc()
        answer["result"] = "failed"
        answer["saw"] = f"{type(error).__name__}: {error}"[:4000]
    answer["seconds"] = round(time.monotonic() - began, 1)
    os.write(pipe, json.dumps(answer).encode())
    os._exit(0)


def run_apart(case):
    """Returns the answer of a case, which is killed if it takes too long."""
    limit = getattr(case, "limit_s", LIMIT_S)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        run(case, writer)
    os.close(writer)
    signal.signal(signal.SIGALRM, lambda *_: os.killpg(pid, signal.SIGKILL))
    signal.alarm(limit)
    with os.fdopen(reader, "rb") as file:
        text = b""
        while True:
            piece = file.read(65536)
            if not piece:
                break
            text += piece
    signal.alarm(0)
    os.waitpid(pid, 0)
    try:
        return json.loads(text)
    except ValueError:
        return {"result": "failed", "saw": f"it did not end within {limit} s, or crashed",
                "seconds": limit}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--results", required=True)
    parser.add_argument("--venv", default="")
    parser.add_argument("--tree", default="")
    parser.add_argument("--case", default="")
    options = parser.parse_args()
    guest.Guest.venv = options.venv
    guest.Guest.tree = options.tree
    with open(options.results, "w", encoding="utf-8") as results:
        def tell(row):
            results.write(json.dumps(row) + "\n")
            results.flush()
        # "#1 SMP PREEMPT_DYNAMIC Debian 6.1.192-2 (2026-11-16)" has the version of the source.
        versions = re.findall(r" (\d+\.\d+\.\d+)", platform.version())
        tell({"kernel": (versions or [platform.release()])[0], "machine": platform.machine(),
              "levels": guest.page_table_levels()})
        for name, sentence, case in cases(options.case):
            print(f"-- {name}", flush=True)
            row = {"case": name, "sentence": " ".join(sentence.split()), **run_apart(case)}
            print(f"   {row['result']} ({row['seconds']} s): {row['saw']}", flush=True)
            tell(row)
        tell({"end": True})


if __name__ == "__main__":
    sys.exit(main())
