#!/usr/bin/env python3
"""What an engineer may meet at night on a cluster: jobs that move, hang or have ended in ways that are easily
taken for one another, and jobs that are hard to name."""

import glob
import json
import os
import re
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                                "support"))
# pylint: disable=wrong-import-position
import cluster
import harness
import proc_facts
from harness import Options, Run
from night_lab import RANK, NightLab

# How rank 1 ends, and what SLURM says of it.
ENDS = {"ended": "exit code 0", "failed": "exit code 3", "killed": "killed by signal 9"}


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


class NightTest(NightLab):
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
        job = self.check_lock("unshare --map-root-user --mount --pid --fork --kill-child --mount-proc")
        for pid in self.ranks_of(job, 2):  # if unshare ends first, SLURM may wait a minute, and drain the node
            os.kill(pid, signal.SIGKILL)

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
        job = self.submit("srun -N2 -n2 --overlap --overcommit --mem=0 sleep 3600 & "
                          "srun -N2 -n2 --overlap --overcommit --mem=0 "
                          f"/usr/bin/python3 {RANK} {self.folder} step & wait",
                          "-N2", "-n2", "--overcommit")
        proc_facts.wait_until(lambda: self.ranks_of(job, 2) and len(self.steps(job)) == 2, "both steps run")
        steps = self.steps(job)
        self.assertEqual({state for _, state in steps.values()}, {"RUNNING"}, steps)
        self.assertIn("left out (no training)", " ".join(self.report(job)["notes"]))
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
        job = self.start(how, nodes=nodes, connects=False)
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

    def test_what_is_odd_about_a_node_or_its_set_up(self):
        """Notes beside the verdict: who differs, and which node lacks something."""
        for command in ("mount -t tmpfs -o size=1m tmpfs /dev/shm", "head -c 1000000 /dev/zero >/dev/shm/full"):
            made = self.lab.node_exec("n1", ["sh", "-c", command])
            self.assertEqual(made.returncode, 0, made)
        self.addCleanup(self.lab.node_exec, "n1", ["umount", "-l", "/dev/shm"])
        job = self.start("step", "bash -c '[ $SLURM_PROCID = 0 ] || export NCCL_ALGO=Tree; exec \"$@\"' bash")
        report = self.report(job)
        self.assertIn(report["verdict"]["kind"], ("healthy", "slow"), report)
        notes = "\n".join(report["notes"])
        self.assertRegex(notes, r"the set-up differs: rank 0 \(n0\) has no NCCL_ALGO, rank 1 \(n1\) has NCCL_ALGO=Tree")
        self.assertRegex(notes, r"n1: /dev/shm of pid \d+ is 9\d% full")
        self.assertNotIn("n0: /dev/shm", notes)

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

if __name__ == "__main__":
    harness.main(harness.needs_cluster)
