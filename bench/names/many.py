"""Many threads of one process, many small ranks, and the start of the program."""

import os
import subprocess

import process_groups
from compare import Candidate, alternate
from result import Result


def threads(bench):
    result = Result("threads", "One process of 1, 100 and 5,000 threads",
                    "All threads of a Python process but one wait for a lock, each with one Python frame.")
    for count in (1, 100, 5000):
        with process_groups.threads(count) as pids:
            ours, theirs = _alone(bench, result, pids, f"{count:,} thread{'s' if count > 1 else ''}: ")
        if not theirs.failed:
            result.goal(f"CPU time of one sample ÷ that of `py-spy dump`, {count:,}", 1,
                        ours.cpu_ms / theirs.cpu_ms, "")
    result.goal("CPU time of one sample, 5,000", 3, ours.cpu_ms / 1e3, " s")
    return result


def ranks(bench):
    result = Result("ranks", "200 small Python ranks",
                    "Ranks of one job; each reads from a socket that nobody writes to.")
    with process_groups.ranks(200) as pids:
        ours, _ = _alone(bench, result, pids)
    result.goal("CPU time of one sample", 2, ours.cpu_ms / 1e3, " s")
    return result


def _alone(bench, result, pids, words=""):
    """Measures oddrank beside py-spy; returns both. `words` go before their names."""
    texts = [str(pid) for pid in pids]
    candidates = [Candidate(words + "oddrank, one sample", [[bench.oddrank, "node", "--samples", "1", *texts]]),
                  Candidate(words + "py-spy dump", [[bench.peers.program("py-spy"), "dump", "-p", pid]
                                            for pid in texts], fails=True)]
    result.versions = {"py-spy": bench.peers.versions()["py-spy"]}
    alternate(candidates, bench.rounds)
    result.candidates(candidates)
    ours, theirs = candidates
    if not theirs.failed and theirs.cpu_ms < ours.cpu_ms:
        result.ahead.append(f"`{theirs.name}`, which reads Python's frames only, is ahead: "
                            f"{theirs.cpu_ms:.0f} ms of CPU time beside {ours.cpu_ms:.0f} ms.")
    return ours, theirs


def start(bench):
    result = Result("start", "The program", "Size, and cost of `oddrank --version`.")
    size = os.path.getsize(bench.oddrank) / 2**20
    kinds = subprocess.run(["file", "-b", bench.oddrank], capture_output=True, text=True,
                           check=False).stdout if os.path.exists("/usr/bin/file") else ""
    candidate = Candidate("oddrank --version", [[bench.oddrank, "--version"]])
    alternate([candidate], 31)
    result.candidates([candidate])
    result.notes.append(f"The program has {size:.1f} MiB" + (", statically linked." if "static" in kinds
                                                            else "."))
    result.goal("size of the program", 8, size, " MiB")
    result.goal("wall time of a start", 3, candidate.median * 1e3, " ms")
    return result
