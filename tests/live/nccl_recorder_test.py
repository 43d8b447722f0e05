#!/usr/bin/env python3
"""Reads the flight recorders of PyTorch's NCCL backends from the memory of ranks without a GPU: the
CUDA build's own libraries, whose recorders are filled by their own functions
(tests/support/nccl_recorder.cc). The transfers themselves are gloo's. Opt-in: needs a PyTorch of
scripts/torches.

    nccl_recorder_test.py --oddrank PATH
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SUPPORT = os.path.join(os.path.dirname(HERE), "support")
sys.path.insert(0, SUPPORT)
# pylint: disable=wrong-import-position
import harness
import proc_facts
from hung_torch_job import DEADLINE_S, GCORE, Job

FUTEX, PAUSE = 202, 34  # system calls of x86-64
FIRST = (2, 11)  # the recorder is on by default, and has one name
FIRST_WITH_NCCL2 = (2, 15)  # has a recorder
MOST_BYTES = 16 * 1024  # of the calls of a node
FILLED = 2100  # more calls than a ring holds


def version_of(python):
    """Returns (2, 15) for ".../2.15.0/python"."""
    version = re.match(r"(\d+)\.(\d+)", os.path.basename(os.path.dirname(python)))
    return tuple(map(int, version.groups())) if version else (0, 0)


def is_fit(python):
    return (version_of(python) >= FIRST
            and os.path.exists(f"{os.path.dirname(python)}/torch/lib/libtorch_cuda.so"))


TORCHES = [one for one in os.environ.get("ODDRANK_TORCHES", "").split(":") if is_fit(one)]
# Every recorder: (interpreter, backend).
RECORDERS = [(python, backend) for python in TORCHES for backend in ("nccl", "nccl2")
             if backend == "nccl" or version_of(python) >= FIRST_WITH_NCCL2]
PROGRAM = """
import ctypes, subprocess, threading, time
BACKEND = os.environ["BACKEND"]
IS_FIRST = BACKEND == "nccl"
LIBRARY = os.path.dirname(torch.__file__) + "/lib/libtorch_" + ("cuda.so" if IS_FIRST else "cpu.so")
RECORDER = "_ZN4c10d14FlightRecorderIN3c10" + ("4cuda9CUDAEventEE" if IS_FIRST else "5EventEE")

class Recorder:
    def __init__(self):
        self.filler = ctypes.CDLL(os.environ["FILLER"])
        with open("/proc/self/maps") as file:
            base = min(int(line.split("-")[0], 16) for line in file if LIBRARY in line)
        wanted = {"get": RECORDER + "3getEv" if IS_FIRST else "_ZN4c10d17getFlightRecorderE",
                  "record": RECORDER + "6recordEm", "members": RECORDER + "15record_pg_ranks"}
        at = {}
        for line in subprocess.run(["nm", LIBRARY], capture_output=True, text=True).stdout.splitlines():
            part = line.split()
            for key, name in wanted.items():
                if part[-1].startswith(name) and part[-2] in "tTW" and not part[-1].endswith(".cold"):
                    at[key] = ctypes.c_void_p(base + int(part[0], 16))
        self.filler.recorder_of.restype = ctypes.c_void_p
        self.one = ctypes.c_void_p(self.filler.recorder_of(at["get"], None if IS_FIRST else BACKEND.encode()))
        self.at, self.calls, self.transfers = at, 0, 0
        self.filler.record_members(self.one, at["members"], world)

    def begin(self, name):
        if " " in name:
            self.transfers += 1
        else:
            self.calls += 1
        self.filler.record_call(self.one, self.at["record"], f"{BACKEND}:{name}".encode(),
                                ctypes.c_ulong(self.calls), ctypes.c_ulong(self.transfers))

    def made(self, name, call):
        self.begin(name)
        call()
        self.filler.end_call(self.one)

def pipeline():
    # GPipe. In step AT, stage FAULT does not do with the send of a microbatch what it did before:
    # it leaves it out, makes it twice, or works for ever before it.
    recorder, data = Recorder(), torch.ones(4)
    at, fault, how = int(os.environ["AT"]), int(os.environ["FAULT"]), os.environ["HOW"]
    def send(to):
        recorder.made(f"send {rank}->{to}", lambda: dist.send(data, to))
    def receive(source):
        recorder.made(f"recv {rank}<-{source}", lambda: dist.recv(data, source))
    for step in range(at + 3):
        if step == at:
            last()
        for micro in range(3):
            if rank > 0:
                receive(rank - 1)
            odd = (rank, step, micro) == (fault, at, 1)
            if odd and how == "works":
                signal.pause()
            if rank < world - 1 and not (odd and how == "leaves_out"):
                send(rank + 1)
            if odd and how == "makes_twice":
                send(rank + 1)
        for micro in range(3):
            if rank < world - 1:
                receive(rank + 1)
            if rank > 0:
                send(rank - 1)
        if "REDUCES" in os.environ:
            recorder.made("all_reduce", lambda: None)
    signal.pause()

def written():
    # The ring is full, and is being written all the time: several calls while it is read once.
    recorder = Recorder()
    for _ in range(2100):
        recorder.made("all_reduce", lambda: None)
    def run():
        while True:
            recorder.made("broadcast", lambda: None)
            time.sleep(0.001)
    threading.Thread(target=run, daemon=True).start()
    last()
    dist.recv(torch.ones(1), (rank + 1) % world)

def locked():
    # As when the thread that records a call is stopped meanwhile.
    recorder = Recorder()
    recorder.made("all_reduce", lambda: None)
    recorder.begin("broadcast")
    socket = os.environ.get("TORCH_WORKER_SERVER_SOCKET")
    server = torch._C._distributed_c10d._WorkerServer(socket) if socket else None
    if server is None:
        recorder.filler.lock_recorder(recorder.one, True)
    last()
    dist.recv(torch.ones(1), (rank + 1) % world)
"""


class PipelineJob(Job):
    def wait_hung(self):
        """Gloo's receive waits with a time limit, so wants_lock() does not see it."""
        seen = [None, 0]

        def is_hung():
            pids = [process.pid for process in self.ranks]
            now = [proc_facts.status(pid).get("voluntary_ctxt_switches") for pid in pids]
            self.live()
            blocked = all(proc_facts.in_call(pid, FUTEX) or proc_facts.in_call(pid, PAUSE)
                          for pid in pids)
            seen[:] = [now, seen[1] + 1 if blocked and now == seen[0] else 0]
            return seen[1] >= 10
        proc_facts.wait_until(is_hung, "all ranks hang", DEADLINE_S)


class NcclRecorder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fillers = {}

    def filler(self, python):
        """Compiles the filler with the headers of that PyTorch."""
        if python not in self.fillers:
            home = f"{os.path.dirname(python)}/torch"
            path = self.enterClassContext(harness.scratch()) + "/filler.so"
            subprocess.run(["g++", "-std=c++20", "-shared", "-fPIC", "-w", f"-I{home}/include",
                            f"-I{home}/include/torch/csrc/api/include",
                            f"{SUPPORT}/nccl_recorder.cc", "-o", path, f"-L{home}/lib",
                            "-ltorch_cpu", "-lc10"], check=True, timeout=300)
            self.fillers[python] = path
        return self.fillers[python]

    def start(self, recorder, part, ranks, **more):
        python, backend = recorder
        return PipelineJob(self, PROGRAM, part, ranks, python=python, FILLER=self.filler(python),
                           BACKEND=backend, **{"AT": "4", **more})

    def check_missing_send(self, found, fault):
        """The next microbatch's send has taken the missing one's place, so that the last is awaited."""
        run, report = found
        verdict = report["verdict"]
        self.assertEqual((verdict["kind"], verdict["confidence"],
                          [row["rank"] for row in verdict["culprits"]]),
                         ("p2p_order", "certain", [fault]), run)
        self.assertIn(f"left out a send to rank {fault + 1} in default group", verdict["summary"])
        self.assertRegex(verdict["summary"], r"number 15 between the two, at .*train\.py:\d+")

    @harness.only_with(RECORDERS)
    def test_a_send_is_missing_in_a_pipeline(self):
        for recorder in RECORDERS:
            for ranks, fault in ((3, 0), (3, 1), (8, 5)):
                with self.subTest(recorder, ranks=ranks, fault=fault):
                    job = self.start(recorder, "pipeline", ranks, FAULT=str(fault), HOW="leaves_out")
                    self.check_missing_send(job.diagnose(), fault)
                    if GCORE:
                        self.check_missing_send(job.diagnose_cores(job.gcores()), fault)
                    job.end()

    @harness.only_with(RECORDERS)
    def test_captures_of_a_long_pipeline_stay_small(self):
        # Of a ring that is not kept from its beginning, a collective shows what a step is.
        job = self.start(RECORDERS[-1], "pipeline", 8, FAULT="5", HOW="leaves_out", AT="100", REDUCES="1")
        folder = self.enterContext(harness.scratch())
        sizes = []
        for calls in ("64", "1"):
            run = job.run("-q", "--fr-memory", calls, "--save", f"{folder}/{calls}.odd")
            self.assertIn("left out a send to rank 6" if calls == "64" else "", run.out, run)
            sizes.append(os.path.getsize(f"{folder}/{calls}.odd"))
        self.assertLess(sizes[0] - sizes[1], MOST_BYTES)

    @harness.only_with(RECORDERS)
    def test_pipelines_that_hang_for_another_reason(self):
        for how in ("makes_twice", "works"):
            for fault in (0, 1):
                with self.subTest(how, fault=fault):
                    job = self.start(RECORDERS[-1], "pipeline", 3, FAULT=str(fault), HOW=how)
                    run, report = job.diagnose()
                    verdict = report["verdict"]
                    self.assertNotIn("left out", verdict["summary"], run)
                    # Of a transfer too many, both ends are reported.
                    self.assertIn(fault, [row["rank"] for row in verdict["culprits"]], run)
                    if how == "works":
                        self.assertEqual(len(verdict["culprits"]), 1, run)
                    job.end()

    @harness.only_with(RECORDERS)
    def test_a_ring_is_read_while_it_is_written(self):
        for recorder in RECORDERS:
            with self.subTest(recorder):
                job = self.start(recorder, "written", 2)
                for _ in range(5):
                    for entries in self.dumped(job):
                        self.assertGreater(len(entries), 1000)
                        first = entries[0]["collective_seq_id"]
                        self.assertEqual(
                            [(entry["collective_seq_id"], entry["profiling_name"])
                             for entry in entries],
                            [(number, f"{recorder[1]}:" + ("all_reduce" if number <= FILLED else "broadcast"))
                             for number in range(first, first + len(entries))])
                job.end()

    @harness.only_with(RECORDERS)
    def test_a_recorder_is_locked(self):
        for recorder in RECORDERS:
            with self.subTest(recorder):
                job = self.start(recorder, "locked", 2)
                for entries in self.dumped(job):
                    self.assertEqual([(entry["profiling_name"], entry["retired"]) for entry in entries],
                                     [(f"{recorder[1]}:all_reduce", True),
                                      (f"{recorder[1]}:broadcast", False)])
                job.end()

    @harness.only_with([one for one in RECORDERS if one[1] == "nccl2"])
    def test_the_control_plane_is_asked_for_nccl2(self):
        """Where memory tells nothing, here since Python is not read."""
        job = self.start(RECORDERS[-1], "locked", 2, TORCH_WORKER_SERVER_SOCKET="plane.socket")
        run, report = job.diagnose("--no-python")
        said = [row["text"] for row in report["sources"] if row["source"] == "flight recorder"]
        self.assertRegex(said[0] if said else "", r"broadcast #2", run)

    def dumped(self, job):
        """Returns all calls that are read of each rank's recorder."""
        folder = self.enterContext(harness.scratch())
        run = job.run("--fr-dump", folder)
        self.assertEqual(run.status, 0, run)
        return [job.dumped(f"{folder}/{name}") for name in ("rank_0", "rank_1")]


if __name__ == "__main__":
    harness.main(harness.needs_torch)
