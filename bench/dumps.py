"""Made-up dumps of flight recorders: a large job that is stuck, and small ones with one known fault."""

import os
import pickle

PREFIX = "trace_rank_"
GROUP = 8
FAULT_RANKS, FAULTY = 8, 5
FRAMES = [{"name": name, "filename": f"/job/{file}", "line": line} for name, file, line in (
    ("step", "train.py", 88), ("train", "train.py", 120), ("main", "train.py", 150))]


def entry(record, sequence, pg, op, shape, ended, dtype="Float"):
    number, description = pg
    rows, columns = shape
    rows = {"all_gather": rows * GROUP, "reduce_scatter": rows // GROUP}.get(op, rows)
    return {"record_id": record, "pg_id": int(number), "process_group": (number, description),
            "collective_seq_id": sequence, "p2p_seq_id": 0, "op_id": sequence,
            "profiling_name": f"nccl:{op}", "time_created_ns": 1_700_000_000_000_000_000 + record,
            "input_sizes": [list(shape)], "input_dtypes": [dtype], "output_sizes": [[rows, columns]],
            "output_dtypes": [dtype], "state": "completed" if ended else "scheduled",
            "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
            "retired": ended, "timeout_ms": 600000, "is_p2p": False, "frames": FRAMES,
            "thread_id": "140000", "thread_name": "python"}


def _config(rank, ranks):
    first = rank // GROUP * GROUP
    world, small = ("0", "default_pg"), (str(1 + rank // GROUP), "tp")
    config = {name: {"name": name, "desc": description, "ranks": str(list(members))}
              for (name, description), members in ((world, range(ranks)),
                                                   (small, range(first, first + GROUP)))}
    return world, small, config


def _dump(config, rows):
    return {"version": "2.10", "pg_config": config, "comm_lib_version": "", "pg_status": {},
            "entries": rows}


def _write(folder, rank, dump):
    with open(f"{folder}/{PREFIX}{rank}", "wb") as file:
        pickle.dump(dump, file, protocol=2)
        return file.tell()


def _clear(folder):
    for name in os.listdir(folder):
        os.unlink(os.path.join(folder, name))


def write_job(folder, ranks, entries):
    """Writes the dumps of a job whose last rank is stuck before its last calls; returns their size."""
    _clear(folder)
    size = 0
    for rank in range(ranks):
        world, small, config = _config(rank, ranks)
        count = entries - 2 if rank == ranks - 1 else entries
        rows = [entry(record, 1 + record // 2, small if record % 2 == 0 else world, "all_reduce",
                      (1024, 16 + record % 5), record < entries - 2) for record in range(count)]
        size += _write(folder, rank, _dump(config, rows))
    return size


def write_fault(folder, fault):
    """Writes the dumps of eight ranks, of which FAULTY has that fault in its last calls; returns it."""
    _clear(folder)
    calls = 40
    for rank in range(FAULT_RANKS):
        if fault == "missing dump" and rank == FAULTY:
            continue
        world, small, config = _config(rank, FAULT_RANKS)
        rows = []
        for i in range(calls):
            pg = small if fault == "small group" and i % 2 else world
            op, shape, dtype = ("all_reduce", (1024, 16 + i % 5), "Float")
            op = "all_gather" if i % 7 == 3 else op
            last = i == calls - 1
            if rank == FAULTY and last and fault in ("skipped", "last call", "small group"):
                continue
            if rank == FAULTY and last:
                op = "reduce_scatter" if fault == "other op" else op
                shape = (1024, 99) if fault == "other size" else shape
                dtype = "BFloat16" if fault == "other type" else dtype
            rows.append([pg, op, shape, dtype, not last])
        if fault == "skipped" and rank == FAULTY:
            del rows[20]
        if fault == "other order" and rank == FAULTY:
            rows[-1][1], rows[-2][1] = "all_gather", rows[-1][1]
            rows[-1][4] = rows[-2][4] = False
        counts, dumped = {}, []
        for record, (pg, op, shape, dtype, ended) in enumerate(rows):
            counts[pg] = counts.get(pg, 0) + 1
            dumped.append(entry(record, counts[pg], pg, op, shape, ended, dtype))
        _write(folder, rank, _dump(config, dumped))
    return FAULTY
