#!/usr/bin/env python3
"""Makes a throwaway SLURM cluster on this machine: N nodes, each with its own network, pid, mount, ipc and
host name, a real slurmd in each, and a real slurmctld. It starts in about two seconds.

    from cluster import Cluster
    with Cluster() as lab:
        job = lab.submit("job.sh")
        lab.wait_job_running(job)
        lab.run_client(["oddrank", "job", job])

    cluster.py up [DIR]      starts a cluster that stays, and prints its folder
    cluster.py env DIR       prints the lines for a shell to eval:  eval "$(cluster.py env DIR)"
    cluster.py down DIR      ends it (does nothing if it is already down)
    cluster.py status        lists the clusters of this machine
    cluster.py check         says whether this machine permits such a cluster, and if not, why

Needs root, and the packages slurm-wlm, munge, iproute2 and util-linux. Several clusters can run at once
(lab_slot.py). Each ends with the process that started it, except after `up` (lab_keeper.py). Every call
to a SLURM client has a deadline.
"""

import argparse
import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
# pylint: disable=wrong-import-position
import json

import lab_keeper
import lab_slot
import proc_facts

TOOLS = ("slurmctld", "slurmd", "munged", "sinfo", "srun", "sbatch", "ip", "nsenter", "unshare")
START_LIMIT_S = 240
SLURMD_PORT = 6818
# Debian's folders for daemons, which are not always in the PATH of a user or of ctest.
SBIN = "/usr/local/sbin:/usr/sbin:/sbin"


class ClusterError(RuntimeError):
    pass


def daemon_path():
    return os.environ.get("PATH", "/usr/bin:/bin") + ":" + SBIN


def can_namespaces():
    """Returns None if this machine permits a cluster, otherwise the reason why not."""
    if os.geteuid() != 0:
        return "a throwaway cluster needs root (namespaces, a bridge)"
    missing = [tool for tool in TOOLS if shutil.which(tool, path=daemon_path()) is None]
    if missing:
        return f"not installed: {', '.join(missing)} (scripts/setup installs them)"
    propagation = lab_keeper.mount_propagation()
    if propagation is None:
        return ("this root is a chroot on a machine with shared mounts; "
                "`mount --bind ROOT ROOT` before chroot makes it usable")
    probe = ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount",
             f"--propagation={propagation}", "--fork", "--kill-child=KILL", "--mount-proc",
             "ip", "link", "add", "probe0", "type", "bridge"]
    result = subprocess.run(probe, capture_output=True, text=True, timeout=120, check=False,
                            env=dict(os.environ, PATH=daemon_path()))
    if result.returncode != 0:
        return f"namespaces or bridges are not permitted here: {result.stderr.strip()}"
    return None


class Cluster:
    """One cluster. Use it as a context manager; on an exception it prints the ends of the logs to stderr.
    `cgroups`: slurmd keeps track of processes by cgroups of version 1."""

    def __init__(self, nodes=4, directory=None, message_timeout=30, cgroups=False):
        self._count = nodes
        self._cgroups = cgroups
        self._message_timeout = message_timeout
        self._temporary = directory is None
        self.directory = os.path.abspath(directory) if directory else None
        self._keeper = None
        self._state = None

    # -- life -------------------------------------------------------------------------------------

    def __enter__(self):
        return self.start()

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.logs(), file=sys.stderr)
        self.stop()

    def start(self, detached=False):
        """Returns when all nodes are idle. Otherwise raises ClusterError with the ends of the logs."""
        if self.directory is None:
            self.directory = lab_slot.temporary_directory()
        os.makedirs(self.directory, mode=0o755, exist_ok=True)
        keeper = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lab_keeper.py")
        command = [sys.executable, keeper, self.directory, f"--nodes={self._count}",
                   f"--message-timeout={self._message_timeout}"]
        command += ["--temporary"] if self._temporary else []
        command += ["--detached"] if detached else []
        command += ["--cgroups"] if self._cgroups else []
        with tempfile.TemporaryFile() as said:
            # pylint: disable=consider-using-with
            self._keeper = subprocess.Popen(
                command, stdin=subprocess.DEVNULL if detached else subprocess.PIPE, stdout=said,
                stderr=said, start_new_session=True, env=self._environment())
            try:
                proc_facts.wait_until(self._started, "the cluster is up", START_LIMIT_S, 0.02)
            except BaseException as error:
                logs = self.logs()
                self.stop()
                said.seek(0)
                text = said.read().decode(errors="replace")
                if isinstance(error, (ClusterError, TimeoutError)):
                    raise ClusterError(f"{error}\n{text}{logs}") from error
                raise
        return self

    def _started(self):
        if self._keeper.poll() is not None:
            raise ClusterError(f"the cluster's keeper ended with {self._keeper.returncode}")
        try:
            self._state = read_state(self.directory)
        except ClusterError:
            return False
        return True

    def stop(self):
        """Ends everything and waits for it. Safe to call twice."""
        if self._keeper is not None:
            if self._keeper.stdin is not None:
                self._keeper.stdin.close()
            if self._keeper.poll() is None:
                self._keeper.send_signal(signal.SIGTERM)
            try:
                self._keeper.wait(120)
            except subprocess.TimeoutExpired:
                self._keeper.kill()  # its children die with it
                self._keeper.wait(60)
            lab_slot.sweep()
            self._keeper = None
        if self._temporary and self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)

    @classmethod
    def attach(cls, directory):
        """Returns a cluster that `up` started; stop() of this object leaves it running."""
        lab = cls(directory=directory)
        lab._state = read_state(lab.directory)
        return lab

    # -- clients ----------------------------------------------------------------------------------

    @property
    def conf(self):
        return f"{self.directory}/slurm.conf"

    @property
    def nodes(self):
        return list(self._state["nodes"])

    def _environment(self, extra=None):
        # SLURM_* variables of an outer job would mislead the clients.
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("SLURM_", "SLURMD_"))}
        environment.update(PATH=daemon_path(), SLURM_CONF=f"{self.directory}/slurm.conf")
        environment.update(extra or {})
        return environment

    def run_client(self, command, timeout=180, user=None, extra_env=None, cwd=None):
        """Runs a command as on a login node; returns a CompletedProcess with text. Raises TimeoutExpired."""
        identity = {}
        if user is not None:
            entry = pwd.getpwnam(user)
            identity = {"user": entry.pw_uid, "group": entry.pw_gid,
                        "extra_groups": os.getgrouplist(user, entry.pw_gid)}
        return subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False,
                              cwd=cwd or "/", env=self._environment(extra_env), **identity)

    def submit(self, script, *options, user=None, extra_env=None, cwd=None):
        """Submits a batch script and returns the job's id as a string."""
        result = self.run_client(["sbatch", "--parsable", *options, script], user=user,
                                 extra_env=extra_env, cwd=cwd)
        if result.returncode != 0:
            raise ClusterError(f"sbatch: {result.stderr.strip()}")
        return result.stdout.strip().partition(";")[0]

    def job_state(self, job):
        """Returns RUNNING, PENDING, COMPLETED...; '' if the controller does not know the job."""
        def answer():
            result = self.run_client(["scontrol", "show", "job", "-o", job])
            # squeue, munged and the controller have time limits of their own, unrelated to the job.
            unknown = "Invalid job id" in result.stderr
            return re.findall(r"\bJobState=(\w+)", result.stdout) or (unknown and [""])
        return proc_facts.wait_until(answer, f"the controller tells of job {job}")[0]

    def wait_job_state(self, job, states, seconds=240):
        return proc_facts.wait_until(
            lambda: self.job_state(job) in states and self.job_state(job),
            f"job {job} is {' or '.join(states)}", seconds, 0.1)

    def wait_job_running(self, job):  # the nodes may have to be freed first
        self.wait_job_state(job, ("RUNNING",))

    def cancel(self, job):
        self.run_client(["scancel", job])

    # -- nodes ------------------------------------------------------------------------------------

    def node_init(self, node):
        """Returns the pid, as seen from here, of a node's process 1."""
        inits = proc_facts.children(self._state["pids"][node])
        if not inits:
            raise ClusterError(f"node {node} is down")
        return inits[0]

    def node_command(self, node, command):
        """Returns the command that runs another one on a node, as ssh would."""
        return ["nsenter", f"--target={self.node_init(node)}", "--mount", "--uts", "--ipc", "--net",
                "--pid", "--root", "--wd", *(str(part) for part in command)]

    def node_exec(self, node, command, timeout=120, **options):
        """Runs a command on a node, as ssh would."""
        return subprocess.run(self.node_command(node, command), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=timeout, check=False,
                              env=self._environment(), **options)

    def node_pids(self, node, space="pid"):
        """Returns the pids of all processes of a node, as seen from here. `space`: the namespace that they
        share; "net" adds those in containers."""
        own = os.stat(f"/proc/{self.node_init(node)}/ns/{space}").st_ino

        def inside(pid):
            try:
                return os.stat(f"/proc/{pid}/ns/{space}").st_ino == own
            except OSError:
                return False
        return [pid for pid in proc_facts.pids() if inside(pid)]

    def slurmd(self, node):
        """Returns the pid, as seen from here, of a node's slurmd; None while it is dead."""
        for pid in proc_facts.children(self.node_init(node)):
            if proc_facts.comm(pid) == "slurmd":
                return pid
        return None

    def signal_slurmd(self, node, number):
        pid = self.slurmd(node)
        if pid is None:
            raise ClusterError(f"node {node} has no slurmd")
        os.kill(pid, number)

    def stop_slurmd(self, node):
        self.signal_slurmd(node, signal.SIGSTOP)

    def continue_slurmd(self, node):
        self.signal_slurmd(node, signal.SIGCONT)

    def kill_slurmd(self, node):
        """Kills a node's slurmd; the ranks of the node go on without it."""
        self.signal_slurmd(node, signal.SIGKILL)
        proc_facts.wait_until(lambda: self.slurmd(node) is None, f"slurmd of {node} is dead")

    def restart_slurmd(self, node):
        """After kill_slurmd: starts a new slurmd on the same node; returns when it accepts requests."""
        with open(f"{self.directory}/run/{node}.wake", "w", encoding="ascii") as wake:
            wake.write("go\n")
        self.wait_listens(node, SLURMD_PORT)

    def wait_listens(self, node, port):
        proc_facts.wait_until(lambda: proc_facts.listens(self.node_init(node), port),
                              f"somebody listens on port {port} of {node}")

    @property
    def controller(self):
        """Returns the pid of slurmctld."""
        return self._state["pids"]["slurmctld"]

    def stop_controller(self):
        os.kill(self.controller, signal.SIGSTOP)

    def continue_controller(self):
        """Continues it; returns when it has handled the requests that arrived meanwhile."""
        os.kill(self.controller, signal.SIGCONT)
        proc_facts.wait_until(lambda: self.run_client(["squeue", "-h"]).returncode == 0,
                              "the controller answers again")

    # -- when things go wrong ---------------------------------------------------------------------

    def logs(self, lines=12):
        """Returns the ends of the daemons' logs, with their names."""
        folder = f"{self.directory}/log"
        parts = []
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
            if not name.endswith(".out"):  # *.log has the same text
                continue
            with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as file:
                tail = file.readlines()[-lines:]
            if tail:
                parts.append(f"--- {name}\n{''.join(tail)}")
        return "".join(parts)


def read_state(directory):
    try:
        with open(f"{directory}/state.json", encoding="utf-8") as file:
            state = json.load(file)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no cluster in {directory}: {error}") from error
    if lab_slot.start_time(state["keeper"]) != state["keeper_started"]:
        raise ClusterError(f"the cluster in {directory} is dead")
    return state


def command_up(directory, nodes):
    reason = can_namespaces()
    if reason:
        print(f"cluster: {reason}", file=sys.stderr)
        return 77
    if directory is not None:
        try:
            read_state(directory)
            print(os.path.abspath(directory))
            return 0  # already up
        except ClusterError:
            pass
    lab = Cluster(nodes, directory)
    began = time.monotonic()
    lab.start(detached=True)
    print(f"cluster: {nodes} nodes idle after {time.monotonic() - began:.1f} s", file=sys.stderr)
    print(lab.directory)
    return 0


def command_down(directory):
    try:
        state = read_state(directory)
    except ClusterError:
        lab_slot.sweep()
        return 0
    os.kill(state["keeper"], signal.SIGTERM)
    try:
        proc_facts.wait_until(lambda: lab_slot.read_record(state["slot"]) is None
                              or proc_facts.has_ended(state["keeper"]),
                              "the cluster's keeper has ended", 120)
    except TimeoutError:
        os.kill(state["keeper"], signal.SIGKILL)
    lab_slot.sweep()
    return 0


def command_status():
    lab_slot.sweep()
    for number in lab_slot.known_slots():
        entry = lab_slot.read_record(number)
        if entry:
            print(f"cluster {number}: {entry['nodes']} nodes, keeper {entry['keeper'][0]}, "
                  f"{entry['directory']}")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    up = actions.add_parser("up")
    up.add_argument("directory", nargs="?")
    up.add_argument("--nodes", type=int, default=4)
    for name in ("down", "env"):
        actions.add_parser(name).add_argument("directory")
    actions.add_parser("status")
    actions.add_parser("check")
    options = parser.parse_args()
    try:
        if options.action == "up":
            return command_up(options.directory, options.nodes)
        if options.action == "down":
            return command_down(options.directory)
        if options.action == "status":
            return command_status()
        if options.action == "check":
            print(can_namespaces() or "a cluster can be had here")
            return 77 if can_namespaces() else 0
        read_state(options.directory)
        directory = os.path.abspath(options.directory)
        print(f"export SLURM_CONF={shlex.quote(directory + '/slurm.conf')}")
        return 0
    except (ClusterError, TimeoutError) as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
