#!/usr/bin/env python3
"""Tests what `oddrank node` reports about real Python processes: the differing locals of ranks that are at
the same lines in different iterations, waits in the standard library, threads in a container, and a
Python that is not supported.

    python_report_test.py --oddrank PATH
"""

import glob
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIMS = os.path.join(os.path.dirname(HERE), "victims")
RANKS = 4
SKEW = "step=1207 on 0-2; step=1206 on 3"

# How python_waits.py waits -> the report's word for it.
WAITS = {
    "asyncio": "waits in asyncio's event loop",
    "future": "waits for a future (concurrent.futures)",
    "process_pool": "waits for a future (concurrent.futures)",
    "queue": "waits for an item of a queue.Queue",
    "mp_queue": "waits for a multiprocessing queue",
    "mp_join": "joins a child process (multiprocessing)",
    "mp_pool": "waits for a multiprocessing pool",
    "mp_connection": "waits for a multiprocessing connection",
    "subprocess": "waits for a subprocess",
    "join": "joins a thread",
    "event": "waits for a threading.Event",
    "condition": "waits for a threading.Condition",
    "barrier": "waits at a threading.Barrier",
}


def start(test_case, *command, **environment):
    """Starts a victim, which is killed with all its children when the test case's class ends."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               start_new_session=True,
                               env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1", **environment))
    test_case.addClassCleanup(end, process)
    return process


def end(process):
    try:
        os.killpg(process.pid, 9)
    except ProcessLookupError:
        pass
    process.wait(60)
    process.stdin.close()
    process.stdout.close()


def blocks(tid):
    """Returns whether the thread is in one of the calls that the victims' waits end in."""
    return (proc_facts.wants_lock(tid)
            or proc_facts.in_call(tid, proc_facts.WAIT4, proc_facts.EPOLL_WAIT)
            or any(proc_facts.in_call_on(tid, proc_facts.READ, kind) for kind in ("pipe:", "socket:")))


def wait_blocked(process, child=False):
    """Waits until the victim (or its only child) has printed "ready" and blocks; returns its pid."""
    assert process.stdout.readline() == b"ready\n"
    pid = proc_facts.children(process.pid)[0] if child else process.pid
    proc_facts.wait_until(lambda: blocks(pid), "it blocks")
    return pid


class Skew(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        ranks = [start(cls, "/usr/bin/python3", f"{VICTIMS}/skewed_loop.py", RANK=str(rank),
                       WORLD_SIZE=str(RANKS)) for rank in range(RANKS)]
        for rank in ranks:
            wait_blocked(rank)
        with harness.scratch() as folder:
            cls.run_of_all = harness.Run(harness.run_here(
                [harness.Options.oddrank, "node", *(str(rank.pid) for rank in ranks),
                 "--json", f"{folder}/report.json", "--html", f"{folder}/report.html"]))
            with open(f"{folder}/report.json", encoding="utf-8") as file:
                cls.report = json.load(file)
            with open(f"{folder}/report.html", encoding="utf-8") as file:
                cls.page = file.read()

    def test_one_group_and_nobody_is_blamed_for_a_number(self):
        group, = self.report["groups"]
        self.assertEqual(group["ranks"], "0-3", self.run_of_all)
        self.assertEqual(self.report["verdict"]["culprits"], [], self.run_of_all)

    def test_text(self):
        lines = self.run_of_all.out.splitlines()
        told = next((i for i, line in enumerate(lines) if SKEW in line), None)
        self.assertIsNotNone(told, self.run_of_all)
        self.assertIn("skewed_loop.py:", lines[told], self.run_of_all)
        # The counter that lags is listed above other differences.
        shard = next(i for i, line in enumerate(lines) if "shard='shard-a.tar' on 0,2-3" in line)
        self.assertLess(told, shard, self.run_of_all)

    def test_json(self):
        differ = self.report["groups"][0]["locals_differ"]
        first = differ[0]
        self.assertEqual((first["name"], first["behind"]), ("step", "3"), differ)
        self.assertEqual({value["value"]: value["ranks"] for value in first["values"]},
                         {"1207": "0-2", "1206": "3"}, differ)
        names = [row["name"] for row in differ]
        self.assertLess(names.index("shard"), names.index("loss"), differ)
        # Equal everywhere, meant to differ, or secret.
        for name in ("epoch", "learning_rate", "bucket", "rank", "api_key"):
            self.assertNotIn(name, names)

    def test_html(self):
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>',
                                    self.page, re.DOTALL).group(1))
        self.assertTrue(data["groups"][0]["differ"][0].startswith(f"{SKEW} in "), data["groups"])

    def test_no_secret_is_kept(self):
        for text in (self.run_of_all.out, json.dumps(self.report), self.page):
            self.assertNotIn("sk-0", text)


class LibraryWaits(unittest.TestCase):
    def test_each_has_its_name(self):
        victims = {how: start(type(self), "/usr/bin/python3", f"{VICTIMS}/python_waits.py", how)
                   for how in WAITS}
        for victim in victims.values():
            wait_blocked(victim)
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *(str(victim.pid) for victim in victims.values()),
             "--json", "-", "-q", "--samples", "1"]))
        phases = {row["pid"]: row["phase"] for row in run.json()["ranks"]}
        for how, victim in victims.items():
            with self.subTest(how=how):
                phase = phases[victim.pid]
                self.assertTrue(phase.startswith(f"{WAITS[how]} in "), phase)


class Container(unittest.TestCase):
    """The victim runs in a pid namespace of its own, where threads have other tids than outside."""

    def check_threads(self, python):
        victim = start(type(self), "unshare", "--fork", "--pid", python,
                       f"{VICTIMS}/python_waits.py", "join")
        inside = wait_blocked(victim, child=True)
        for tid in proc_facts.threads(inside):
            proc_facts.wait_until(lambda tid=tid: blocks(tid), "its other thread blocks")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(inside), "--json", "-", "-q"]))
        row, = run.json()["ranks"]
        self.assertIsNone(row["why"], run)
        main, other = row["threads"]
        self.assertEqual((main["tid"], main["python_name"]), (inside, "MainThread"), run)
        self.assertIn("wait_join", [frame["name"] for frame in main["frames"]], run)
        self.assertTrue(other["python_name"].startswith("Thread-1"), run)
        merged = [(frame["name"] or "").split(".")[-1] for frame in other["frames"]]
        self.assertIn("_bootstrap", merged, run)
        self.assertIn("_PyEval_EvalFrameDefault", merged, run)

    def test_threads_are_joined_with_their_frames(self):
        reason = harness.needs_cluster()
        if reason:
            self.skipTest(reason)
        # With the tid that Python recorded, and with the one of the C library (up to 3.10).
        for python in ["/usr/bin/python3",
                       *glob.glob(os.path.expanduser("~/.pyenv/versions/3.8.*/bin/python3"))]:
            with self.subTest(python=python):
                self.check_threads(python)


class NotSupported(unittest.TestCase):
    def test_native_stacks_stay_and_one_line_says_what_is_missing(self):
        pythons = glob.glob(os.path.expanduser("~/.pyenv/versions/2.7.*/bin/python2.7"))
        if not pythons:
            self.skipTest("no Python 2.7 here")
        victim = subprocess.Popen([pythons[0], "-c", "import os; os.read(os.pipe()[0], 1)"])
        self.addCleanup(victim.communicate)
        self.addCleanup(victim.kill)
        proc_facts.wait_until(
            lambda: proc_facts.in_call_on(victim.pid, proc_facts.READ, "pipe:"), "it blocks")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", str(victim.pid), "--json", "-", "-q"]))
        row, = run.json()["ranks"]
        self.assertRegex(row["why"],
                         r"^no Python frames: pid \d+: Python 2\.7(\.\d+)? is not supported$")
        frames = [frame["name"] for frame in row["threads"][0]["frames"]]
        self.assertIn("PyEval_EvalFrameEx", frames, run)
        text = harness.run_here([harness.Options.oddrank, "node", str(victim.pid)]).stdout
        self.assertEqual(text.count("is not supported"), 1, text)


if __name__ == "__main__":
    harness.main()
