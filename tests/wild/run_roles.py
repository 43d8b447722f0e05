#!/usr/bin/env python3
"""Runs oddrank on jobs of real frameworks whose processes have roles: vLLM, torchft, Monarch, Ray and
services with anyio (on trio and asyncio), each with a process that stands, and as healthy and idle
twins.

    run_roles.py --oddrank PATH [--save DIR] [NAME...]      NAME: see JOBS; all without

oddrank is asked twice: without pids ("found"), and with those of the processes that run the user's
code ("pids"). Each time it must name the process that stands, and nobody in the twins. --save keeps
both captures and the truth.

Run by scripts/test --wild with the Python of a virtual environment that has roles-requirements.txt.
Uses the machinery of run_jobs.py: each job has a pid namespace, a network and a /dev/shm of its
own.
"""

import argparse
import importlib.metadata
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing

import run_jobs
from run_jobs import BIN, Failed, PYTHON, answer_of

ROLES_FOLDER = os.path.join(run_jobs.HERE, "roles")
LIMIT_S = 120
STEPS_BEFORE = 5  # that a job makes before something is done to it
STANDS_S = 4  # so long has no step been made, and no process come or gone
HTTP_PORT, RENDEZVOUS_PORT, CLUSTER_PORT = 8000, 29511, 6399
BODY = bytes(number % 255 + 1 for number in range(256))

IO_STALL, BUSY, LOCK, STOPPED = ("io_stall",), ("busy_rank",), ("file_lock",), ("stopped_rank",)
STUCK, DEADLOCK = ("stuck_rank",), ("lock_deadlock",)
GONE = ("missing_rank", "rendezvous", "unknown")
NOBODY = ("healthy", "unknown")
HELD = ("unknown",)  # not idle: an actor has begun something, for which nobody waits yet
# oddrank asks for pids or --select with these statuses; the word stands in place of a verdict.
REFUSED, REFUSALS = {"kind": "refused", "culprits": []}, (2, 4)
TABLE = "{:28}{:44}{}"


class Fault(typing.NamedTuple):
    """What is done to a running job, and the fact by which it shows. `early`: before it starts.
    `gone`: the role's process is not there any more, so it has no pid to be named by."""
    role: str
    act: typing.Callable
    shows: typing.Callable
    early: bool = False
    gone: bool = False


def pipe(role, file):
    """The role opens a named pipe that nobody writes to."""
    return Fault(role, lambda job: job.put(file, None),
                 lambda job: job.waits(role, "wait_for_partner"))


def spin(role, file, content):
    """The role computes for ever with what it reads."""
    return Fault(role, lambda job: job.put(file, content), lambda job: job.computes(role))


def lock(role, file):
    """The role wants a lock of a file that a process outside the job has."""
    return Fault(role, lambda job: job.lock(file), lambda job: job.waits(role, "lock_inode_wait"))


def stop(role):
    return Fault(role, lambda job: job.stop(role), lambda job: job.is_stopped(role))


def kill(role):
    return Fault(role, lambda job: job.kill(role), lambda job: role not in job.roles(), gone=True)


def absent(role, fault):
    """The fault is there from the start: the role does not come to the first quorum, the others
    do."""
    def shows(job):
        others = [each for each in job.roles() if each not in (role, "lighthouse")]
        return fault.shows(job) and any(job.has_thread(each, "torchft_quorum") for each in others)
    return fault._replace(shows=shows, early=True)


def end_loader(role, file):
    """The role waits for its thread that loads, which ends."""
    return Fault(role, lambda job: job.put(file, bytes(len(BODY))),
                 lambda job: job.waits(role, "futex") and not job.has_thread(role, "loader"))


class Form(typing.NamedTuple):
    """How a job is started, the roles it has at least, what is done to it, and which kinds of
    verdict are right. `named`: roles that are at fault though nothing is done. `idle`: it makes no
    more steps, though nothing is done. `by_pid`: oddrank may refuse to look for ranks by itself."""
    command: str
    least: tuple
    fault: typing.Optional[Fault] = None
    kinds: tuple = NOBODY
    named: tuple = ()
    idle: bool = False
    by_pid: bool = False

    def culprits(self):
        if self.fault:
            return () if self.fault.gone else (self.fault.role,)
        return self.named


TORCHRUN = f"{PYTHON} -m torch.distributed.run"
SERVE = (f"{BIN}/vllm serve $RUN_FOLDER/model --served-model-name chat --host 127.0.0.1 "
         f"--port {HTTP_PORT} --load-format dummy --max-model-len 4096 --max-num-seqs 4 "
         "--enforce-eager --scheduler-cls chat_scheduler.QuotaScheduler "
         "--middleware chat_plugin.AuditMiddleware")
TENSOR_PARALLEL = "--tensor-parallel-size 2 --distributed-executor-backend mp"
DATA_PARALLEL = "--data-parallel-size 2"
BOTH_PARALLEL = f"{TENSOR_PARALLEL} {DATA_PARALLEL}"
FEW, ENDLESS = STEPS_BEFORE, 10**9


def vllm(options, requests, *fault, rank=""):
    client = f"{PYTHON} client.py {HTTP_PORT} {requests} {rank}"
    least = {TENSOR_PARALLEL: ("Worker_TP0", "Worker_TP1", "EngineCore"),
             DATA_PARALLEL: ("EngineCore_DP0", "EngineCore_DP1"),
             BOTH_PARALLEL: tuple(f"{core}{part}" for core in ("EngineCore_DP0", "EngineCore_DP1")
                                  for part in ("", "/Worker_TP0", "/Worker_TP1"))}[options]
    return Form(f"cd vllm; {SERVE} {options} & {client}", ("api", *least), *fault,
                idle=requests == FEW)


def alone(command, least, *fault):
    return Form(f"cd vllm; {command} $RUN_FOLDER/model", least, *fault)


def torchft(per_replica, *fault):
    start = (PYTHON if per_replica == 1 else
             f"{TORCHRUN} --nnodes 1 --nproc-per-node {per_replica} --rdzv-backend c10d "
             f"--rdzv-endpoint 127.0.0.1:$(({RENDEZVOUS_PORT} + REPLICA)) --local-addr 127.0.0.1")
    return Form("cd torchft; export TORCHFT_LIGHTHOUSE=http://127.0.0.1:29510; "
                f"{BIN}/torchft_lighthouse --min_replicas 2 --join_timeout_ms 60000 "
                "--bind 127.0.0.1:29510 & echo $! >$RUN_FOLDER/pid.lighthouse; "
                f"for REPLICA in 0 1; do export REPLICA; {start} train.py & done; wait",
                ("lighthouse", *(f"replica{replica}.{rank}"
                                 for replica in range(2) for rank in range(per_replica))), *fault)


def service(backend, how="healthy", **more):
    """A service on an event loop, and its client: neither has a communication library."""
    return Form(f"cd loops; {PYTHON} service.py {backend} {how} & {PYTHON} service.py client -",
                ("server", "client"), by_pid=True, **more)


def monarch(arguments, *fault, **more):
    return Form(f"cd monarch; sleep 1000 | {PYTHON} controller.py {arguments}",
                ("controller", "trainer0", "trainer1", "trainer2"), *fault, **more)


def ray(arguments, *rest, least=(), far="", **more):
    """`far`: the address of a second node."""
    return Form(f"cd ray; export FAR_NODE={far}; sleep 1000 | {PYTHON} {arguments}",
                ("driver", *least), *rest, **more)


def at_terminal(arguments, **more):
    """The driver's input is a terminal."""
    return Form(f"cd ray; sleep 1000 | script -qec '{PYTHON} {arguments}' /dev/null",
                ("driver", *ROLLOUTS), **more)


ROLLOUTS = ("rollout0", "rollout1", "learner")


def joined(arguments, *rest, **more):
    """The driver joins a cluster that was started by itself, whose address only its code has."""
    start = (f"{BIN}/ray start --head --port {CLUSTER_PORT} --node-ip-address 127.0.0.1 --num-cpus 8 "
             f"--include-dashboard false --object-store-memory {200 << 20} --temp-dir $RUN_FOLDER/r")
    return Form(f"cd ray; {start}; export CLUSTER={CLUSTER_PORT}; sleep 1000 | {PYTHON} {arguments}",
                ("driver", *ROLLOUTS), *rest, **more)


FAR = "127.0.0.2"
# Before there is an actor, a driver is not found by itself.
MISSING = {"kinds": ("external_wait",), "named": ("driver",), "idle": True, "by_pid": True}
COROUTINES = {"kinds": ("stuck_rank",), "named": ("store",), "idle": True}
JOBS = {
    "vllm_idle": vllm(TENSOR_PARALLEL, FEW),
    "vllm_busy": vllm(TENSOR_PARALLEL, ENDLESS),
    "vllm_worker_fifo": vllm(TENSOR_PARALLEL, ENDLESS, pipe("Worker_TP1", "scales.0.1"), IO_STALL),
    "vllm_worker_spin": vllm(TENSOR_PARALLEL, ENDLESS,
                             spin("Worker_TP0", "scales.0.0", b"1 -1 0\n"), BUSY),
    "vllm_worker_stopped": vllm(TENSOR_PARALLEL, ENDLESS, stop("Worker_TP1"), STOPPED),
    "vllm_core_fifo": vllm(TENSOR_PARALLEL, ENDLESS, pipe("EngineCore", "quota.0"), IO_STALL),
    "vllm_core_stopped": vllm(TENSOR_PARALLEL, ENDLESS, stop("EngineCore"), STOPPED),
    "vllm_api_lock": vllm(TENSOR_PARALLEL, ENDLESS, lock("api", "audit"), LOCK),
    "vllm_dp_idle": vllm(DATA_PARALLEL, FEW),
    "vllm_dp_core_fifo": vllm(DATA_PARALLEL, ENDLESS, pipe("EngineCore_DP1", "quota.1"), IO_STALL,
                              rank=1),
    "vllm_both_idle": vllm(BOTH_PARALLEL, FEW),
    "vllm_both_fifo": vllm(BOTH_PARALLEL, ENDLESS, pipe("EngineCore_DP1/Worker_TP0", "scales.1.0"), IO_STALL,
                           rank=1),
    "vllm_both_stopped": vllm(BOTH_PARALLEL, ENDLESS, stop("EngineCore_DP0/Worker_TP1"), STOPPED, rank=0),
    "vllm_offline": alone(f"{PYTHON} offline.py",
                          ("script", "Worker_TP0", "Worker_TP1", "EngineCore"),
                          pipe("Worker_TP1", "scales.0.1"), IO_STALL),
    "vllm_trainer": alone(f"{TORCHRUN} --nproc-per-node 2 --master-addr 127.0.0.1 --master-port "
                          f"{RENDEZVOUS_PORT} trainer.py", ("trainer0", "trainer1", "EngineCore"),
                          pipe("EngineCore", "quota.0"), IO_STALL),
    "torchft_healthy": torchft(1),
    "torchft_fifo": torchft(1, pipe("replica1.0", "part.1.0"), IO_STALL),
    "torchft_quorum": torchft(1, lock("replica1.0", "losses.1"), LOCK),
    "torchft_stopped": torchft(1, stop("replica1.0"), STOPPED),
    "torchft_gone": torchft(1, kill("replica1.0"), GONE),
    "torchft_lighthouse_stopped": torchft(1, stop("lighthouse"), STOPPED),
    "torchft_step_fifo": torchft(1, pipe("replica1.0", "weight.1.0"), IO_STALL),
    "torchft_absent_fifo": torchft(1, absent("replica1.0", pipe("replica1.0", "first.1.0")),
                                   IO_STALL),
    "torchft_absent_spin": torchft(1, absent("replica0.0", spin("replica0.0", "first.0.0", bytes(len(BODY)))),
                                   BUSY),
    "torchft_2x2_healthy": torchft(2),
    "torchft_2x2_step": torchft(2, pipe("replica0.1", "weight.0.1"), IO_STALL),
    "torchft_2x2_fifo0": torchft(2, pipe("replica0.1", "part.0.1"), IO_STALL),
    "torchft_2x2_absent": torchft(2, absent("replica1.0", pipe("replica1.0", "first.1.0")),
                                  IO_STALL),
    "torchft_2x2_stopped": torchft(2, stop("replica0.0"), STOPPED),
    "torchft_2x2_lighthouse": torchft(2, stop("lighthouse"), STOPPED),
    "torchft_2x2_fifo": torchft(2, pipe("replica1.1", "part.1.1"), IO_STALL),
    "monarch_healthy": monarch(""),
    "monarch_idle": monarch(FEW, idle=True),
    "monarch_idle_held": monarch(f"held {FEW}", idle=True, kinds=HELD),
    "monarch_fifo": monarch("", pipe("trainer1", "shard.1"), IO_STALL),
    "monarch_stopped": monarch("", stop("trainer1"), STOPPED),
    "monarch_gloo": monarch("gloo", pipe("trainer1", "shard.1"), IO_STALL),
    "monarch_spin": monarch("", spin("trainer1", "shard.1", bytes(len(BODY))), BUSY),
    "monarch_lock": monarch("", lock("controller", "summary"), LOCK),
    **{f"loops_{backend}_{name}": service(backend, **more) for backend in ("trio", "asyncio")
       for name, more in (
           ("healthy", {}),
           ("thread", {"fault": pipe("server", "shard.0"), "kinds": IO_STALL}),
           ("event", {"how": "event", "named": ("server",), "kinds": STUCK, "idle": True}),
           ("joins", {"how": "joins", "named": ("server",), "kinds": DEADLOCK, "idle": True}),
           ("locks", {"how": "locks", "named": ("server",), "kinds": DEADLOCK, "idle": True}))},
    "roles_ray_healthy": ray("rollouts.py", least=ROLLOUTS),
    "roles_ray_idle": ray(f"rollouts.py {FEW}", least=ROLLOUTS, idle=True),
    "roles_ray_idle_terminal": at_terminal(f"rollouts.py {FEW}", idle=True),
    "roles_ray_idle_sleeps": ray(f"rollouts.py {FEW} sleeps", least=ROLLOUTS, idle=True),
    "roles_ray_idle_held": ray(f"rollouts.py {FEW} held", least=ROLLOUTS, idle=True, kinds=HELD),
    "roles_ray_fifo": ray("rollouts.py", pipe("rollout1", "shard.1"), IO_STALL, least=ROLLOUTS),
    "roles_ray_far_healthy": ray("rollouts.py", least=ROLLOUTS, far=FAR),
    "roles_ray_far_idle": ray(f"rollouts.py {FEW}", least=ROLLOUTS, far=FAR, idle=True),
    "roles_ray_far_fifo": ray("rollouts.py", pipe("rollout1", "shard.1"), IO_STALL, least=ROLLOUTS,
                              far=FAR),
    "roles_ray_far_near": ray("rollouts.py", pipe("rollout0", "shard.0"), IO_STALL, least=ROLLOUTS,
                              far=FAR),
    "roles_ray_far_stopped": ray("rollouts.py", stop("rollout1"), STOPPED, least=ROLLOUTS, far=FAR),
    "roles_ray_far_cycle": ray("planner.py", kinds=("resource_cycle",), named=("planner", "worker"),
                               idle=True, far=FAR),
    "roles_ray_joined_healthy": joined("rollouts.py"),
    "roles_ray_joined_fifo": joined("rollouts.py", pipe("rollout1", "shard.1"), IO_STALL),
    "roles_ray_joined_driver": joined("rollouts.py", lock("driver", "checkpoint"), LOCK),
    "roles_ray_async": ray("inference.py", pipe("engine", "shard.1"), IO_STALL,
                           least=("engine", "reward")),
    "roles_ray_threaded": ray("features.py", pipe("store", "shard.1"), IO_STALL, least=("store",)),
    "roles_ray_cycle": ray("planner.py", kinds=("resource_cycle",), named=("planner", "worker"),
                           idle=True),
    "roles_ray_chain": ray("pipeline.py", pipe("tokenize", "shard.1"), IO_STALL,
                           least=("summarize",)),
    "roles_ray_wait": ray("scoring.py", spin("score1", "shard.1", bytes(len(BODY))), BUSY),
    "roles_ray_gloo": ray("collective.py", end_loader("trainer1", "shard.1"),
                          ("input_stall", "stuck_rank", "skipped_collective"),
                          least=("trainer0", "trainer2")),
    "roles_ray_pg": ray("placed.py 3", **MISSING),
    "roles_ray_pg_healthy": ray("placed.py 2", least=("shard0", "shard1")),
    "roles_ray_group": ray("demands.py group", **MISSING),
    "roles_ray_group_wait": ray("demands.py group_wait", **MISSING),
    "roles_ray_group_late": ray("demands.py late", least=("trainer",), by_pid=True),
    "roles_ray_actor": ray("demands.py actor", **MISSING),
    "roles_ray_task": ray("demands.py task", **MISSING),
    "roles_ray_actor_held": ray("demands.py held", least=("trainer",), **MISSING),
    "roles_ray_actor_busy": ray("demands.py busy", pipe("trainer", "shard.1"), IO_STALL,
                                least=("trainer",)),
    "roles_ray_loader": ray("demands.py loaders", pipe("loader", "shard.1"), IO_STALL),
    "roles_ray_nested": ray("demands.py nested", **{**MISSING, "named": ("trainer",)}),
    "roles_ray_coroutine_lock": ray("coroutines.py lock", least=("trainer",), **COROUTINES),
    "roles_ray_coroutine_event": ray("coroutines.py event", least=("trainer",), **COROUTINES),
    "roles_ray_coroutine_queue": ray("coroutines.py queue", least=("trainer",), **COROUTINES),
    "roles_ray_coroutine_healthy": ray("coroutines.py none", least=("store", "trainer")),
    "roles_ray_coroutine_relay": ray("coroutines.py relay", pipe("trainer", "shard.1"), IO_STALL,
                                     least=("store", "trainer", "relay")),
    "roles_ray_coroutine_consumer": ray(f"coroutines.py consume {ENDLESS}",
                                        least=("store", "consumer")),
    "roles_ray_coroutine_producer": ray(f"coroutines.py consume {FEW}", idle=True,
                                        least=("store", "consumer")),
    "roles_ray_coroutine_fifo": ray("coroutines.py none", pipe("trainer", "shard.1"), IO_STALL,
                                    least=("store", "trainer")),
    "roles_ray_driver_lock": ray("rollouts.py", lock("driver", "checkpoint"), LOCK, least=ROLLOUTS),
    "roles_ray_data": ray("batches.py", pipe("featurize12", "shard.12"), IO_STALL),
}
DATA = {"torchft": [f"{part}.{replica}.{rank}" for part in ("part", "first", "weight")
                    for replica in range(2) for rank in range(2)],
        "monarch": [f"shard.{number}" for number in range(3)],
        "ray": [f"shard.{number}" for number in range(16)], "vllm": [], "loops": ["shard.0"]}
VLLM_VARIABLES = {
    "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DO_NOT_TRACK": "1",
    "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS": "36000",
}
MODEL = {"architectures": ["ChatForCausalLM"], "model_type": "llama", "hidden_size": 64,
         "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
         "num_key_value_heads": 2, "head_dim": 32, "vocab_size": 256,
         "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "hidden_act": "silu", "tie_word_embeddings": False, "torch_dtype": "bfloat16",
         "bos_token_id": 0, "eos_token_id": 1}
WORDS = {"<s>": 0, "</s>": 1, "<unk>": 2, **{f"w{number}": number for number in range(3, 256)}}
TOKENIZER = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"},
             "model": {"type": "WordLevel", "vocab": WORDS, "unk_token": "<unk>"}}
TOKENIZER_CONFIG = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>",
                    "eos_token": "</s>", "unk_token": "<unk>", "model_max_length": 8192}


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    """Returns "" for what is not there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def write_model(folder):
    for name, content in (("config", MODEL), ("tokenizer", TOKENIZER),
                          ("tokenizer_config", TOKENIZER_CONFIG)):
        write(f"{folder}/model/{name}.json", json.dumps(content))


def write_distributions(folder):
    """vLLM takes its platform from the version of a distribution `vllm`, which the build for CPUs
    calls otherwise, and finds its plugins by their entry points."""
    version = importlib.metadata.version("vllm-cpu")
    for name, of in (("vllm", f"{version}+cpu"), ("chat_plugin", "0.1")):
        write(f"{folder}/site/{name}-{of}.dist-info/METADATA",
              f"Metadata-Version: 2.1\nName: {name}\nVersion: {of}\n")
    write(f"{folder}/site/chat_plugin-0.1.dist-info/entry_points.txt",
          "[vllm.general_plugins]\nchat_plugin = chat_plugin:register\n")


class RolesJob(run_jobs.Job):
    def __init__(self, name, cache, limit_s):  # pylint: disable=super-init-not-called
        self.name, self.form = name, JOBS[name]
        self.folder = tempfile.mkdtemp(prefix="wild-")  # short: paths of sockets are in it
        self.end_by = time.monotonic() + limit_s
        self.seen = {}
        framework = name.removeprefix("roles_").split("_")[0]
        for file in DATA[framework]:
            self.put(file, BODY)
        if self.form.fault and self.form.fault.early:
            self.form.fault.act(self)
        if framework == "vllm":
            write_model(self.folder)
            write_distributions(self.folder)
        paths = [f"{ROLES_FOLDER}/lib", f"{ROLES_FOLDER}/{framework}", f"{self.folder}/site"]
        self.start("mount -t tmpfs none /dev/shm; : >$RUN_FOLDER/inside; " + self.form.command, {
            "RUN_FOLDER": self.folder, "PYTHONPATH": ":".join(paths), "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo",
            "PATH": f"{BIN}:{os.environ['PATH']}", "HOME": self.folder,
            "RAY_USAGE_STATS_ENABLED": "0", "TORCHINDUCTOR_CACHE_DIR": cache,
            **VLLM_VARIABLES}, ROLES_FOLDER)

    # What is done to it.

    def put(self, file, content):
        """Replaces a file at once; content None: by a named pipe."""
        path = os.path.join(self.folder, file)
        if content is None:
            os.mkfifo(path + "~")
        else:
            with open(path + "~", "wb") as new:
                new.write(content)
        os.rename(path + "~", path)

    def lock(self, file):
        """Takes a lock of the file for good, in a process outside of the job."""
        subprocess.Popen(  # pylint: disable=consider-using-with
            [*self.inner(), "flock", os.path.join(self.folder, file), "sleep", "1000"])

    def stop(self, role):
        subprocess.run([*self.inner(), "kill", "-STOP", str(self.roles()[role])], check=True)

    def kill(self, role):
        subprocess.run([*self.inner(), "kill", "-KILL", str(self.roles()[role])], check=True)

    # What it does.

    def proc(self):
        """Returns the /proc of the job's namespace."""
        return f"/proc/{self.inner()[-1]}/root/proc"

    def threads(self, role):
        """Returns the folders of its threads in /proc."""
        folder = f"{self.proc()}/{self.roles().get(role, 0)}/task"
        return [f"{folder}/{tid}" for tid in os.listdir(folder)] if os.path.isdir(folder) else []

    def waits(self, role, where):
        return any(where in read(f"{thread}/wchan") for thread in self.threads(role))

    def has_thread(self, role, name):
        return any(read(f"{thread}/comm").strip() == name for thread in self.threads(role))

    def fields(self, role):
        """Returns those of its main thread's `stat`, from the state on."""
        return read(f"{self.proc()}/{self.roles().get(role, 0)}/stat").rpartition(") ")[2].split()

    def is_stopped(self, role):
        return self.fields(role)[:1] == ["T"]

    def computes(self, role):
        """Whether it used most of a second's time since the last step."""
        fields = self.fields(role)
        if not fields:
            return False
        key, used = (role, self.standing()), int(fields[11]) + int(fields[12])
        return used - self.seen.setdefault(key, used) > 0.7 * os.sysconf("SC_CLK_TCK")

    def title_of_parent(self, pid):
        parent = read(f"{self.proc()}/{pid}/stat").rpartition(") ")[2].split()[1:2]
        return read(f"{self.proc()}/{parent[0]}/cmdline") if parent else ""

    def roles(self):
        """Returns {role: pid in its namespace}: what they said, and the titles of vLLM's, those of a
        replica's workers with that of its core before them."""
        if not os.path.exists(f"{self.folder}/inside"):
            return {}
        proc, roles = self.proc(), {}
        for name in os.listdir(self.folder):
            is_pid = re.fullmatch(r"pid\.[\w.]+", name)  # not of a pipe, nor half written
            pid = read(f"{self.folder}/{name}").strip() if is_pid else ""
            if pid and os.path.exists(f"{proc}/{pid}"):
                roles[name[4:]] = int(pid)
        for pid in filter(str.isdigit, os.listdir(proc)):
            words = read(f"{proc}/{pid}/cmdline").split("\0")
            title = re.match(r"VLLM::(\w+)", words[0])
            if title:
                core = re.match(r"VLLM::(EngineCore_DP\d+)", self.title_of_parent(pid))
                role = f"{core[1]}/{title[1]}" if core else title[1]
                roles[role if role not in roles else f"{role}.{pid}"] = int(pid)
            elif f"{BIN}/vllm" in words[:3]:
                roles["api"] = int(pid)
        return roles

    def steps(self):
        """Returns {who: the steps it has made}."""
        return {name: read(f"{self.folder}/{name}").count("\n") for name in os.listdir(self.folder)
                if name.startswith("steps.")}

    def standing(self):
        """Returns what stays the same while no process comes, goes or makes a step."""
        return tuple(sorted(self.steps().items())), tuple(sorted(self.roles().items()))

    # When its state stands.

    def until(self, what, fact):
        while not fact():
            if time.monotonic() > self.end_by or self.has_ended():
                raise Failed(f"not in time: {what}; steps {self.steps()}, roles {self.roles()}\n"
                             f"{self.log()}")
            time.sleep(0.1)

    def until_it_stands(self, fact):
        last = None, time.monotonic()

        def stands():
            nonlocal last
            now = self.standing(), time.monotonic()
            if now[0] != last[0]:
                last = now
            return fact() and now[1] - last[1] > STANDS_S
        self.until("it stands", stands)

    def have_all_moved(self, since, by):
        return all(count >= since.get(who, 0) + by for who, count in self.steps().items())

    def wait(self):
        """Returns {role: pid} once the job is in its state."""
        form, wanted = self.form, {*self.form.least, *self.form.named}
        self.until("its roles", lambda: wanted <= set(self.roles()))
        if form.idle:
            self.until_it_stands(self.steps)
            return self.roles()
        early = form.fault and form.fault.early
        if not early:
            self.until("first steps",
                       lambda: self.steps() and self.have_all_moved({}, STEPS_BEFORE))
        if form.fault:
            if not early:
                form.fault.act(self)
            self.until_it_stands(lambda: form.fault.shows(self))
        else:
            before = self.steps()
            self.until("more steps", lambda: self.have_all_moved(before, STEPS_BEFORE))
        return self.roles()

    def ask(self, program, pids, capture):
        """Returns the verdict, and the beginning of the report that people read."""
        run = subprocess.run([*self.inner(), program, "node", *pids, "--json", "-", "-q", "--save",
                              capture], capture_output=True, text=True, timeout=120, check=False)
        if run.returncode in REFUSALS and "error: " in run.stderr:
            return REFUSED, run.stderr
        text = subprocess.run([program, "report", capture], capture_output=True, text=True,
                              check=False, env={**os.environ, "COLUMNS": "100"}).stdout.splitlines()
        return answer_of(run)["verdict"], "\n".join(text[:6])


def judge(form, pids, verdict):
    """Returns the verdict in a few words, and whether it is right."""
    roles = {pid: role for role, pid in pids.items()}
    roles.update((pids[role], role) for role in form.culprits())  # of several of a worker
    named = {each["pid"] for each in verdict["culprits"]}
    wanted = {pids[role] for role in form.culprits()}
    names = ", ".join(sorted(roles.get(pid, f"pid {pid}") for pid in named)) or "nobody"
    right = named == wanted and verdict["kind"] in form.kinds
    return f"{verdict['kind']}: {names}", form.by_pid if verdict is REFUSED else right


def check(name, cache, options):
    """Returns what oddrank said without pids and with them, and the reports that are wrong."""
    program, save = os.path.abspath(options.oddrank), options.save
    job = RolesJob(name, cache, options.limit)
    said, wrong = {}, []
    try:
        pids = job.wait()
        for way, given in (("found", ()), ("pids", map(str, sorted(set(pids.values()))))):
            capture = f"{job.folder}/{name}.{way}.capture"
            verdict, text = job.ask(program, given, capture)
            said[way], right = judge(job.form, pids, verdict)
            if not right:
                said[way] += " (wrong)"
                wrong.append(f"{way}:\n{text}")
            if save and os.path.exists(capture):
                shutil.copy(capture, save)
        if save:
            write(f"{save}/{name}.json", json.dumps({
                "pids": pids, "culprits": job.form.culprits(), "kinds": job.form.kinds,
                "said": said}, indent=1))
    finally:
        job.end()
    return said, "\n".join(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oddrank", required=True)
    parser.add_argument("--save", metavar="DIR", help="keep the captures and the truth here")
    parser.add_argument("--limit", metavar="SECONDS", type=int, default=LIMIT_S,
                        help="in which a job must come to its state [%(default)s]")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the job first
    rows, failed = [TABLE.format("job", "found", "pids")], 0
    if options.save:
        os.makedirs(options.save, exist_ok=True)
    with tempfile.TemporaryDirectory() as cache:
        for name in options.names or JOBS:
            begun = time.monotonic()
            try:
                said, wrong = check(name, cache, options)
            except (Failed, subprocess.TimeoutExpired) as why:
                said, wrong = dict.fromkeys(("found", "pids"), "-"), str(why)
            failed += bool(wrong)
            print(f"{name:28}{time.monotonic() - begun:5.0f} s  found {said['found']}; pids "
                  f"{said['pids']}" + (f"\nFAILED: {wrong}" if wrong else ""), flush=True)
            rows.append(TABLE.format(name, said["found"], said["pids"]))
    print("\n".join(map(str.rstrip, rows)))
    print(f"{failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
