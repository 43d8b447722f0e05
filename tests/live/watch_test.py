#!/usr/bin/env python3
"""Tests `oddrank watch -- CMD`: the command runs as if it were not watched; a stall is noticed, and a rank
that moves is left alone.

    watch_test.py --oddrank PATH
"""

import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import proc_facts

VICTIMS = os.path.join(os.path.dirname(HERE), "victims")
WATCHED = os.path.join(VICTIMS, "watched.py")
PEERS = os.path.join(VICTIMS, "peers.py")
PYTHON = "/usr/bin/python3"
QUICK = ("--interval", "200ms", "--stalled-for", "1s")


def rank_environment(rank, world=1, local=None):
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(("SLURM_", "OMPI_", "PMI", "TORCHELASTIC"))}
    return dict(kept, RANK=str(rank), WORLD_SIZE=str(world),
                LOCAL_RANK=str(rank if local is None else local), MASTER_ADDR="127.0.0.1",
                MASTER_PORT=f"watch{os.getpid()}")


def open_text(path):
    with contextlib.suppress(FileNotFoundError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


def watcher_of(pid, rank):
    """Returns the pid of the watcher beside the command, None if there is none. The watcher leads a
    session of its own."""
    master = f"watch{os.getpid()}"
    for other in proc_facts.pids():
        environment = proc_facts.environ(other)
        if (other != pid and proc_facts.comm(other) == "oddrank-watch" and
                environment.get("MASTER_PORT") == master and environment.get("RANK") == str(rank)):
            with contextlib.suppress(ProcessLookupError):  # one of the watcher's readers, which has ended
                if os.getsid(other) == other:
                    return other
    return None


class WatchTest(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(harness.scratch())
        self.log = f"{self.folder}/log"
        open(self.log, "wb").close()

    # pylint: disable=too-many-arguments
    def start(self, *command, options=QUICK, rank=0, world=1, local=None, extra=(), program=None):
        """Starts the watched command; returns when it has printed that it is ready."""
        with open(self.log, "ab") as log:
            process = subprocess.Popen(
                [program or harness.Options.oddrank, *extra, "watch", *options, "--", *command],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env=rank_environment(rank, world, local), start_new_session=True)
        self.addCleanup(self.end, process)
        words = process.stdout.readline().split()
        self.assertEqual(words[:2], ["ready", str(process.pid)], self.said())
        return process

    def end(self, process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)
        process.stdin.close()
        process.stdout.close()

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def wait_said(self, words, seconds=60):
        try:
            proc_facts.wait_until(lambda: words in self.said(), f"the log says '{words}'", seconds)
        except TimeoutError as error:
            raise AssertionError(f"{error}; it says:\n{self.said()}") from error

    def wait_watcher(self, process, rank=0):
        return proc_facts.wait_until(lambda: watcher_of(process.pid, rank), "somebody watches")

    def wait_ended(self, pid):
        proc_facts.wait_until(lambda: proc_facts.has_ended(pid), "it has ended")

    def stand_still(self, holder, waiter):
        """Stops rank 0 once rank 1 waits for its lock, so that no alarm comes before that."""
        proc_facts.wait_until(lambda: proc_facts.in_call(waiter.pid, proc_facts.FLOCK),
                              "rank 1 waits for the lock")
        self.tell(holder)

    @staticmethod
    def tell(process):
        process.stdin.write("\n")
        process.stdin.flush()

    # -- the command runs as if not watched -------------------------------------------------------

    def run_watched(self, *command, **options):
        return subprocess.run([harness.Options.oddrank, "watch", "--", *command], timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env=rank_environment(0), **options)

    def test_ends_as_the_command_ends(self):
        for ending, status in (("exit 0", 0), ("exit 3", 3), ("kill -SEGV $$", -signal.SIGSEGV),
                               ("kill -TERM $$", -signal.SIGTERM),
                               ("kill -KILL $$", -signal.SIGKILL)):
            run = self.run_watched("/bin/sh", "-c", ending)
            self.assertEqual((run.returncode, run.stdout, run.stderr), (status, "", ""), ending)
        run = self.run_watched("/no/such/program")
        self.assertEqual(run.returncode, 127)
        self.assertIn("/no/such/program", run.stderr)
        self.assertEqual(self.run_watched("/etc/passwd").returncode, 126)

    def test_arguments_files_and_dispositions_are_the_commands_own(self):
        # Options that our parser would interpret, and must not see.
        words = ["[1,2]", "", "--", "-v", "--save", "a b"]
        show = "for word; do echo \"<$word>\"; done; grep SigIgn /proc/self/status; ls /proc/$$/fd"
        plain = subprocess.run(["/bin/sh", "-c", show, "sh", *words], capture_output=True,
                               text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)
        watched = self.run_watched("/bin/sh", "-c", show, "sh", *words)
        self.assertEqual(watched.stdout, plain.stdout)
        self.assertIn("<[1,2]>\n<>\n<-->\n<-v>\n", watched.stdout)

    def test_each_signal_comes_once(self):
        process = self.start(PYTHON, WATCHED, "signals")
        self.wait_watcher(process)
        numbers = [signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2]
        for number in numbers:
            os.killpg(process.pid, number)  # as a terminal or a launcher does
            self.assertEqual(process.stdout.readline(), f"got {int(number)}\n")
        process.stdin.close()
        self.assertEqual((process.stdout.read(), process.wait(60)), ("", 0), self.said())
        process.stdin = open(os.devnull, "rb")  # for the cleanup

    def test_signals_of_a_launcher_do_not_end_the_watcher(self):
        process = self.start(PYTHON, WATCHED, "signals", options=("--interval", "1h"))
        watcher = self.wait_watcher(process)
        for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM, signal.SIGUSR2):
            os.kill(watcher, number)
        os.kill(watcher, signal.SIGUSR1)
        self.wait_said("capture requested by SIGUSR1")
        os.kill(watcher, signal.SIGTERM)
        self.wait_ended(watcher)
        self.assertIsNone(process.poll())

    def test_death_of_the_watcher_harms_nobody(self):
        process = self.start(PYTHON, WATCHED, "signals")
        watcher = self.wait_watcher(process)
        os.kill(watcher, signal.SIGKILL)
        self.wait_ended(watcher)
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(process.stdout.readline(), f"got {int(signal.SIGUSR2)}\n")
        self.assertIsNone(process.poll())

    def test_the_watcher_steps_back_and_ends_with_the_command(self):
        process = self.start(PYTHON, WATCHED, "steady", options=("--interval", "1h"))
        watcher = self.wait_watcher(process)
        self.assertGreater(os.getpriority(os.PRIO_PROCESS, watcher),
                           os.getpriority(os.PRIO_PROCESS, process.pid))
        for pid, score in ((watcher, "1000"), (process.pid, self.own_memory_score())):
            with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
                self.assertEqual(file.read().strip(), score)
        process.kill()
        process.wait(60)
        self.wait_ended(watcher)

    @staticmethod
    def own_memory_score():
        with open("/proc/self/oom_score_adj", encoding="ascii") as file:
            return file.read().strip()

    # -- stalls -----------------------------------------------------------------------------------

    def test_a_stall_names_the_rank_and_calls_the_command(self):
        hook = (f"cp \"$1\" {self.folder}/hook.json.new; env > {self.folder}/hook.env; "
                f"mv {self.folder}/hook.json.new {self.folder}/hook.json; echo ticket opened")
        # All captures are kept, because a stall is captured again while it lasts.
        options = (*QUICK, "--save", f"{self.folder}/save", "--keep", "100", "--on-stall", hook)
        # It must be recognised as a watcher under another name too.
        program = f"{self.folder}/python-wrapper"
        os.symlink(harness.Options.oddrank, program)
        ranks = [self.start(PYTHON, PEERS, "flock", self.folder, options=options, rank=rank,
                            world=2, program=program) for rank in (0, 1)]
        self.stand_still(*ranks)
        proc_facts.wait_until(lambda: os.path.exists(f"{self.folder}/hook.json"),
                              "the command of --on-stall has run", 90)
        with open(f"{self.folder}/hook.json", encoding="utf-8") as file:
            report = json.load(file)
        verdict = report["verdict"]
        self.assertEqual(verdict["kind"], "file_lock", self.said())
        culprit, = verdict["culprits"]
        self.assertEqual((culprit["rank"], culprit["pid"]), (0, ranks[0].pid), self.said())
        # There are two ranks, and no watcher among them or their children.
        self.assertEqual({row["rank"]: row["pid"] for row in report["ranks"]},
                         {0: ranks[0].pid, 1: ranks[1].pid}, self.said())
        self.assertEqual([row["children"] for row in report["ranks"]], [[], []], self.said())
        capture = self.check_hook_environment()
        # The log has the first screen and the past of the culprit.
        said = self.said()
        self.assertIn("has not moved for", said)
        self.assertIn("file_lock: rank 0", said)
        self.assertTrue(self.last_moves(), said)
        self.assertIn("for_ever (peers.py:", said)
        proc_facts.wait_until(lambda: "oddrank watch:   ticket opened\n" in self.said(),
                              "the log has what the command of --on-stall wrote")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "report", capture, "-q"]))
        self.assertIn("file_lock", run.out, run)

    def test_metrics_for_prometheus(self):
        folder = f"{self.folder}/metrics"
        os.mkdir(folder)
        ranks = [self.start(PYTHON, PEERS, "flock", self.folder, options=(*QUICK, "--metrics", folder), rank=rank,
                            world=2) for rank in (0, 1)]
        self.stand_still(*ranks)

        def text():
            return "".join(open_text(path) for path in glob.glob(f"{folder}/oddrank-*-rank0.prom"))
        proc_facts.wait_until(lambda: re.search(r"oddrank_watch_stalled\{job=\S+\} 1\n", text()), "an alarm", 90)
        self.assertRegex(text(), r'oddrank_watch_verdict\{job=\S+,kind="file_lock"\} 1\n')
        self.assertRegex(text(), r"oddrank_watch_alarms_total\{\S+ [1-9]")
        self.assertRegex(text(), r'oddrank_watch_rank_still_seconds\{job=\S+,rank="0"\} [1-9]')
        if shutil.which("promtool"):
            checked = subprocess.run(["promtool", "check", "metrics"], input=text(), capture_output=True, text=True,
                                     check=False)
            self.assertEqual((checked.returncode, checked.stderr), (0, ""))
        for process in ranks:
            process.kill()
        proc_facts.wait_until(lambda: not glob.glob(f"{folder}/*"), "the files are gone")

    def test_metrics_that_cannot_be_written(self):
        self.start(PYTHON, WATCHED, "signals", options=(*QUICK, "--metrics", f"{self.folder}/none"))
        self.wait_said("metrics cannot be written: ")
        file = f"{self.folder}/file"
        open(file, "wb").close()
        for folder, why in ((f"{self.folder}/none", "no such file or directory"), (file, "not a directory"),
                            ("/proc/self", "")):
            run = harness.Run(harness.run_here(
                [harness.Options.oddrank, "watch", "--select", f"127.0.0.1:watch{os.getpid()}", *QUICK,
                 "--metrics", folder]))
            harness.check_trouble(self, run, f"metrics cannot be written: cannot write {folder}/oddrank-", why,
                                  "an existing folder", status=1)

    def test_a_watcher_that_does_not_capture_leaves_the_past_of_its_rank(self):
        # Rank 0, the culprit, is second on its node, so the other rank's watcher captures.
        options = (*QUICK, "--save", f"{self.folder}/save")
        def start(rank):
            return self.start(PYTHON, PEERS, "flock", self.folder, options=options, rank=rank,
                              world=2, local=1 - rank)

        holder = start(0)
        self.tell(holder)
        proc_facts.wait_until(lambda: glob.glob(f"{self.folder}/save/.past-*-rank0"),
                              "rank 0 has stood still for a while")
        ranks = holder, start(1)
        # All watchers share the log: what another watcher writes to it is not motion of rank 0.
        proc_facts.wait_until(lambda: len(self.last_moves()) >= 2, "two alarms")
        self.assertEqual(len(set(self.last_moves())), 1, self.said())
        self.assertIn("rank 1 has not moved for", self.said())
        self.assertNotIn("rank 0 has not moved for", self.said())
        self.assertTrue(glob.glob(f"{self.folder}/save/.past-*-rank0"))
        for process in ranks:
            process.kill()
        proc_facts.wait_until(lambda: not glob.glob(f"{self.folder}/save/.past-*"),
                              "a past is taken away with its rank")

    def last_moves(self):
        # The watch begins with a file in --save, so its first sample may find the rank at rest.
        return re.findall(r"rank 0 (?:last moved|has not moved since the watch began) at (\S+)",
                          re.sub(r"\s+", " ", self.said()))

    def check_hook_environment(self):
        with open(f"{self.folder}/hook.env", encoding="utf-8") as file:
            environment = dict(line.rstrip("\n").partition("=")[::2] for line in file)
        self.assertEqual(environment["ODDRANK_KIND"], "file_lock")
        self.assertIn("rank 0", environment["ODDRANK_SUMMARY"])
        self.assertFalse({"RANK", "LOCAL_RANK"} & set(environment), environment)
        capture = environment["ODDRANK_CAPTURE"]
        self.assertTrue(capture.startswith(f"{self.folder}/save/stall-"), environment)
        return capture

    def test_usr1_captures_at_once_and_the_newest_are_kept(self):
        process = self.start(PYTHON, WATCHED, "steady", options=(
            "--save", f"{self.folder}/save", "--keep", "2", "--on-stall", f"touch {self.folder}/on"))
        watcher = self.wait_watcher(process)
        for count in (1, 2, 3):
            os.kill(watcher, signal.SIGUSR1)
            proc_facts.wait_until(lambda n=count: self.said().count("watch: saved ") == n,
                                  f"{count} captures are saved", 60)
        for ending in ("odd", "json"):
            self.assertEqual(len(glob.glob(f"{self.folder}/save/*.{ending}")), 2)
        # The capture was requested and nothing is wrong, so the command of --on-stall is not run.
        self.assertFalse(os.path.exists(f"{self.folder}/on"), self.said())

    def test_redacted_captures_and_reports(self):
        process = self.start(PYTHON, WATCHED, "steady", options=("--save", f"{self.folder}/save", "--redact"))
        os.kill(self.wait_watcher(process), signal.SIGUSR1)
        self.wait_said("watch: saved ")
        [report], [capture] = (glob.glob(f"{self.folder}/save/*.{end}") for end in ("json", "odd"))
        with open(report, encoding="utf-8") as file:
            text = file.read()
        shown = harness.run_here([harness.Options.oddrank, "report", capture, "--json", "-"], also=False)
        for words in (text, shown.stdout):
            self.assertEqual(json.loads(words)["job"]["hosts"], ["host1"])
            self.assertNotIn(f'"{socket.gethostname()}"', words)

    def test_a_loop_that_polls_does_not_move(self):
        self.start(PYTHON, WATCHED, "spin")
        self.wait_said("rank 0 has not moved for")

    def both_ranks(self, *mode):
        return [self.start(PYTHON, WATCHED, *mode, rank=rank, world=2) for rank in (0, 1)]

    def test_a_job_that_spins_in_a_call_does_not_move(self):
        self.both_ranks("yields", self.folder)
        self.wait_said("rank 0 has not moved for")

    def test_a_job_that_polls_a_file_does_not_move(self):
        self.both_ranks("asks")
        self.wait_said("rank 0 has not moved for")

    def test_a_job_that_counts_its_polls_does_not_move(self):
        self.both_ranks("counts")
        self.wait_said("rank 0 has not moved for")

    def test_a_job_that_finds_what_it_polls_for_moves(self):
        process = self.both_ranks("finds")[0]
        self.watch_for(3, self.wait_watcher(process))
        self.assertNotIn("has not moved for", self.said())

    def test_a_job_that_polls_a_file_without_pauses_does_not_move(self):
        self.both_ranks("rushes")
        self.wait_said("rank 0 has not moved for")

    # -- ranks that move --------------------------------------------------------------------------

    def test_a_rank_that_steps_is_left_alone(self):
        process = self.start(PYTHON, WATCHED, "steady", extra=("-v",))
        self.watch_for(3, self.wait_watcher(process))
        alarms, said = self.alarms(), self.said()
        process.kill()
        # Each pause of its own may have raised an alarm, but was not reported as a stall.
        self.assertLessEqual(alarms, process.stdout.read().count("paused"), said)
        self.assertNotIn("has not moved for", said)

    def test_the_samples_follow_the_time_of_the_alarm(self):
        """With one every ten seconds, three seconds would be noticed after thirty."""
        ranks = [self.start(PYTHON, PEERS, "flock", self.folder, rank=rank, world=2,
                            options=("--stalled-for", "3s")) for rank in (0, 1)]
        self.stand_still(*ranks)
        self.wait_said("has not moved for")
        self.assertRegex(self.said(), r"has not moved for 1?\d(\.\d)? s")

    @staticmethod
    def watch_for(seconds, watcher):
        """Returns after that time, once the watcher has taken some more samples."""
        end = time.monotonic() + seconds
        proc_facts.wait_until(lambda: time.monotonic() > end, f"{seconds} s pass")
        enough = proc_facts.wake_ups(watcher) + 12  # a few for each sample
        proc_facts.wait_until(lambda: proc_facts.wake_ups(watcher) >= enough, "the watcher looks")

    def test_a_rank_that_computes_is_no_stall(self):
        self.start(PYTHON, WATCHED, "busy", extra=("-v",))
        self.wait_said("which is not a stall (healthy)")
        self.assertNotIn("has not moved", self.said())

    def test_a_quiet_time_that_was_survived_is_learned(self):
        process = self.start(PYTHON, WATCHED, "lines", extra=("-v",), options=(
            "--interval", "100ms", "--stalled-for", "1s"))
        watcher = self.wait_watcher(process)
        # While the stall lasts it is reported three times: at the limit, at twice and at four times that.
        proc_facts.wait_until(lambda: self.said().count("has not moved for") == 3, "three alarms",
                              120)
        stepped = time.monotonic()
        self.step(process)
        self.wait_said("the job moves again")
        # The job survived four seconds or more, so six are no stall now. Two were one before.
        before, long_ones = self.alarms(), 0
        for _ in range(2):
            self.watch_for(2, watcher)
            since, stepped = stepped, time.monotonic()
            self.step(process)
            long_ones += time.monotonic() - since > 6  # the machine paused
        self.assertLessEqual(self.alarms() - before, 3 * long_ones, self.said())

    def alarms(self):
        said = self.said()
        return said.count("has not moved for") + said.count("which is not a stall")

    def step(self, process):
        self.tell(process)
        self.assertEqual(process.stdout.readline(), "step\n", self.said())

    # -- without a command ------------------------------------------------------------------------

    def test_usage(self):
        for words in (["--"], ["--job", "1", "--", "true"], ["--stalled-for", "soon", "--", "true"]):
            run = harness.Run(harness.run_here([harness.Options.oddrank, "watch", *words]))
            self.assertEqual(run.status, 2, run)

    def test_all_ranks_of_the_node_until_they_end(self):
        ranks = []
        for rank in (0, 1):
            process = subprocess.Popen(
                [PYTHON, PEERS, "flock", self.folder], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, env=rank_environment(rank, 2),
                start_new_session=True)
            self.addCleanup(self.end, process)
            self.assertEqual(process.stdout.readline().split()[0], "ready")
            ranks.append(process)
        self.stand_still(*ranks)
        with open(self.log, "ab") as log:
            watch = subprocess.Popen(
                [harness.Options.oddrank, "watch", *QUICK, "--select",
                 f"127.0.0.1:watch{os.getpid()}"], stdin=subprocess.DEVNULL, stderr=log)
        self.addCleanup(watch.wait, 60)
        self.addCleanup(watch.kill)
        self.wait_said("file_lock: rank 0")
        for process in ranks:
            process.kill()
            process.wait(60)
        self.assertEqual(watch.wait(60), 0, self.said())


if __name__ == "__main__":
    harness.main()
