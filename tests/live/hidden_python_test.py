#!/usr/bin/env python3
"""Tests that a Python is found where neither a file's name nor its symbols tell of it: in a library of another
name, in a program without symbols, beside another Python; and that one which is not found is missed aloud.

    hidden_python_test.py --oddrank PATH
"""

import glob
import os
import re
import resource
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

# Calls main() of the Python in a library, or of the one that it is linked with.
LOADER = """
#include <dlfcn.h>
int main(int argc, char** argv) {
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  int (*run)(int, char**) = (int (*)(int, char**))dlsym(library, "Py_BytesMain");
  return run(argc - 1, argv + 1);
}
"""
LINKED = "int Py_BytesMain(int, char**); int main(int argc, char** argv) { return Py_BytesMain(argc, argv); }"
PROGRAM = "import os\ninner, outer = os.pipe()\ndef step():\n    os.read(inner, 1)\nstep()\n"
# Begins a second Python, of another version.
SECOND = """
import ctypes, os, sys, threading
inner, outer = os.pipe()
os.environ["PYTHONHOME"] = sys.argv[2]
other = ctypes.PyDLL(sys.argv[1], mode=os.RTLD_LOCAL | os.RTLD_NOW | os.RTLD_DEEPBIND)
other.Py_InitializeEx(0)
def step():
    os.read(inner, 1)
step()
"""


def homes():
    """Returns the folders of Pythons from 3.8 to 3.12 with a shared library and an archive."""
    found = [(tuple(map(int, re.search(r"(\d+)\.(\d+)\.\d+$", home).groups())), home)
             for home in glob.glob(os.path.expanduser("~/.pyenv/versions/3.*.*")) if home[-1].isdigit()]
    return {version: home for version, home in sorted(found)
            if (3, 8) <= version < (3, 13) and glob.glob(f"{home}/lib/libpython3.*.so.1.0")
            and glob.glob(f"{home}/lib/python3.*/config-*/libpython3.*.a")}


def library_of(home):
    return glob.glob(f"{home}/lib/libpython3.*.so.1.0")[0]


def compile_c(source, output, *options):
    subprocess.run(["cc", "-x", "c", "-", "-x", "none", "-o", output, *options], input=source, check=True,
                   encoding="utf-8", stderr=subprocess.DEVNULL)


@harness.only_with(len(homes()) > 1)
class HiddenPython(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def start(self, *command, home=None, **options):
        environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
        if home:
            environment["PYTHONHOME"] = home
        victim = subprocess.Popen(command, env=environment, **options)
        self.addCleanup(victim.wait, 60)
        self.addCleanup(victim.kill)
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(victim.pid, proc_facts.READ, "pipe:"), "it blocks")
        return victim.pid

    def read(self, pid, status=0):
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(pid), "--samples", "1"]))
        self.assertEqual(run.status, status, run)
        return run

    def test_a_library_of_another_name(self):
        compile_c(LOADER, f"{self.folder}/loader", "-ldl")
        for version, home in homes().items():
            with self.subTest(version=version):
                engine = f"{self.folder}/engine-{version[1]}.so"
                with open(library_of(home), "rb") as source, open(engine, "wb") as copy:
                    copy.write(source.read())
                run = self.read(self.start(f"{self.folder}/loader", engine, "-c", PROGRAM, home=home))
                self.assertRegex(run.out, rf"(?m)^Python 3\.{version[1]}\.\d+, sleeping")
                self.assertRegex(run.out, r"(?m)^    step +<string>:4$(?s:.*)^    <module> +<string>:5$")

    def test_a_program_without_symbols(self):
        for version, home in homes().items():
            with self.subTest(version=version):
                program = f"{self.folder}/program-{version[1]}"
                archive = glob.glob(f"{home}/lib/python3.*/config-*/libpython3.*.a")[0]
                compile_c(LINKED, program, "-no-pie", archive, "-lm", "-ldl", "-lutil", "-lpthread")
                subprocess.run(["strip", "-s", program], check=True)
                run = self.read(self.start(program, "-c", PROGRAM, home=home))
                self.assertRegex(run.out, rf"(?m)^Python 3\.{version[1]}\b.*, sleeping")
                self.assertRegex(run.out, r"step +<string>:4\n(.*\| )?.* <module> +<string>:5")

    def test_a_second_python_is_named(self):
        one, other = list(homes().values())[-2:]
        run = self.read(self.start(f"{one}/bin/python3", "-c", SECOND, library_of(other), other), status=3)
        self.assertRegex(run.out, rf"(?m)^Python {re.escape(os.path.basename(one))}, sleeping")
        self.assertRegex(run.out, r"(?m)^    step +<string>:8$(?s:.*)^    <module> +<string>:9$")
        self.assertRegex(run.out.replace("\n", " "),
                         r"read in part: no frames of a second Python in the process: 3\.\d+\.\d+ of /\S+")

    def test_an_interpreter_that_is_not_found_is_missed(self):
        """Functions with CPython's names, and no interpreter."""
        source = ("#include <unistd.h>\n__attribute__((noinline)) long PyEval_EvalCode(int fd) {\n"
                  "  char c; return read(fd, &c, 1) + 1; }\n"
                  "int main(void) { int fds[2]; pipe(fds); return (int)PyEval_EvalCode(fds[0]) + 1; }\n")
        compile_c(source, f"{self.folder}/lost", "-O1", "-fno-optimize-sibling-calls")
        run = self.read(self.start(f"{self.folder}/lost"), status=3)
        self.assertIn("read in part: no Python frames: there is PyEval_EvalCode() in its stack, but no "
                      "interpreter was found", run.out.replace("\n", " "))

    @harness.only_with(hung_torch_job.writes_cores_beside())
    def test_a_core_without_its_files(self):
        compile_c(LOADER, f"{self.folder}/loader", "-ldl")
        home = list(homes().values())[-1]
        engine = f"{self.folder}/{os.path.basename(library_of(home))}"
        with open(library_of(home), "rb") as source, open(engine, "wb") as copy:
            copy.write(source.read())

        def allow_cores():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        pid = self.start(f"{self.folder}/loader", engine, "-c", PROGRAM, home=home, cwd=self.folder,
                         preexec_fn=allow_cores)
        os.kill(pid, signal.SIGABRT)
        core, = proc_facts.wait_until(lambda: glob.glob(f"{self.folder}/core*"), "the core")
        proc_facts.wait_until(lambda: proc_facts.has_ended(pid), "it ends")
        whole = harness.Run(harness.run_here([harness.Options.oddrank, "core", core]))
        self.assertIn("step", whole.out, whole)
        os.rename(engine, f"{self.folder}/away")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "core", core]))
        self.assertEqual(run.status, harness.PARTIAL, run)
        self.assertIn("read in part: no Python frames: there is code of libpython", run.out)
        self.assertIn("name their root: --sysroot DIR", run.out)


if __name__ == "__main__":
    harness.main()
