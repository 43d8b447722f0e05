"""`oddrank fr` beside PyTorch's own analyzer, on the same made-up dumps: time, and who finds what is wrong."""

import os
import re
import subprocess
import tempfile

import dumps
from compare import Candidate, alternate
from peers import torch_version
from result import Result

SIZES = ((8, 2000), (64, 2000), (256, 2000), (512, 2000))
FAULTS = ("skipped", "other op", "other size", "other type", "last call", "other order", "small group",
          "missing dump")
ABOUT = """Made-up dumps of jobs with one group of all ranks and groups of eight: 2,000 calls a rank, each with three Python
frames. The last rank is stuck before the last call of each group. The time of
`torch.distributed.flight_recorder.fr_trace` is without the import of torch ({imported:.1f} s)."""


def measure(bench):
    python = bench.torch_python
    version = torch_version(python) if python else None
    if not version:
        bench.say("fr: left out: no Python with PyTorch")
        return None
    module = "torch.distributed.flight_recorder.fr_trace"
    imports = Candidate("import", [[python, "-W", "ignore", "-c", f"import {module}"]])
    alternate([imports], 3)
    result = Result("fr", "Dumps of flight recorders", ABOUT.format(imported=imports.median))
    result.versions = {"torch": version}
    rows, ratios, times = [], {}, ([], [])
    with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as folder:
        for ranks, entries in SIZES:
            bench.say(f"fr: {ranks} dumps of {entries} calls")
            size = dumps.write_job(folder, ranks, entries)
            ours = Candidate("oddrank fr", [[bench.oddrank, "fr", "-q", folder]], fails=True)
            theirs = Candidate("fr_trace", [[python, "-W", "ignore", "-c",
                                             f"from {module} import main; main()", folder, "-p",
                                             dumps.PREFIX]], fails=True)
            alternate([ours], 5)
            theirs.run()  # once: it takes a minute or two for the most
            cpu = theirs.cpu[0] - imports.cpu_ms / 1e3
            ratios[ranks] = cpu / (ours.cpu_ms / 1e3)
            times[0].append(ours.cpu_ms)
            times[1].append(max(cpu, 0.001) * 1e3)
            rows.append([f"{ranks} × {entries:,}", f"{size / 2**20:.0f}", f"{ours.cpu_ms / 1e3:.2f}",
                         f"{ours.median:.2f}", f"{ours.peak_kib / 1024:.0f}", f"{cpu:.1f}",
                         f"{theirs.seconds[0] - imports.median:.1f}", f"{ratios[ranks]:.0f}"])
        result.table(["dumps × calls", "MiB", "oddrank, CPU s", "wall s", "peak MiB", "fr_trace, CPU s",
                      "wall s", "CPU time, ratio"], rows)
    result.lines("fr", "dumps of 2,000 calls", "CPU time, ms", [ranks for ranks, _ in SIZES],
                 {"oddrank fr": times[0], "fr_trace (without import)": times[1]})
    _compare_answers(bench, result, python, module)
    result.goal("CPU time of `fr_trace` ÷ oddrank's, 256 × 2,000 calls", 80, ratios[256], "",
                at_least=True)
    return result


def _compare_answers(bench, result, python, module):
    """Lets both read small jobs with one known fault each, and counts who names the rank."""
    right = [0, 0]
    with tempfile.TemporaryDirectory(prefix="oddrank-fr-") as folder:
        for fault in FAULTS:
            bench.say(f"fr: {fault}")
            rank = dumps.write_fault(folder, fault)
            ours = subprocess.run([bench.oddrank, "fr", folder], capture_output=True, text=True,
                                  check=False).stdout
            theirs = subprocess.run([python, "-W", "ignore", "-c", f"from {module} import main; main()",
                                     folder, "-p", dumps.PREFIX], capture_output=True, text=True,
                                    check=False)
            found = [_ours_names(ours, rank), _theirs_names(theirs.stdout + theirs.stderr, rank)]
            right = [count + good for count, good in zip(right, found)]
    result.notes.append(f"One of {dumps.FAULT_RANKS} ranks is at fault ({', '.join(FAULTS)}): `oddrank fr` names "
                        f"it, and no other, in {right[0]} of {len(FAULTS)} jobs, `fr_trace` in {right[1]}.")
    if right[1] > right[0]:
        result.ahead.append("`fr_trace` is ahead in answers.")


def _ours_names(text, rank):
    """Returns whether the verdict, or what is said of dumps that are not there, begins with that rank."""
    for line in text.splitlines():
        if re.match(r"\w+_\w+( \(\w+\))?: |No dump of ", line):
            first = re.search(r"\branks? ([\d,-]+)", line)
            return first is not None and first.group(1) == str(rank)
    return False


def _theirs_names(text, rank):
    """Returns whether all lines that blame somebody blame this rank and no other."""
    blamed = set()
    for ranks in re.findall(r"(?:missing ranks|Culprit rank|from ranks)[: ]*\{?(\d[\d, ]*)", text):
        blamed.update(int(number) for number in re.findall(r"\d+", ranks))
    return blamed == {rank}
