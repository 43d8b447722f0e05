#!/usr/bin/env python3
"""Tests stacks with frames that are neither plain C nor Python's own: functions with Cython's names stand among
the Python frames that call them and are called by them; and a running greenlet is merged although others of
its thread are parked (if greenlet is installed: python3 -m pip install greenlet). With nuitka, torch or
triton installed, also what these make.

    foreign_frames_test.py --oddrank PATH
"""

import importlib.util
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import hung_torch_job
import proc_facts

# What Cython makes of a method, with its wrapper, and of the cdef function that it calls.
LIBRARY = """
__attribute__((noinline)) static long __pyx_f_3cyx_cy_inner(long (*call)(void)) {
  /* "pkg/cyx.pyx":4
 * cdef long cy_inner():
 *     return call() + 1             # <<<<<<<<<<<<<<
 */
  return call() + 1;
}
__attribute__((always_inline)) static inline long __pyx_pf_3cyx_5Model_forward(long (*call)(void)) {
  /* "pkg/cyx.pyx":9
 */
  return __pyx_f_3cyx_cy_inner(call) + 1;
}
/* "pkg/cyx.pyx":8
 */
__attribute__((noinline)) static long __pyx_pw_3cyx_5Model_1forward(long (*call)(void)) {
  return __pyx_pf_3cyx_5Model_forward(call) + 1;
}
long run(long (*call)(void)) { return __pyx_pw_3cyx_5Model_1forward(call) + 1; }
"""
CALLER = """
import ctypes, os, sys
inner, outer = os.pipe()
def callback():
    os.read(inner, 1)
    return 0
kind = ctypes.CFUNCTYPE(ctypes.c_long)
def main():
    ctypes.CDLL(sys.argv[1]).run(kind(callback))
main()
"""
GREENLETS = """
import greenlet, os
inner, outer = os.pipe()
def parked(again=True):
    if again:
        deeper()
    greenlet.getcurrent().parent.switch()
def deeper():
    list(map(parked, [False]))
def step():
    os.read(inner, 1)
def running():
    step()
def main():
    kept = greenlet.greenlet(parked)
    kept.switch()
    greenlet.greenlet(running).switch()
main()
"""

# Without a GPU, a launch ends where it asks for the device.
KERNELS = """
import os, triton
inner, outer = os.pipe()
@triton.jit
def add_kernel(x, n):
    pass
class NoDriver:
    def get_current_device(self):
        os.read(inner, 1)
triton.runtime.driver.set_active(NoDriver())
def main():
    add_kernel[(1,)](1, 2)
main()
"""
OPERATORS = """
import os, torch
inner, outer = os.pipe()
@torch.library.custom_op("mylib::slow", mutates_args=())
def slow(x: torch.Tensor) -> torch.Tensor:
    os.read(inner, 1)
    return x.clone()
def wait(x):
    os.read(inner, 1)
    return x.clone()
library = torch.library.Library("old", "DEF")
library.define("wait(Tensor x) -> Tensor")
library.impl("wait", wait, "CPU")
def main():
    x = torch.ones(2)
    CALL
main()
"""


def allow_cores():
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


class ForeignFrames(unittest.TestCase):
    def names(self, *command, options=()):
        """Returns the names of the frames of a process that blocks in a read from a pipe."""
        return self.names_of(sys.executable, "-c", *command, options=options)

    def names_of(self, *command, options=()):
        victim = subprocess.Popen(command)
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(victim.pid, proc_facts.READ, "pipe:"), "it blocks")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(victim.pid), "--samples", "1", *options]))
        frames = re.findall(r"(?m)^    (\S.*?)(?:  .*)?$", run.out)
        return [name for name in frames if not name.startswith("...")], run

    def test_cython(self):
        with harness.scratch() as folder:
            subprocess.run(["cc", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", "-x", "c", "-",
                            "-o", f"{folder}/cyx.so"], input=LIBRARY, check=True, encoding="utf-8")
            names, run = self.names(CALLER, f"{folder}/cyx.so")
        self.assertEqual(names, ["read", "callback", "cyx.cy_inner", "cyx.Model.forward", "run", "main",
                                 "<module>"], run)

    @staticmethod
    def compile_cython(folder):
        with open(f"{folder}/cyx.c", "w", encoding="utf-8") as file:
            file.write(LIBRARY)
        subprocess.run(["cc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC", f"{folder}/cyx.c",
                        "-o", f"{folder}/cyx.so"], check=True)

    def test_lines_of_cython(self):
        """They are in comments of the C file, if it is still there."""
        with harness.scratch() as folder:
            self.compile_cython(folder)
            _, run = self.names(CALLER, f"{folder}/cyx.so", options=["--inlines"])
            self.assertRegex(run.out, r"(?m)^    cyx\.cy_inner +pkg/cyx\.pyx:4\n"
                                      r"    cyx\.Model\.forward +pkg/cyx\.pyx:9\n    run +")
            self.assertRegex(run.out, r"(?m)^    run +\S+/cyx\.c:\d+$")  # the C file's own functions
            os.rename(f"{folder}/cyx.c", f"{folder}/away.c")
            _, run = self.names(CALLER, f"{folder}/cyx.so", options=["--inlines"])
            self.assertRegex(run.out, r"(?m)^    cyx\.cy_inner +\S+/cyx\.c:\d+$")

    @harness.only_with(hung_torch_job.writes_cores_beside())
    def test_lines_of_cython_in_a_core(self):
        with harness.scratch() as folder:
            self.compile_cython(folder)
            victim = subprocess.Popen([sys.executable, "-c", CALLER, f"{folder}/cyx.so"], cwd=folder,
                                      preexec_fn=allow_cores)
            proc_facts.wait_until(
                lambda: proc_facts.in_call_on(victim.pid, proc_facts.READ, "pipe:"), "it blocks")
            victim.send_signal(signal.SIGABRT)
            victim.communicate()
            core, = [f"{folder}/{name}" for name in os.listdir(folder) if name.startswith("core")]

            def shown(*options):
                return harness.Run(harness.run_here([harness.Options.oddrank, "core", core, "--inlines",
                                                     *options]))
            self.assertRegex(shown().out, r"(?m)^    cyx\.cy_inner +pkg/cyx\.pyx:4$")
            # What was written later says nothing of the program.
            later = os.stat(core).st_mtime + 10
            os.utime(f"{folder}/cyx.c", (later, later))
            self.assertRegex(shown().out, r"(?m)^    cyx\.cy_inner +\S+/cyx\.c:\d+$")
            # A file below the sysroot goes before that of this machine.
            place = f"{folder}/sysroot{folder}"
            os.makedirs(place)
            shutil.copy(f"{folder}/cyx.so", place)
            with open(f"{place}/cyx.c", "w", encoding="utf-8") as file:
                file.write(LIBRARY.replace("pyx", "elsewhere"))
            os.utime(f"{place}/cyx.c", (1, 1))
            self.assertRegex(shown("--sysroot", f"{folder}/sysroot").out,
                             r"(?m)^    cyx\.cy_inner +pkg/cyx\.elsewhere:4$")

    @harness.only_with(importlib.util.find_spec("greenlet"))
    def test_greenlets(self):
        names, run = self.names(GREENLETS)
        self.assertEqual(names[:4], ["read", "step", "running", "<parked greenlets>"], run)
        self.assertNotIn("do not match", run.out)

    @harness.only_with(importlib.util.find_spec("greenlet"))
    def test_parked_greenlets_have_stacks_of_their_own(self):
        names, run = self.names(GREENLETS, options=["--tasks"])
        text = run.out[run.out.index("\ngreenlet is parked\n"):]
        stacks = [re.findall(r"(?m)^    (\S+) ", part) for part in text.split("greenlet is parked\n")[1:]]
        self.assertEqual(sorted(stacks), [["main", "<module>"], ["parked", "deeper", "parked"]], run)

    @harness.only_with(importlib.util.find_spec("nuitka"))
    def test_a_program_compiled_by_nuitka(self):
        with harness.scratch() as folder:
            with open(f"{folder}/program.py", "w", encoding="utf-8") as file:
                file.write("import os\ninner, outer = os.pipe()\ndef step():\n    os.read(inner, 1)\n"
                           "def main():\n    list(map(lambda _: step(), [1]))\nmain()\n")
            subprocess.run([sys.executable, "-m", "nuitka", "--quiet", f"--output-dir={folder}",
                            f"{folder}/program.py"], check=True, stdin=subprocess.DEVNULL)
            names, run = self.names_of(f"{folder}/program.bin")
        # Up to 3.10 there are no qualified names.
        self.assertEqual([name.rsplit(".", 1)[-1] for name in names[-5:]],
                         ["<compiled Python>", "step", "<lambda>", "main", "<module>"], run)
        self.assertEqual(re.findall(r"(?m)/program\.py:(\d+)$", run.out), ["4", "6", "6", "7"], run)
        self.assertNotIn("do not match", run.out)

    @harness.only_with(importlib.util.find_spec("torch"))
    def test_operators_of_torch(self):
        for call, shown in (("slow(x)", "slow"), ("torch.ops.mylib.slow(x)", "slow"),
                            ("torch.ops.old.wait(x)", "wait"), ("torch.ops.old.wait.default(x)", "wait")):
            with self.subTest(call):
                space = "old" if shown == "wait" else "mylib"
                names, run = self.names(OPERATORS.replace("CALL", call))
                self.assertEqual(names, ["read", shown, f"torch.ops.{space}.{shown}", "main",
                                         "<module>"], run)

    @harness.only_with(importlib.util.find_spec("triton"))
    def test_kernels_of_triton(self):
        with harness.scratch() as folder:
            with open(f"{folder}/program.py", "w", encoding="utf-8") as file:
                file.write(KERNELS)
            names, run = self.names_of(sys.executable, f"{folder}/program.py")
        self.assertEqual(names, ["read", "NoDriver.get_current_device", "add_kernel[grid]", "main",
                                 "<module>"], run)


if __name__ == "__main__":
    harness.main()
