"""A job on a SLURM cluster of this machine (tests/support/cluster.py), from Enter to the verdict."""

import os
import statistics
import tempfile
import time

from result import Result

import cluster  # of tests/support
from star_job import StarJob

NODES, RANKS = 4, 8
SAMPLES_APART_S = 0.5
OLD_S = 7  # younger waits are sampled more often than twice

ABOUT = """Four nodes (namespaces with a slurmd each) with two plain Python ranks each, all on the cores of this machine.
oddrank takes two samples half a second apart. The recipe is what people type without it:
`srun --overlap --jobid=J sh -c 'for p in $(pgrep …); do py-spy dump -p $p; done'`; it prints every rank's
Python stacks. The floor is the same srun with `echo`."""


def srun_words(job):
    """The options of agent_command() in slurm/launch.cc."""
    return ["srun", f"--jobid={job}", "-i", "none", "-l", "-K0", "--overlap", "-N", str(NODES), "-n",
            str(NODES), "--ntasks-per-node=1", "--gres=none", "--mem=0", "--cpu-bind=none",
            "--mpi=none", "--chdir=/"]


def _timed(lab, command):
    began = time.monotonic()
    run = lab.run_client(command, timeout=300)
    took = time.monotonic() - began
    if run.returncode != 0:
        raise SystemExit(f"{command[0]} failed with {run.returncode}:\n{run.stderr}")
    return took, run.stdout


def measure(bench):
    reason = cluster.can_namespaces()
    if reason:
        bench.say(f"job: left out: {reason}")
        return None
    result = Result("job", "A job of four nodes", ABOUT)
    with tempfile.TemporaryDirectory(prefix="oddrank-job-") as folder, \
            cluster.Cluster(nodes=NODES) as lab:
        job = StarJob(lab, folder, nodes=NODES, ranks=RANKS).start()
        bench.say("job: waits until the ranks have hung for some seconds, as a job has that somebody looks at")
        time.sleep(OLD_S)
        spy = bench.peers.program("py-spy")
        # The ranks' own arguments have the folder; the shell's have it, too.
        loop = (f"for p in $(pgrep -f 'peers.py ranks {folder}'); do "
                f"[ $p = $$ ] || [ \"$(cat /proc/$p/comm)\" = sh ] || {spy} dump -p $p; done")
        ways = {
            "oddrank job": [bench.oddrank, "job", job.id],
            "oddrank job --samples 1": [bench.oddrank, "job", job.id, "--samples", "1"],
            "srun … py-spy dump": [*srun_words(job.id), "sh", "-c", loop],
            "floor: srun … echo": [*srun_words(job.id), "/bin/echo", "here"],
        }
        times = {name: [] for name in ways}
        # py-spy pauses the ranks, after which their waits are young, so its rounds come last.
        for names in (list(ways)[:2] + list(ways)[3:], list(ways)[2:]):
            for turn in range(bench.rounds + 1):
                for name in names:
                    took, out = _timed(lab, ways[name])
                    if turn > 0:
                        times[name].append(took)
                    elif "py-spy" in name and out.count("Thread") < RANKS:
                        raise SystemExit(f"the recipe has not printed every rank:\n{out}")
        lab.cancel(job.id)
        slurm = lab.run_client(["srun", "--version"]).stdout.split()[-1]
    medians = {name: statistics.median(all_) for name, all_ in times.items()}
    result.table(["", "rounds", "wall time, s", "fastest, s", "beyond srun's own, s"],
                 [[name, len(all_), f"{medians[name]:.2f}", f"{min(all_):.2f}",
                   f"{medians[name] - medians['floor: srun … echo']:.2f}"]
                  for name, all_ in times.items()])
    result.bars("job", "wall time, ms", list(ways), [medians[name] * 1e3 for name in ways])
    result.versions = {"py-spy": bench.peers.versions()["py-spy"],
                       "SLURM": slurm}
    result.raw["times"] = times
    if medians["srun … py-spy dump"] < medians["oddrank job"]:
        result.ahead.append("The recipe is faster: it takes one sample, oddrank two, half a second apart. "
                            "It gives no verdict.")
    result.goal("two samples, Enter to verdict", 0.75, medians["oddrank job"], " s")
    result.goal("time of our own (without the half second between the samples)", 250,
                (medians["oddrank job"] - SAMPLES_APART_S) * 1e3, " ms")
    return result

