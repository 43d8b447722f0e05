"""Reports of many ranks, from captures in files, beside reading and decompressing the same bytes."""

import os
import shutil
import subprocess
import tempfile

from compare import Candidate, alternate
from result import Result

RANKS = (1024, 8192, 32768, 131072)


def measure(bench):
    result = Result("scale", "Reports of many ranks", """One capture per node of eight ranks, read by `oddrank report FOLDER`. One rank waits for its loader, the others
for it. The floor (`bench/capture_floor.cc`) only reads and decompresses the files.""")
    maker, floor = bench.program("verdict_scale"), bench.program("capture_floor")
    rows, ours, least = [], [], []
    with tempfile.TemporaryDirectory(prefix="oddrank-scale-") as folder:
        for ranks, threads in [(ranks, 4) for ranks in RANKS] + [(RANKS[-1], 100)]:
            bench.say(f"scale: {ranks} ranks with {threads} threads each")
            files = os.path.join(folder, "captures")
            os.mkdir(files)
            subprocess.run([maker, str(ranks), str(threads), files], check=True,
                           stdout=subprocess.DEVNULL)
            pair = [Candidate(f"{ranks} × {threads}", [[bench.oddrank, "report", files]]),
                    Candidate("floor", [[floor, files]])]
            alternate(pair, bench.rounds if ranks < RANKS[-1] else min(bench.rounds, 5))
            rows.append(_row(pair, ranks, threads, files))
            if threads == 4:
                ours.append(pair[0].median * 1e3)
                least.append(pair[1].median * 1e3)
            if ranks == RANKS[-1]:
                limit = 1.5 if threads == 4 else 5
                result.goal(f"{ranks:,} ranks with {threads} threads each, wall time", limit,
                            pair[0].median, " s")
                result.goal(f"{ranks:,} ranks with {threads} threads each, peak memory",
                            250 if threads == 4 else 1024, pair[0].peak_kib / 1024, " MiB")
            shutil.rmtree(files)
    result.table(["ranks × threads", "files, MB", "wall time, s", "CPU time, s", "peak memory, MiB",
                  "floor, wall s", "wall ÷ floor"], rows)
    result.lines("scale", "ranks with 4 threads each", "wall time, ms", list(RANKS),
                 {"oddrank report": ours, "floor: read and decompress": least})
    return result


def _row(pair, ranks, threads, files):
    ours, floor = pair
    size = sum(entry.stat().st_size for entry in os.scandir(files)) / 1e6
    return [f"{ranks:,} × {threads}", f"{size:.1f}", f"{ours.median:.2f}", f"{ours.cpu_ms / 1e3:.2f}",
            f"{ours.peak_kib / 1024:.0f}", f"{floor.median:.2f}", f"{ours.median / floor.median:.1f}"]
