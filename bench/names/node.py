"""A hung rank of a hundred threads, and a node of eight of them: oddrank beside what people use."""

from compare import Candidate, alternate
from hung_job import HungJob
from result import Result

ABOUT = {"one": """One of eight gloo ranks of PyTorch that hang in `all_reduce` because rank 3 sleeps in its loader.
Each has {threads} threads, 21 of them Python's. oddrank takes one sample: native and Python frames, merged, and what each
thread waits for. The others print stacks; `py-spy dump` without `--native` only Python's, and pauses the process
for it.""",
         "node": "All eight ranks of the job above. oddrank also joins their waits and gives a verdict."}
GOALS = {"eu-stack": 60, "py-spy dump --native": 40, "pystack remote --native-all": 30, "gdb": 200}


def measure(bench, names):
    """Returns the results of `one` and `node`, or of one of them."""
    results = []
    with HungJob() as job:
        for name, pids in (("one", job.pids[:1]), ("node", job.pids)):
            if name in names:
                bench.say(f"{name}: {len(pids)} of {job.threads} threads in all")
                results.append(_compare(bench, name, pids, job.threads // len(job.pids)))
    return results


def _compare(bench, name, pids, threads):
    result = Result(name, "One rank" if name == "one" else "Eight ranks of a node, one after the other",
                    ABOUT[name].format(threads=threads))
    result.versions = bench.peers.versions()
    ours = Candidate("oddrank", [[bench.oddrank, "node", "--samples", "1", *map(str, pids)]])
    candidates = [ours]
    for peer, commands in bench.peers.commands(pids):
        # Those that take seconds run in every third round, or once.
        every = 1 if peer == "py-spy dump" else bench.rounds if peer == "gdb" else 3
        candidates.append(Candidate(peer, commands, every=every, fails=True))
    alternate(candidates, bench.rounds)
    result.candidates(candidates)
    result.bars(name, "CPU time, ms", [each.name for each in candidates],
                [each.cpu_ms for each in candidates])
    for each in candidates[1:]:
        if not each.failed and each.cpu_ms < ours.cpu_ms:
            result.ahead.append(f"`{each.name}` is ahead: it needs {each.cpu_ms:.0f} ms of CPU time where "
                                f"oddrank needs {ours.cpu_ms:.0f} ms.")
    # The person sees the wall time; the CPU time is what the job, which shares the cores, lacks.
    if name == "one":
        result.goal("wall time of one rank", 20, ours.median * 1e3, " ms")
        result.goal("CPU time of one rank", 20, ours.cpu_ms, " ms")
        for each in candidates:
            if each.name == "py-spy dump":
                result.goal("CPU time of one rank ÷ that of `py-spy dump` without native frames", 1,
                            ours.cpu_ms / each.cpu_ms, "")
        return result
    for each in candidates[1:]:
        wall, cpu = each.median / ours.median, each.cpu_ms / ours.cpu_ms
        if each.name in GOALS:
            result.goal(f"wall time of `{each.name}` ÷ oddrank's", GOALS[each.name], wall, "", at_least=True)
            result.goal(f"CPU time of `{each.name}` ÷ oddrank's", GOALS[each.name], cpu, "", at_least=True)
        elif each.name == "py-spy dump":
            result.goal("wall time of eight ranks ÷ that of `py-spy dump` without native frames", 1, 1 / wall, "")
            result.goal("CPU time of eight ranks ÷ that of `py-spy dump` without native frames", 1, 1 / cpu, "")
    result.goal("peak memory of the largest process, eight ranks", 12, ours.peak_kib / 1024, " MiB")
    return result
