#!/usr/bin/env python3
"""Tests what `oddrank core` says first about programs that crashed: signal, address, frame and thread, and
the message of abort().

    crash_test.py --oddrank PATH
"""

import json
import os
import resource
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness

FAULT = """
import ctypes, threading
def touch():
    ctypes.string_at(16)
thread = threading.Thread(target=touch, name="toucher")
thread.start()
thread.join()
"""
# A pointer that malloc() has never given.
DAMAGED = """
import ctypes
libc = ctypes.CDLL(None)
buffer = ctypes.create_string_buffer(64)
def give_back():
    libc.free(ctypes.c_void_p(ctypes.addressof(buffer) + 8))
give_back()
"""
# Its handler sends the signal once more.
HANDLED = """
import ctypes, faulthandler
faulthandler.enable()
def touch():
    ctypes.string_at(16)
touch()
"""
THROWS = """
#include <stdexcept>
struct TooSmall : std::length_error { using std::length_error::length_error; };
void inner() { throw TooSmall("the batch is empty"); }
int main() { try { inner(); } catch (const std::bad_exception&) {} }
"""
# The exception was caught; abort() is called for another reason.
CAUGHT = """
#include <cstdlib>
#include <stdexcept>
int main() { try { throw std::runtime_error("known"); } catch (const std::exception&) { std::abort(); } }
"""
ENDED = "import os, signal; os.kill(os.getppid(), 0); print('ready', flush=True); signal.pause()"


def kernel_writes_here():
    """Returns whether the kernel writes a core into the folder of the process."""
    with open("/proc/sys/kernel/core_pattern", encoding="utf-8") as file:
        pattern = file.read().strip()
    return not pattern.startswith("|") and "/" not in pattern


class Crash(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def compile(self, source):
        subprocess.run(["c++", "-g", "-x", "c++", "-", "-o", f"{self.folder}/program"], input=source,
                       check=True, encoding="utf-8")
        return [f"{self.folder}/program"]

    def crash(self, program, signal=None, command=None):
        """Runs the program until it dies; returns the run of `oddrank core` on its core."""
        def allow_cores():
            resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        victim = subprocess.Popen(command or [sys.executable, "-c", program], cwd=self.folder,
                                  preexec_fn=allow_cores, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL)
        if signal is not None:
            self.assertEqual(victim.stdout.readline(), b"ready\n")
            victim.send_signal(signal)
        victim.communicate()
        core, = [name for name in os.listdir(self.folder) if name.startswith("core")]
        return harness.Run(harness.run_here(
            [harness.Options.oddrank, "core", f"{self.folder}/{core}",
             "--json", f"{self.folder}/json"]))

    def json(self):
        with open(f"{self.folder}/json", encoding="utf-8") as file:
            return json.load(file)

    def test_a_fault(self):
        run = self.crash(FAULT)
        text = run.out.replace("\n", " ")
        self.assertRegex(text, r"^Crashed by SIGSEGV: nothing is mapped at 0x10, in \S+ \(.*\) below "
                               r"string_at \(.*ctypes/__init__.py:\d+\), thread \d+ \"toucher\"", run)
        first = run.out.index("\nThread ")
        self.assertIn('"toucher"', run.out[first:first + 60])
        crash = self.json()["ranks"][0]["crash"]
        self.assertEqual((crash["signal"], crash["address"], crash["own"]), (11, "0x10", True))

    def test_abort_with_a_message(self):
        run = self.crash(DAMAGED)
        text = run.out.replace("\n", " ")
        self.assertRegex(text, r"^Crashed by SIGABRT by abort\(\), in ", run)
        self.assertIn('it said: "free(): invalid pointer"', text, run)

    def test_a_fault_below_a_handler(self):
        text = self.crash(HANDLED).out.replace("\n", " ")
        self.assertRegex(text, r"^Crashed by SIGSEGV, in (?!<)\S+ \(.*\) below string_at ", text)

    def test_an_exception_that_nobody_caught(self):
        text = self.crash(None, command=self.compile(THROWS)).out.replace("\n", " ")
        self.assertRegex(text, r"^Crashed by SIGABRT by abort\(\), in inner", text)
        self.assertIn("it said: \"terminate called after throwing an instance of 'TooSmall': "
                      "the batch is empty\"", text)

    def test_an_exception_that_was_caught_is_not_blamed(self):
        text = self.crash(None, command=self.compile(CAUGHT)).out
        self.assertTrue(text.startswith("Crashed by SIGABRT by abort(), in main"), text)
        self.assertNotIn("it said", text)

    def test_a_signal_from_elsewhere_is_no_crash(self):
        run = self.crash(ENDED, signal=3)
        self.assertTrue(run.out.startswith(f"Ended by SIGQUIT from pid {os.getpid()}"), run)


if __name__ == "__main__":
    if not kernel_writes_here():
        print("ODDRANK_SKIP: the kernel gives cores to a program here, or writes them elsewhere")
        sys.exit(harness.SKIPPED)
    harness.main()
