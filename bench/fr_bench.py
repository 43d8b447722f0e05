#!/usr/bin/env python3
"""Compares `oddrank fr` with PyTorch's own analyzer, on the same made-up dumps in the same run.

    fr_bench.py --oddrank BINARY --python PYTHON [--ranks 512] [--entries 2000] [--limit 600]

PYTHON is an interpreter with PyTorch (torch.distributed.flight_recorder). The job: ranks in one group
of all and in groups of eight; the last rank is stuck before the last call of each. The benchmark
prints wall-clock time, CPU time (which other work on the machine does not lengthen) and the peak
memory of the process. The other analyzer's time is given with and without the import of torch; it is
killed after --limit seconds."""

import argparse
import os
import pickle
import subprocess
import sys
import tempfile
import time

GROUP = 8
FRAMES = [{"name": name, "filename": f"/job/{file}", "line": line} for name, file, line in (
    ("step", "train.py", 88), ("train", "train.py", 120), ("main", "train.py", 150))]


def entry(record, sequence, pg, op, shape, ended):
    number, description = pg
    return {"record_id": record, "pg_id": int(number), "process_group": (number, description),
            "collective_seq_id": sequence, "p2p_seq_id": 0, "op_id": sequence,
            "profiling_name": f"nccl:{op}", "time_created_ns": 1_700_000_000_000_000_000 + record,
            "input_sizes": [list(shape)], "input_dtypes": ["Float"], "output_sizes": [list(shape)],
            "output_dtypes": ["Float"], "state": "completed" if ended else "scheduled",
            "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
            "retired": ended, "timeout_ms": 600000, "is_p2p": False, "frames": FRAMES,
            "thread_id": "140000", "thread_name": "python"}


def dump(rank, ranks, entries):
    first = rank // GROUP * GROUP
    world, small = ("0", "default_pg"), (str(1 + rank // GROUP), "tp")
    config = {name: {"name": name, "desc": description, "ranks": str(list(members))}
              for (name, description), members in ((world, range(ranks)),
                                                   (small, range(first, first + GROUP)))}
    count = entries - 2 if rank == ranks - 1 else entries
    rows = []
    for record in range(count):
        pg = small if record % 2 == 0 else world
        ended = record < entries - 2
        rows.append(entry(record, 1 + record // 2, pg, "all_reduce", (1024, 16 + record % 5), ended))
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "", "pg_status": {},
            "entries": rows}


def run(command, limit):
    """Returns (seconds, CPU seconds, peak MiB, status or None if it was killed, output)."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        with subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as process:
            status = None
            while time.monotonic() - began < limit:
                pid, code, usage = os.wait4(process.pid, os.WNOHANG)
                if pid:
                    status = os.waitstatus_to_exitcode(code)
                    break
                time.sleep(0.005)
            else:
                process.kill()
                _, _, usage = os.wait4(process.pid, 0)
            took = time.monotonic() - began
            process.returncode = status if status is not None else -9
        out.seek(0)
        text = out.read().decode(errors="replace")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, status, text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--python", required=True)
    for name, default in (("ranks", 512), ("entries", 2000), ("limit", 600)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as folder:
        size = 0
        for rank in range(options.ranks):
            with open(f"{folder}/trace_rank_{rank}", "wb") as file:
                pickle.dump(dump(rank, options.ranks, options.entries), file, protocol=2)
                size += file.tell()
        print(f"{options.ranks} dumps of {options.entries} calls, {size / 2**20:.0f} MiB", flush=True)
        took, cpu, memory, status, text = run([options.oddrank, "fr", "-q", folder], options.limit)
        print(f"oddrank fr        {took:8.2f} s  CPU {cpu:8.2f} s  {memory:6.0f} MiB  status {status}: "
              f"{text.strip()[:200]}", flush=True)
        one = [run([options.oddrank, "fr", "-q", f"{folder}/trace_rank_0"], 60) for _ in range(9)]
        single, busy, memory = (sorted(values)[4] for values in list(zip(*one))[:3])
        print(f"oddrank fr, 1 dump{single * 1000:7.1f} ms  CPU {busy * 1000:7.1f} ms  {memory:6.0f} "
              "MiB  (median of 9)", flush=True)
        module = "torch.distributed.flight_recorder.fr_trace"
        imported, importing, _, _, _ = run([options.python, "-c", f"import {module}"], 120)
        theirs, working, memory, status, text = run(
            [options.python, "-c", f"from {module} import main; main()", folder, "-p",
             "trace_rank_"], options.limit)
        ended = "ended by --limit" if status is None else f"status {status}"
        print(f"torch's fr_trace  {theirs:8.2f} s  CPU {working:8.2f} s  {memory:6.0f} MiB  {ended} "
              f"(import of torch {imported:.2f} s): {text.strip()[-200:]}")
        print(f"ratio without the import: {(theirs - imported) / took:.0f}, of CPU time "
              f"{(working - importing) / cpu:.0f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
