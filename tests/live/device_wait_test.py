#!/usr/bin/env python3
"""Runs `oddrank node` on threads that wait for a device, asleep or at full speed, in every call of the
table (waits/device_calls.h): the wait is one for the device, whatever the CPU does. There is no device:
the libraries are made up here, with the names of the real ones.

    device_wait_test.py --oddrank PATH        ODDRANK_DEVICE_CALLS names the program that prints the table
"""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

VICTIM = os.path.join(os.path.dirname(HERE), "victims", "device_rank.py")
TABLE = os.environ.get("ODDRANK_DEVICE_CALLS", "")
# Number of threads that spin at once: more would keep a small machine from stopping them.
SPINNERS = 8

# The code with which every made-up library waits. `way`: see device_rank.py.
BODY = r"""
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) static void ways(int way, volatile int* inside) {
  if (way == 3) {  /* a pipe of its own, as drivers have one to be woken by */
    int ends[2];
    char byte;
    if (pipe(ends) != 0) _exit(1);
    *inside = 1;
    while (read(ends[0], &byte, 1) >= 0) {}
  }
  if (way == 4) {  /* a lock that this very thread has */
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    *inside = 1;
    pthread_mutex_lock(&lock);
  }
  *inside = 1;
  struct timespec long_time = {100000, 0};
  for (;;) {
    if (way == 0) nanosleep(&long_time, 0);
    if (way == 2) sched_yield();
  }
}
"""
CALL = 'void call_%d(int way, volatile int* inside) __asm__("%s");\n' \
       'void call_%d(int way, volatile int* inside) { ways(way, inside); *inside = 2; }\n'


def symbol_of(function):
    """Returns the name as a compiler writes it into a library."""
    parts = function.split("::")
    if len(parts) == 1:
        return function
    return "_ZN" + "".join(f"{len(part)}{part}" for part in parts) + "Ev"


def build(folder, name, source, *flags):
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-fno-optimize-sibling-calls", "-o", path,
                    path + ".c", *flags], check=True, timeout=120)


def table():
    """Returns {kind: [(library, symbol)]}."""
    rows = {}
    for line in subprocess.run([TABLE], stdout=subprocess.PIPE, text=True, check=True,
                               timeout=60).stdout.splitlines():
        kind, library, function = line.split(" ")
        rows.setdefault(kind, []).append((library + ".1", symbol_of(function)))
    return rows


def needs_compiler():
    return None if shutil.which("cc") else "no C compiler"


def on_a_quiet_machine(test):
    """Leaves the test out, unless scripts/test --full runs it. On a machine that others keep busy,
    threads that spin may get no CPU for a second; a thread that does not run cannot be stopped to be
    read, and then nothing is known of it."""
    return harness.only_in_full(test)


class DeviceWait(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rows = table()
        scratch = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        libraries = {}
        for rows in cls.rows.values():
            for library, symbol in rows:
                libraries.setdefault(library, []).append(symbol)
        for library, symbols in libraries.items():
            build(cls.folder, library, BODY + "".join(
                CALL % (i, symbol, i) for i, symbol in enumerate(symbols)))
        cls.build_odd_ones()

    @classmethod
    def build_odd_ones(cls):
        own = ["my_cuStreamSynchronize_helper", "cuStreamSynchronizeAll", "synchronize",
               "_ZN5train8cudaSync4waitEv"]
        build(cls.folder, "libtrain.so", BODY + "".join(
            CALL % (i, symbol, i) for i, symbol in enumerate(own)))
        # A driver without names. The real one has names only for its entries, which the runtime
        # fetches as addresses; and a runtime that is linked statically into a library without
        # names.
        bare = os.path.join(cls.folder, "bare")
        os.mkdir(bare)
        build(bare, "libcuda.so.1", BODY + """
            static void entry(int way, volatile int* inside) { ways(way, inside); *inside = 2; }
            void* cuGetProcAddress(void) { return (void*)entry; }
            static void* own(void* inside) { ways(1, inside); return 0; }
            void cuStreamSynchronize(int way, volatile int* inside) { ways(way, inside); *inside = 2; }
            """, "-s")
        runtime = """
            typedef void (*Entry)(int, volatile int*);
            Entry cuGetProcAddress(void);
            void %s(int way, volatile int* inside) { cuGetProcAddress()(way, inside); *inside = 2; }
            """
        build(bare, "libcudart.so.1", runtime % "cudaStreamSynchronize", "-s")
        build(bare, "libplugin.so", runtime % "plugin_step", "-s")
        cuda = os.path.join(cls.folder, "torch", "cuda")
        os.makedirs(cuda)
        with open(os.path.join(cuda, "streams.py"), "w", encoding="utf-8") as file:
            file.write("def synchronize(call, way, inside):\n    call(way, inside)\n")

    def waits(self, way, calls, *options, folder=None, samples=2):
        """Returns the wait of each call's thread."""
        process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, VICTIM, folder or self.folder, way,
             *(f"{library}:{symbol}" for library, symbol in calls)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            words = process.stdout.readline().split()
            self.assertEqual(words[:1], ["ready"])
            # One build only: on a busy machine, threads that spin get no CPU for a while, and then
            # they cannot be stopped to be read.
            for _ in range(20):
                run = harness.Run(harness.run_here(
                    [harness.Options.oddrank, "node", str(process.pid), "--all-threads",
                     "--samples", str(samples), "--interval", "100ms", "--json", "-", "-q",
                     *harness.PATIENTLY, *options], also=False))
                rank, = run.json()["ranks"]
                by_tid = {row["tid"]: row for row in rank["threads"]}
                rows = [by_tid[int(tid)] for tid in words[1:]]
                if options or all(row["samples"] == samples and row["frames"] for row in rows):
                    break
            return [row["wait"] for row in rows]
        finally:
            process.kill()
            process.communicate(timeout=60)

    def batches(self, kind):
        rows = self.rows[kind]
        for begin in range(0, len(rows), SPINNERS):
            yield rows[begin:begin + SPINNERS]

    def check(self, waits, calls, what, words=""):
        for (library, symbol), wait in zip(calls, waits):
            with self.subTest(library=library, symbol=symbol):
                self.assertEqual(wait["what"], what, wait)
                self.assertIn(words, wait["detail"])

    def test_asleep_in_any_call_it_waits_for_the_device(self):
        for kind, words in (("waits", "waits for the device in "), ("may_wait", "of libcuda")):
            with self.subTest(kind=kind):
                calls = self.rows[kind] if kind == "waits" else self.rows[kind][:60]
                self.check(self.waits("sleep", calls), calls, "device", words if kind == "waits" else "")

    @on_a_quiet_machine
    def test_at_full_speed_in_a_call_that_waits(self):
        for calls in self.batches("waits"):
            self.check(self.waits("spin", calls), calls, "device", "waits for the device in ")

    @on_a_quiet_machine
    def test_giving_the_cpu_up_in_a_call_that_need_not_wait(self):
        for calls in self.batches("may_wait"):
            self.check(self.waits("yield", calls), calls, "device", "waits for the device in ")

    @on_a_quiet_machine
    def test_at_full_speed_in_a_call_that_need_not_wait_it_works(self):
        for calls in self.batches("may_wait"):
            self.check(self.waits("spin", calls), calls, "nothing", "runs")

    @on_a_quiet_machine
    def test_a_query_counts_if_it_is_found_each_time(self):
        for calls in self.batches("polls"):
            self.check(self.waits("spin", calls), calls, "device", "waits for the device in ")
        calls = self.rows["polls"][:4]
        self.check(self.waits("spin", calls, samples=1), calls, "nothing", "runs")

    def test_a_pipe_of_the_drivers_own(self):
        calls = [("libcuda.so.1", "cuCtxSynchronize"), ("libcuda.so.1", "cuMemcpyDtoH")]
        self.check(self.waits("pipe", calls), calls, "device")

    def test_a_lock_whose_owner_is_known_stays_one(self):
        calls = [("libcuda.so.1", "cuCtxSynchronize"), ("libcuda.so.1", "cuMemFree")]
        self.check(self.waits("lock", calls), calls, "lock")

    @on_a_quiet_machine
    def test_versions_of_a_function(self):
        names = ["cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2_ptds", "cuStreamSynchronize_ptsz",
                 "hipMemcpy_spt", "pncclCommAbort", "cuCtxSynchronize_v2"]
        build(self.folder, "libversions.so", BODY + "".join(
            CALL % (i, symbol, i) for i, symbol in enumerate(names)))
        calls = [("libversions.so", name) for name in names]
        self.check(self.waits("spin", calls), calls, "device")

    @on_a_quiet_machine
    def test_functions_of_the_program_that_are_named_alike(self):
        calls = [("libtrain.so", "my_cuStreamSynchronize_helper"),
                 ("libtrain.so", "cuStreamSynchronizeAll"), ("libtrain.so", "synchronize"),
                 ("libtrain.so", "_ZN5train8cudaSync4waitEv")]
        self.check(self.waits("spin", calls), calls, "nothing", "runs")
        self.check(self.waits("sleep", calls), calls, "unknown", "sleeps")

    @on_a_quiet_machine
    def test_a_driver_without_names(self):
        bare = os.path.join(self.folder, "bare")
        for way in ("spin", "yield", "sleep"):
            with self.subTest(way=way):
                calls = [("libcuda.so.1", "cuStreamSynchronize"),
                         ("libcudart.so.1", "cudaStreamSynchronize"),
                         ("libplugin.so", "plugin_step")]
                waits = self.waits(way, calls, folder=bare)
                self.check(waits, calls, "device", "waits for the device in ")
                self.assertIn("in libcuda.so.1", waits[2]["detail"])

    @on_a_quiet_machine
    def test_the_main_thread_without_native_frames(self):
        calls = [("torch/cuda/streams.py", "synchronize")]
        for options in ([], ["--never-stop"]):
            with self.subTest(options=options):
                self.check(self.waits("main-spin", calls, *options), calls, "device")

    @on_a_quiet_machine
    def test_a_job_all_of_whose_ranks_wait_for_the_device_is_not_healthy(self):
        address = f"oddrank-test-{os.getpid()}"
        ranks = []
        try:
            for rank in ("0", "1"):
                env = {**os.environ, "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": "2",
                       "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": "1"}
                ranks.append(subprocess.Popen(
                    ["nice", "-n", "19", sys.executable, VICTIM, self.folder, "main-spin",
                     "libcudart.so.1:cudaStreamSynchronize"],
                    env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
            for process in ranks:
                self.assertEqual(process.stdout.readline().split()[:1], ["ready"])
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", "--select", f"{address}:1", "--interval", "100ms",
                 "--json", "-", "-q", *harness.PATIENTLY], also=False))
            self.assertNotIn(run.json()["verdict"]["kind"], ("healthy", "slow", "busy_rank"), run)
        finally:
            for process in ranks:
                process.kill()
                process.communicate(timeout=60)


if __name__ == "__main__":
    harness.main(needs_compiler)
