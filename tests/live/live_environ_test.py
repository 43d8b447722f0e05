#!/usr/bin/env python3
"""Runs `oddrank node` on programs that set the variables of a rank when they already run, after they
have written a title over those with which they were started. The program is linked in each way in
which libc's `environ` can be found: its own copy of the pointer, the library's, among the symbols of a
static program, and nowhere. Its communication library is made up: its name is what counts.

    live_environ_test.py --oddrank PATH
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

PROGRAM = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef OWN_COPY
extern char** environ;
char** volatile* used = &environ;
#endif

int main(int argc, char** argv, char** start) {
  const char* library = argv[1];
  const int file = open(library, O_RDONLY);
  if (mmap(0, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED) return 1;
  char* end = argv[0];
  for (char** each = start; *each != 0; ++each) end = *each + strlen(*each) + 1;
  char* const begin = argv[0];
  clearenv();
  setenv("RANK", argv[2], 1);
  setenv("WORLD_SIZE", "7", 1);
  setenv("MASTER_ADDR", argv[3], 1);
  setenv("MASTER_PORT", "1", 1);
  setenv("LONG", getenv("RANK"), 1);
  for (int i = 0; i < 600; ++i) {
    char name[32];
    snprintf(name, sizeof name, "FILLER_%d", i);
    setenv(name, "RANK=9", 1);
  }
  memset(begin, 'x', end - begin - 1);
  puts("ready");
  fflush(stdout);
  for (;;) pause();
}
"""


def needs_compiler():
    return None if shutil.which("cc") else "no C compiler"


class LiveEnviron(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="oddrank-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def end(self, process):
        process.kill()
        process.communicate(timeout=60)

    def check(self, compiler, *options):
        program = os.path.join(self.folder, "program")
        library = os.path.join(self.folder, "libnccl.so.2")
        with open(library, "wb") as file:
            file.write(bytes(4096))
        subprocess.run([compiler, "-x", "c", "-", "-o", program, *options],
                       input=PROGRAM, text=True, check=True, timeout=120)
        job = f"oddrank-test-{os.getpid()}"
        process = subprocess.Popen(  # pylint: disable=consider-using-with
            [program, library, "5", job], env={"RANK": "3", "PADDING": "x" * 200},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        self.assertEqual(process.stdout.readline(), "ready\n")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", "--select", f"{job}:1", "--samples", "1", "--json",
             "-", "-q", *harness.PATIENTLY]))
        self.assertIn(run.status, (0, harness.PARTIAL), run)
        found = {row["rank"]: row["pid"] for row in run.json()["ranks"] if row["pid"]}
        self.assertEqual(found, {5: process.pid})
        self.assertEqual(run.json()["job"]["world_size"], 7)

    def test_pointer_of_the_library(self):
        self.check("cc")

    def test_copy_of_the_pointer_in_the_program(self):
        self.check("cc", "-DOWN_COPY", "-no-pie", "-fno-pie")

    def test_static(self):
        self.check("cc", "-static")

    def test_static_without_symbols(self):
        self.check("cc", "-static", "-s")

    def test_static_and_movable_without_symbols(self):
        self.check("cc", "-static-pie", "-s")


if __name__ == "__main__":
    harness.main(needs_compiler)
