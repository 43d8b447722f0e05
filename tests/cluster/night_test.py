#!/usr/bin/env python3
"""What an engineer may meet at night on a cluster: jobs that move, hang or have ended in ways that are easily
taken for one another, folders that nodes do not share, disks from which nothing may be run. One cluster
of two nodes serves all tests; each starts a job of its own."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import cluster
import harness
import proc_facts
from cluster import Cluster
from harness import Options, Run
from star_job import StarJob

RANK = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "victims",
                    "night_rank.py")
NODES = ("n0", "n1")
# How rank 1 ends, and what SLURM says of it.
ENDS = {"ended": "exit code 0", "failed": "exit code 3", "killed": "killed by signal 9"}
COPY = re.compile(r"oddrank-[0-9a-f]{16}$")


def pmix_at_hand():
    """Returns whether SLURM has its plugin and the library that the plugin loads: Debian 11 and 12 need
    libpmix-dev for it, Debian 13 nothing more, and Debian testing has no plugin."""
    for plugin in glob.glob("/usr/lib/*/slurm*/mpi_pmix_v*.so"):
        with open(plugin, "rb") as file:
            names = set(re.findall(rb"libpmix\.so[.0-9]*", file.read()))
        if any(glob.glob(f"/usr/lib/*/pmix2/lib/{name.decode()}") for name in names):
            return True
    return False


def may_make_users():
    """Returns whether a user namespace can be made: not in a chroot, where scripts/slurm_release runs."""
    return subprocess.run(["unshare", "--map-root-user", "true"], capture_output=True, timeout=60,
                          check=False).returncode == 0


# Stands in for runc, as srun --container calls it: RUNTIME WHAT BUNDLE NODE. SLURM 22.05 tells a task in a
# container no number of its own, so here it is that of its node.
RUNTIME = """#!/usr/bin/python3
import json, os, sys
what, bundle, node = sys.argv[1:]
runs = f"{bundle}/runs-{node}"
if what == "query":
    print(json.dumps({"status": "running" if os.path.exists(runs) else "stopped"}))
elif what == "run":
    with open(f"{bundle}/config.json") as file:
        process = json.load(file)["process"]
    with open(runs, "w") as file:
        file.write(str(os.getpid()))
    environment = dict(item.split("=", 1) for item in process["env"])
    environment.update(RANK=node[1:], WORLD_SIZE="2")
    os.execvpe("unshare", ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child",
                           "--mount-proc", *process["args"]], environment)
elif os.path.exists(runs):  # kill, delete
    with open(runs) as file:
        pid = int(file.read())
    os.unlink(runs)
    os.kill(pid, 9)
"""


def has_containers():
    """Returns whether SLURM has --container (since 21.08), and its plugin for JSON, without which it reads no
    bundle."""
    known = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, timeout=60, check=False,
                           env={"PATH": cluster.daemon_path()})
    return (known.stdout >= "slurm-wlm 21.08" and bool(glob.glob("/usr/lib/*/slurm*/serializer_json.so"))
            and may_make_users())


class NightTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.lab = cls.enterClassContext(Cluster(nodes=2))

    def setUp(self):
        self.folder = self.enterContext(harness.scratch())

    def end(self, job):
        """No step of ours is left, and the job goes, so that the next one has both nodes."""
        proc_facts.wait_until(lambda: "oddrank" not in self.lab.run_client(
            ["squeue", "-s", "-h", "-j", job, "-o", "%j"]).stdout, "no step of ours is left")
        self.lab.cancel(job)
        self.lab.wait_job_state(job, ("CANCELLED", "COMPLETED", "FAILED"))

    def submit(self, text, *options):
        script = f"{self.folder}/job.sh"
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/bash\n#SBATCH --output={self.folder}/log\n{text}\n")
        job = self.lab.submit(script, *options)
        self.addCleanup(self.end, job)
        self.lab.wait_job_running(job)
        return job

    def ranks_of(self, job, count):
        """Returns the pids of the job's Python ranks, as seen from here, if there are so many. They may
        have lost SLURM's variables."""
        pids = [pid for node in NODES for pid in self.lab.node_pids(node, space="net")
                if proc_facts.comm(pid) == "python3"
                and proc_facts.environ(pid).get("SLURM_JOB_ID", job) == job]
        return pids if len(pids) == count else None

    def start(self, how, *options, nodes=2):
        job = self.submit(f"srun -N{nodes} -n2 {' '.join(options)} /usr/bin/python3 {RANK} {self.folder} {how}",
                          f"-N{nodes}", "-n2", "--overcommit")
        for rank in (0, 1) if how not in ENDS else ():
            proc_facts.wait_until(lambda rank=rank: os.path.exists(f"{self.folder}/rank-{rank}"),
                                  f"rank {rank} is connected")
        return job

    def start_star(self, nodes=2):
        star = StarJob(self.lab, self.folder, nodes=nodes, ranks=2)
        self.addCleanup(lambda: star.id and self.end(star.id))
        return star.start().id

    def oddrank(self, *arguments, program=None, **options):
        return Run(self.lab.run_client([program or Options.oddrank, *arguments], **options))

    def report(self, *arguments, **options):
        run = self.oddrank("job", *arguments, "--json", "-", *harness.PATIENTLY, **options)
        self.assertEqual(run.status, 0, run)
        return run.json()

    # -- what the ranks do ------------------------------------------------------------------------

    def check_healthy(self, how):
        job = self.start(how)
        verdict = self.report(job)["verdict"]
        self.assertIn(verdict["kind"], ("healthy", "slow"), verdict)

    def test_steps_of_a_fifth_of_a_second_are_healthy(self):
        self.check_healthy("step")

    def test_a_tight_loop_is_healthy(self):
        self.check_healthy("tight")

    def test_a_lock_that_is_taken_twice(self):
        self.check_lock()

    def test_the_same_below_pmi2(self):
        known = self.lab.run_client(["srun", "--mpi=list"])
        if "pmi2" not in known.stdout + known.stderr:
            self.skipTest("SLURM has no plugin pmi2 here")
        self.check_lock("--mpi=pmi2")

    @harness.only_with(pmix_at_hand())
    def test_the_same_below_pmix(self):
        self.check_lock("--mpi=pmix")

    def test_the_same_below_env_i(self):
        """SLURM's variables are gone, as after sudo or `apptainer --cleanenv`; the step is known from
        the daemon above the ranks."""
        self.check_lock("bash -c 'exec env -i RANK=$SLURM_PROCID WORLD_SIZE=2 \"$@\"' bash")

    @harness.only_with(may_make_users())
    def test_the_same_in_a_container(self):
        """User, pid and mount namespaces, and a /proc of its own, as enroot and pyxis have them."""
        self.check_lock("unshare --map-root-user --mount --pid --fork --mount-proc")

    @harness.only_with(has_containers())
    def test_the_same_below_srun_container(self):
        """SLURM's own containers, with a small runtime in the place of runc."""
        def put(path, text):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return path
        runtime = put(f"{self.folder}/runtime", RUNTIME)
        os.chmod(runtime, 0o755)
        os.makedirs(f"{self.folder}/bundle/rootfs")
        put(f"{self.folder}/bundle/config.json", json.dumps(
            {"ociVersion": "1.0.0", "root": {"path": "rootfs"}, "mounts": [],
             "process": {"cwd": "/", "args": ["true"], "env": []}}))
        self.addCleanup(os.unlink, put(f"{self.lab.directory}/oci.conf", "".join(
            f'RunTime{what}="{runtime} {what.lower()} %b %n"\n' for what in ("Run", "Kill", "Delete", "Query"))))
        job = self.check_lock(f"--container={self.folder}/bundle")
        for pid in self.ranks_of(job, 2):  # SLURM 22.05 would first wait for their output, for a minute
            os.kill(pid, signal.SIGKILL)

    def test_a_step_that_somebody_is_attached_to(self):
        """sattach shows the ranks' output before and after."""
        job = self.submit("srun -N2 -n2 /usr/bin/python3 -uc 'import time\nwhile not time.sleep(0.1): print(1)'",
                          "-N2", "-n2")
        proc_facts.wait_until(lambda: self.ranks_of(job, 2), "both ranks run")
        with subprocess.Popen(["sattach", f"{job}.0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              env=dict(os.environ, SLURM_CONF=self.lab.conf)) as attached:
            try:
                self.assertEqual(attached.stdout.readline(), b"1\n")
                self.assertEqual(self.report(job)["coverage"]["read"], 2)
                os.set_blocking(attached.stdout.fileno(), False)
                while attached.stdout.read():  # what came meanwhile
                    pass
                os.set_blocking(attached.stdout.fileno(), True)
                self.assertEqual(attached.stdout.readline(), b"1\n")
                self.assertIsNone(attached.poll())
            finally:
                attached.terminate()
        self.assertEqual(self.lab.job_state(job), "RUNNING")

    def test_a_step_that_is_over(self):
        """Nothing is waited for or said of it, and who asks for it is told."""
        job = self.submit("srun -N2 -n2 --overlap sleep 3600 & "
                          f"srun -N2 -n2 --overlap /usr/bin/python3 {RANK} {self.folder} step & wait",
                          "-N2", "-n2", "--overcommit")
        proc_facts.wait_until(lambda: self.ranks_of(job, 2) and len(self.steps(job)) == 2, "both steps run")
        steps = self.steps(job)
        self.assertEqual({state for _, state in steps.values()}, {"RUNNING"}, steps)
        self.assertIn("left out, because nothing of it trains", " ".join(self.report(job)["notes"]))
        over = f"{job}.{steps['sleep'][0]}"
        self.lab.run_client(["scancel", over])
        proc_facts.wait_until(lambda: list(self.steps(job)) == ["python3"], "the sleepers' step is over")
        report = self.report(job)
        self.assertEqual(report["coverage"]["read"], 2, report)
        self.assertNotIn("sleep", " ".join(report["notes"]))
        harness.check_trouble(self, self.oddrank("job", over), f"has no step {steps['sleep'][0]}")

    def steps(self, job):
        """Returns {name: (number, state)} of the steps that srun started."""
        shown = self.lab.run_client(["scontrol", "show", "step", job]).stdout
        return {name: (step, state) for step, state, name in re.findall(
            r"StepId=\d+\.(\d+) .*?State=(\w+) .*?Name=(\S+)", shown, re.DOTALL)}

    def check_lock(self, *options):
        job = self.start("lock", *options)
        proc_facts.wait_until(lambda: self.all_wait(job), "both ranks wait")
        run = self.oddrank("job", job, "-q", *harness.PATIENTLY)
        self.assertEqual(run.status, 0, run)
        self.assertRegex(run.out, r"^lock_deadlock( \(likely\))?: rank 1 \(n1, ")
        self.assertIn("take_twice", run.out)
        return job

    def all_wait(self, job):
        pids = self.ranks_of(job, 2)
        return pids and all(proc_facts.in_call(pid, proc_facts.RECVFROM, proc_facts.FUTEX)
                            for pid in pids)

    def check_ended(self, how, nodes):
        """Returns the verdict's sentence on a rank that has ended."""
        job = self.start(how, nodes=nodes)
        proc_facts.wait_until(lambda: os.path.exists(f"{self.folder}/rank-1-ends"), "rank 1 ends")
        proc_facts.wait_until(lambda: self.ranks_of(job, 1), "rank 1 has ended")
        if how != "ended":
            proc_facts.wait_until(lambda: "task 1: " in self.said(), "srun says so")
        run = self.oddrank("job", job, "--json", "-", *harness.PATIENTLY)
        self.assertEqual(run.status, harness.PARTIAL, run)
        report = run.json()
        self.assertEqual(report["verdict"]["kind"], "missing_rank", run)
        self.assertEqual([row["rank"] for row in report["verdict"]["culprits"]], [1], run)
        self.assertEqual(report["coverage"]["nodes_answered"], nodes, run)
        return report["verdict"]["summary"]

    def said(self):
        """Returns the job's output so far."""
        with open(f"{self.folder}/log", encoding="utf-8", errors="replace") as file:
            return file.read()

    def test_a_rank_that_ended_alone_on_its_node(self):
        """With its last task SLURM's daemon has left the node, and srun says nothing of an exit code 0."""
        self.assertNotIn("exit code", self.check_ended("ended", nodes=2))

    def test_a_rank_that_failed_alone_on_its_node(self):
        self.assertIn('has ended: "Exited with exit code 3", says srun',
                      self.check_ended("failed", nodes=2))

    def check_ended_beside(self, how):
        """SLURM's daemon of the step knows how, as long as one of its tasks runs there."""
        self.assertRegex(self.check_ended(how, nodes=1),
                         rf"rank 1 (\(n0\) )?has ended: {ENDS[how]}, says SLURM")

    def test_a_rank_that_ended_beside_others(self):
        self.check_ended_beside("ended")

    def test_a_rank_that_failed_beside_others(self):
        self.check_ended_beside("failed")

    def test_a_rank_that_was_killed_beside_others(self):
        self.check_ended_beside("killed")

    # -- which job --------------------------------------------------------------------------------

    def test_me_takes_a_heterogeneous_job_as_one(self):
        job = self.submit("srun --het-group=0,1 /usr/bin/python3 -c 'import time; time.sleep(3600)'",
                          "-N1", "-n1", ":", "-N1", "-n1")
        proc_facts.wait_until(lambda: self.ranks_of(job, 2), "both components run")
        report = self.report("--me")
        self.assertEqual(report["job"]["id"], job)
        self.assertEqual(report["coverage"]["read"], 2, report)

    def test_select_lists_what_can_be_selected(self):
        job = self.start("step")
        node = [Options.oddrank, "node", "--json", "-", "--select"]
        nothing = Run(self.lab.node_exec("n0", [*node, "nothing"]))
        harness.check_trouble(self, nothing, "belongs to nothing", f"--select 'slurm {job}.0'")
        one = Run(self.lab.node_exec("n0", [*node, f"slurm {job}", *harness.PATIENTLY]))
        self.assertEqual([row["rank"] for row in one.json()["ranks"]], [0], one)

    def test_suspended_requeued_and_ending_jobs(self):
        """In none of these states does SLURM start a step, so the report would only be empty."""
        job = self.submit("trap '' TERM; srun -N2 -n2 /usr/bin/python3 -c 'import signal, time; "
                          "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)'",
                          "-N2", "-n2", "--requeue")
        proc_facts.wait_until(lambda: self.ranks_of(job, 2), "both ranks run")
        self.lab.run_client(["scontrol", "suspend", job])
        self.lab.wait_job_state(job, ("SUSPENDED",))
        harness.check_trouble(self, self.oddrank("job", job), f"job {job} is suspended",
                              f"scontrol resume {job}")
        self.lab.run_client(["scontrol", "resume", job])
        self.lab.wait_job_state(job, ("RUNNING",))
        # Requeued, it is ending for as long as its ranks do not heed SIGTERM, and then pending.
        self.lab.run_client(["scontrol", "requeue", job])
        harness.check_trouble(self, self.oddrank("job", job), f"job {job} ")
        proc_facts.wait_until(lambda: "pending" in self.oddrank("job", job).err, "it is pending")

    def test_somebody_elses_job(self):
        """The hint fits who asks: an ordinary user, of whose job it is not."""
        if reason := harness.needs_other_user():
            self.skipTest(reason)
        job = self.start("step")
        run = self.oddrank("job", job, user="nobody")
        harness.check_trouble(self, run, f"job {job} belongs to root", "root")

    def test_root_follows_the_hint_for_a_job_of_another_user(self):
        """A job that root submitted with --uid (not of nobody: newer SLURMs refuse that). The hint's command
        is run as sudo would: as that user."""
        if reason := harness.needs_other_user():
            self.skipTest(reason)
        job = self.submit(f"srun -N2 -n2 /usr/bin/python3 {RANK} {self.folder} lock", "-N2", "-n2",
                          "--uid=daemon", "--gid=daemon")
        proc_facts.wait_until(lambda: self.all_wait(job), "both ranks wait")
        run = self.oddrank("job", job)
        harness.check_trouble(self, run, f"job {job} belongs to daemon", "SLURM refuses root, too")
        hint = re.search(r"`sudo -u (\w+) oddrank (job \d+)`", run.err)
        self.assertIsNotNone(hint, run)
        run = self.oddrank(*hint[2].split(), "-q", *harness.PATIENTLY, user=hint[1])
        self.assertEqual(run.status, 0, run)
        self.assertRegex(run.out, r"^lock_deadlock( \(likely\))?: rank 1 \(n1, ")

    # -- where nothing can be left or run -----------------------------------------------------------

    def test_a_node_that_does_not_share_the_folder_for_answers(self):
        job = self.start_star()
        shared = f"{self.folder}/shared"
        os.mkdir(shared, 0o700)
        made = self.lab.node_exec("n1", ["mount", "-t", "tmpfs", "tmpfs", shared])
        self.assertEqual(made.returncode, 0, made)
        self.addCleanup(self.lab.node_exec, "n1", ["umount", shared])
        report = self.report(job, "--via", shared)
        self.assertEqual(report["coverage"]["read"], 2, report)
        self.assertEqual(report["verdict"]["kind"], "io_stall", report)
        told = [note for note in report["notes"] if "--via" in note]
        self.assertEqual(len(told), 1, report["notes"])
        self.assertTrue(told[0].startswith("n1: the folder of --via is not shared by this node"), told)
        self.assertEqual(os.listdir(shared), [])

    def program_for_us_alone(self):
        """Returns the path of a copy that the nodes lack: they have a /dev/shm of their own."""
        folder = self.enterContext(tempfile.TemporaryDirectory(dir="/dev/shm", prefix="night-"))
        subprocess.run(["objcopy", "--strip-debug", Options.oddrank, f"{folder}/oddrank"],
                       check=True, timeout=120)
        return f"{folder}/oddrank"

    def forbid_programs(self, node, folder):
        made = self.lab.node_exec(node, ["sh", "-c", f"mount --bind {folder} {folder} && "
                                         f"mount -o remount,bind,noexec {folder}"])
        self.assertEqual(made.returncode, 0, made)
        self.addCleanup(self.lab.node_exec, node, ["umount", "-l", folder])

    def check_sent(self, program, job, words):
        """Checks the report, that it names the way of the copy, what the doctor says of it, and that
        nothing is left."""
        report = self.report(job, program=program)
        self.assertEqual(report["coverage"]["read"], 2, report)
        self.assertEqual(report["verdict"]["kind"], "io_stall", report)
        told = [note for note in report["notes"] if program in note]
        self.assertEqual(len(told), 1, report["notes"])
        self.assertIn(words, told[0])
        doctor = self.oddrank("doctor", "--job", job, program=program)
        self.assertEqual(doctor.status, 0, doctor)
        self.assertIn("program off (a copy in ", doctor.out)
        self.assertIn("program: put oddrank into a folder that all nodes share", doctor.out)
        for node in NODES:
            self.assertEqual(self.lab.node_exec(node, ["ls", "/dev/shm"]).stdout, "")
        # All nodes share /tmp with the tests that run beside this one.
        proc_facts.wait_until(lambda: not [name for name in os.listdir("/tmp") if COPY.match(name)],
                              "no copy is left in /tmp")

    def test_programs_may_not_be_run_from_tmp(self):
        """The copy goes into /dev/shm, and none stays in either folder."""
        job = self.start_star()
        for node in NODES:
            self.forbid_programs(node, "/tmp")
        self.check_sent(self.program_for_us_alone(), job, "n[0-1]: a copy was sent there, into /dev/shm")

    def test_programs_may_be_run_from_no_folder(self):
        """python3 runs it from memory. One node, since they share /tmp, where each deletes its copy."""
        job = self.start_star(nodes=1)
        for folder in ("/tmp", "/dev/shm"):
            self.forbid_programs("n0", folder)
        self.check_sent(self.program_for_us_alone(), job,
                        "n0: a copy was sent there, into /tmp, and run from memory")

    def test_programs_may_be_run_from_no_folder_and_python3_is_missing(self):
        """The reason is a row of the report, and the doctor says what would help."""
        job = self.start_star(nodes=1)
        program = self.program_for_us_alone()
        # Only what a client needs is in PATH, on the node as well.
        tools = self.enterContext(tempfile.TemporaryDirectory(prefix="oddrank-tools-"))
        for tool in ("srun", "scontrol", "squeue", "sinfo", "sbcast"):
            os.symlink(shutil.which(tool), f"{tools}/{tool}")
        for folder in ("/tmp", "/dev/shm"):
            self.forbid_programs("n0", folder)
        run = self.oddrank("job", job, program=program, extra_env={"PATH": tools})
        self.assertEqual(run.status, harness.NOTHING_READ, run)
        self.assertIn("no copy of it could be run", " ".join(run.out.split()), run)
        self.assertIn("python3", run.out)
        doctor = self.oddrank("doctor", "--job", job, program=program, extra_env={"PATH": tools})
        self.assertEqual(doctor.status, harness.NOTHING_READ, doctor)
        remedy = " ".join(doctor.out.split())
        self.assertIn("program: put oddrank into a folder that all nodes share", remedy, doctor)
        self.assertIn("--send-to", remedy, doctor)
        proc_facts.wait_until(lambda: not [name for name in os.listdir("/tmp") if COPY.match(name)],
                              "no copy is left in /tmp")

    # -- the watch --------------------------------------------------------------------------------

    def test_a_watch_says_at_once_that_it_cannot_save(self):
        job = self.start("step")
        file = f"{self.folder}/file"
        with open(file, "wb"):
            pass
        run = self.oddrank("watch", "--job", job, "--save", f"{file}/save", timeout=60)
        harness.check_trouble(self, run, "captures cannot be saved", "not a directory", status=1)
        beside = self.oddrank("watch", "--save", f"{file}/save", "--", "/bin/sleep", "1",
                              extra_env={"RANK": "0"})
        self.assertEqual(beside.status, 0, beside)
        proc_facts.wait_until(lambda: "captures cannot be saved" in beside.err, "the watcher says so")

    def watch(self, job, *options):
        """Starts `oddrank watch` on n0; returns it and a function for what it has said. (From here, jobs of
        that number in other clusters would be seen, too.)"""
        said = self.enterContext(open(f"{self.folder}/said", "w+b"))  # pylint: disable=consider-using-with
        watch = self.enterContext(subprocess.Popen(  # pylint: disable=consider-using-with
            self.lab.node_command("n0", [Options.oddrank, "watch", "--job", job, "--interval", "500ms",
                                         "--stalled-for", "2s", *options]),
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
            env=dict(os.environ, SLURM_CONF=self.lab.conf)))
        self.addCleanup(watch.terminate)
        return watch, lambda: " ".join(os.pread(said.fileno(), 1 << 20, 0).decode().split())

    def test_a_watch_of_sleepers_says_that_nothing_trains(self):
        job = self.submit("srun -N2 -n2 sleep 3600", "-N2", "-n2")
        watch, said = self.watch(job)
        proc_facts.wait_until(lambda: "nothing is watched" in said(), "the watch says so")
        self.assertIsNone(watch.poll())

    def test_a_watch_that_comes_after_the_hang(self):
        """It says when the rank last moved, by the kernel's word, and not its own start."""
        job = self.start_star()
        proc_facts.wait_until(lambda: [row for row in self.report(job)["ranks"]
                                       if row["rank"] == 0 and row["threads"][0]["quiet_s"] >= 5],
                              "rank 0 has waited for five seconds")
        began = time.time()
        _, said = self.watch(job)
        proc_facts.wait_until(lambda: "before this capture)" in said(), "an alarm")
        moved = re.search(r"rank 0 last moved at (\d+:\d+:\d+) \((\d+) s before this capture\)", said())
        self.assertIsNotNone(moved, said())
        self.assertIn(moved[1], [time.strftime("%H:%M:%S", time.localtime(began - ago)) for ago in range(5, 60)])
        self.assertGreaterEqual(int(moved[2]), 7, said())
        still = re.search(r"oddrank watch: rank 0 has not moved for ([0-9.]+) s", said())
        self.assertGreaterEqual(float(still[1]), 7, said())

    def test_a_command_that_does_not_exist(self):
        plain = self.lab.run_client(["srun", "-n1", "nosuchcmd"])
        watched = Run(self.lab.run_client(["srun", "-n1", Options.oddrank, "watch", "--", "nosuchcmd"]))
        self.assertNotEqual(plain.returncode, 0)
        self.assertEqual(watched.status, 127, watched)
        self.assertIn("cannot run nosuchcmd: no such file or directory", watched.err)


if __name__ == "__main__":
    harness.main(harness.needs_cluster)
