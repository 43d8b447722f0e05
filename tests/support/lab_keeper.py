"""The process that keeps one throwaway SLURM cluster: it starts it, holds it, and takes it down.

Everything in the cluster is a child of the keeper with PR_SET_PDEATHSIG, and each node is a pid
namespace whose init dies with the keeper. So the cluster ends when the keeper gets SIGTERM, when
the process that requested it is gone (end of file on stdin), and when the keeper itself is killed.
In the last case only the bridge and a folder are left; the next cluster removes them (lab_slot.py).

Only cluster.py starts it. It reports that it is ready by writing state.json into the cluster's folder.
"""

import argparse
import contextlib
import ctypes
import errno
import glob
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

import lab_slot

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
LIBC = ctypes.CDLL(None, use_errno=True)

# Pid 1 of a node: reaps children and outlives its slurmd. A line on the FIFO starts slurmd (again).
NODE_INIT = """#!/bin/bash
# Pid 1 of one node of a throwaway cluster; see tests/support/lab_keeper.py.
lab=$1 node=$2
echo "$node" > /proc/sys/kernel/hostname
mount --bind "$lab/hosts" /etc/hosts
mount -t tmpfs tmpfs /dev/shm
while :; do
  read -r _ < "$lab/run/$node.wake" || continue
  slurmd -D -f "$lab/slurm.conf" &
  wait $!
done
"""

# TmpFS: nodes share /tmp here, and PMIx makes folders in it that are named after the step alone.
SLURM_CONF = """ClusterName=oddranklab
SlurmctldHost={host}({subnet}.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={lab}/munge/munge.sock
CredType=cred/munge
StateSaveLocation={lab}/state
SlurmdSpoolDir={lab}/spool/%n
SlurmctldPidFile={lab}/run/slurmctld.pid
SlurmdPidFile={lab}/run/slurmd.%n.pid
SlurmctldLogFile={lab}/log/slurmctld.log
SlurmdLogFile={lab}/log/slurmd.%n.log
ProctrackType=proctrack/{tracking}
TaskPlugin=task/{tasks}
JobAcctGatherType=jobacct_gather/{gathering}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=300
MessageTimeout={message_timeout}
BatchStartTimeout=120
KillWait=2
MinJobAge=3600
SlurmdParameters=config_overrides
GresTypes=gpu
TmpFS={lab}/tmp/%n
NodeName={names} NodeAddr={addresses} CPUs=2 RealMemory=4000 Gres=gpu:2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE DefMemPerCPU=2000 State=UP
"""


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def mount_propagation():
    """Returns the argument for `unshare --propagation` here, or None if no argument is safe.

    In a chroot the root is not a mount point and cannot be made private. The mounts of a node then
    stay inside its namespace only if the machine's own mounts are not shared.
    """
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        if any(line.split()[4] == "/" for line in mounts):
            return "private"
    with open("/proc/1/mountinfo", encoding="utf-8") as mounts:
        for line in mounts:
            fields = line.split()
            if "shared:" in line and not fields[4].startswith("/run/netns"):
                return None
    return "unchanged"


def cgroup_plugin(cgroups):
    """Returns the line that names a plugin: of version 1 with `cgroups`, else one that needs no cgroups. Without one in its configuration, slurmd
    looks for cgroups, and exits if there are none, or no systemd. Nothing here uses the plugin. SLURM
    before 22.05 knows no plugins."""
    version = subprocess.run(["slurmd", "-V"], capture_output=True, text=True, timeout=60,
                             check=False).stdout  # "slurm-wlm 22.05.8"
    match = re.search(r" (\d+)\.", version)
    number = int(match.group(1)) if match else 0
    if number < 22:
        return ""
    return "CgroupPlugin=" + ("cgroup/v1" if cgroups or number < 23 else "disabled")


def remove_cgroups(names):
    """Removes what slurmd of these nodes has left in the version 1 hierarchies."""
    for name in names:
        for top in glob.glob(f"/sys/fs/cgroup/*/slurm_{name}"):
            for folder, _, _ in os.walk(top, topdown=False):
                with contextlib.suppress(OSError):  # a process has not quite ended
                    os.rmdir(folder)


class Keeper:
    # pylint: disable-next=too-many-arguments,too-many-positional-arguments
    def __init__(self, directory, nodes, temporary, message_timeout, cgroups):
        self.lab = directory
        self.names = [f"n{index}" for index in range(nodes)]
        self.temporary = temporary
        self.message_timeout = message_timeout
        self.cgroups = cgroups
        self.slot = lab_slot.claim()
        self.children = {}  # name -> Popen
        LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    # -- starting ---------------------------------------------------------------------------------

    def start(self):
        self._write_files()
        self._record()
        self._start_munged()
        self._network()
        self._until(lambda: os.path.exists(f"{self.lab}/munge/munge.sock"), "munged takes no calls")
        self._spawn("slurmctld", ["slurmctld", "-D", "-c", "-f", f"{self.lab}/slurm.conf"])
        for name in self.names:
            self._wake(name)
        self._record()
        self._wait_idle()
        self._write_state()

    def _write_files(self):
        for folder in ("munge", "state", "spool", "run", "log"):
            os.makedirs(f"{self.lab}/{folder}", mode=0o755, exist_ok=True)
        for name in self.names:
            os.makedirs(f"{self.lab}/spool/{name}", mode=0o755, exist_ok=True)
            os.makedirs(f"{self.lab}/tmp/{name}", mode=0o755, exist_ok=True)
            os.chmod(f"{self.lab}/tmp/{name}", 0o1777)
            os.mkfifo(f"{self.lab}/run/{name}.wake", 0o600)
        host = socket.gethostname().partition(".")[0]
        addresses = [f"{self.slot.subnet}.{10 + index}" for index in range(len(self.names))]
        self._write("slurm.conf", SLURM_CONF.format(
            host=host, subnet=self.slot.subnet, port=self.slot.controller_port, lab=self.lab,
            message_timeout=self.message_timeout, names=",".join(self.names),
            addresses=",".join(addresses), tracking="cgroup" if self.cgroups else "linuxproc",
            tasks="cgroup" if self.cgroups else "none",
            gathering="cgroup" if self.cgroups else "linux"))
        for index in range(2):  # fake GPUs: any character device will do
            os.mknod(f"{self.lab}/run/gpu{index}", 0o20666, os.makedev(1, 3))
        self._write("gres.conf", f"NodeName={','.join(self.names)} Name=gpu "
                                 f"File={self.lab}/run/gpu[0-1]\n")
        self._write("cgroup.conf", cgroup_plugin(self.cgroups) + "\nConstrainCores=no\n")
        rows = ["127.0.0.1 localhost", f"{self.slot.subnet}.1 {host}"]
        rows += [f"{address} {name}" for address, name in zip(addresses, self.names)]
        self._write("hosts", "\n".join(rows) + "\n")
        self._write("run/node-init.sh", NODE_INIT)
        if not os.path.exists("/etc/hosts"):  # a mount point for the nodes' own folder; minimal roots lack it
            with open("/etc/hosts", "w", encoding="utf-8") as hosts:
                hosts.write("127.0.0.1 localhost\n")

    def _write(self, name, text):
        with open(f"{self.lab}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def _spawn(self, name, command):
        with open(f"{self.lab}/log/{name}.out", "ab") as log:
            # pylint: disable=subprocess-popen-preexec-fn,consider-using-with
            self.children[name] = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                preexec_fn=die_with_parent, start_new_session=True)

    def _start_munged(self):
        munge = f"{self.lab}/munge"
        with open(f"{munge}/munge.key", "wb") as key:
            os.fchmod(key.fileno(), 0o400)
            key.write(os.urandom(1024))
        self._spawn("munged", ["munged", "--foreground", f"--key-file={munge}/munge.key",
                               f"--socket={munge}/munge.sock", f"--pid-file={munge}/munged.pid",
                               f"--log-file={self.lab}/log/munged.log",
                               f"--seed-file={munge}/munged.seed"])

    def _network(self):
        slot, propagation = self.slot, mount_propagation()
        if propagation is None:
            raise RuntimeError("mounts of a node would leak to the machine")
        for name in self.names:
            self._spawn(name, ["unshare", "--net", "--uts", "--ipc", "--pid", "--mount",
                               f"--propagation={propagation}", "--fork", "--kill-child=KILL",
                               "--mount-proc", "bash", f"{self.lab}/run/node-init.sh", self.lab,
                               name])
        self._ip(["link", "add", slot.bridge, "type", "bridge"],
                 ["addr", "add", f"{slot.subnet}.1/24", "dev", slot.bridge],
                 ["link", "set", slot.bridge, "up"])
        ours = os.stat("/proc/self/ns/net").st_ino
        for index, name in enumerate(self.names):
            pid = self.children[name].pid
            self._until(lambda p=pid: os.stat(f"/proc/{p}/ns/net").st_ino != ours,
                        f"node {name} has no network namespace")
            self._ip(["link", "add", slot.veth(index), "type", "veth", "peer", "name", "eth0",
                      "netns", str(pid)],
                     ["link", "set", slot.veth(index), "master", slot.bridge, "up"])
            self._ip(["link", "set", "lo", "up"],
                     ["addr", "add", f"{slot.subnet}.{10 + index}/24", "dev", "eth0"],
                     ["link", "set", "eth0", "up"], netns_of=pid)

    @staticmethod
    def _ip(*lines, netns_of=None):
        enter = ["nsenter", f"--net=/proc/{netns_of}/ns/net"] if netns_of else []
        batch = "".join(" ".join(line) + "\n" for line in lines)
        subprocess.run(enter + ["ip", "-batch", "-"], input=batch, text=True, check=True,
                       timeout=60)

    def _wake(self, name):
        def write():
            try:
                fd = os.open(f"{self.lab}/run/{name}.wake", os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != errno.ENXIO:  # no reader yet
                    raise
                return False
            os.write(fd, b"go\n")
            os.close(fd)
            return True
        self._until(write, f"the init of node {name} does not come up")

    def _wait_idle(self):
        environment = dict(os.environ, SLURM_CONF=f"{self.lab}/slurm.conf")

        def idle():
            try:
                rows = subprocess.run(["sinfo", "-h", "-N", "-o", "%t"], env=environment,
                                      capture_output=True, text=True, timeout=5, check=False)
            except subprocess.TimeoutExpired:
                return False
            return rows.stdout.split() == ["idle"] * len(self.names)
        self._until(idle, "the nodes do not become idle", seconds=120, every=0.05)

    def _until(self, fact, complaint, seconds=60, every=0.01):
        deadline = time.monotonic() + seconds
        while not fact():
            dead = [name for name, child in self.children.items() if child.poll() is not None]
            if dead:
                raise RuntimeError(f"{', '.join(dead)} ended at start")
            if time.monotonic() > deadline:
                raise RuntimeError(f"{complaint} within {seconds} s")
            time.sleep(every)

    # -- bookkeeping ------------------------------------------------------------------------------

    def _record(self):
        self.slot.record(len(self.names), self.lab, self.temporary,
                         [child.pid for child in self.children.values()])

    def _write_state(self):
        children = {name: child.pid for name, child in self.children.items()}
        state = {"slot": self.slot.number, "keeper": os.getpid(),
                 "keeper_started": lab_slot.start_time(os.getpid()), "nodes": self.names,
                 "subnet": self.slot.subnet, "pids": children}
        self._write("state.json.new", json.dumps(state, indent=1) + "\n")
        os.rename(f"{self.lab}/state.json.new", f"{self.lab}/state.json")

    # -- holding and ending -----------------------------------------------------------------------

    def hold(self, lifeline, signals):
        """Waits for a signal, or until the other end of `lifeline` (if any) is closed."""
        watched = [signals] + ([lifeline] if lifeline is not None else [])
        while True:
            ready, _, _ = select.select(watched, [], [], 1.0)
            if signals in ready:
                numbers = os.read(signals, 64)
                if any(number != signal.SIGCHLD for number in numbers):
                    return
            if lifeline in ready and not os.read(lifeline, 64):
                return
            self._reap()

    def _reap(self):
        """Reaps children, and orphans of our children, because process 1 of a container may not do it.
        Returns False if none is left."""
        ours = {child.pid: (name, child) for name, child in self.children.items()}
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if ended is None:
                return True
            if ended.si_pid in ours:
                name, child = ours[ended.si_pid]
                print(f"{name} (pid {child.pid}) ended with {child.wait()}", flush=True)
            else:
                os.waitpid(ended.si_pid, 0)

    def stop(self):
        for name in self.names:  # each takes its pid namespace with it
            if name in self.children:
                self._end(name, signal.SIGKILL)
        for name in ("slurmctld", "munged"):  # their state is thrown away, so they are killed
            if name in self.children:
                self._end(name, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while self._reap() and time.monotonic() < deadline:
            time.sleep(0.01)
        self.children.clear()
        if self.cgroups:
            remove_cgroups(self.names)
        self.slot.clean()
        for folder in ("munge", "state", "spool", "tmp", "run"):
            shutil.rmtree(f"{self.lab}/{folder}", ignore_errors=True)
        for name in ("state.json", "slurm.conf", "gres.conf", "cgroup.conf", "hosts"):
            if os.path.exists(f"{self.lab}/{name}"):
                os.unlink(f"{self.lab}/{name}")
        self.slot.close()

    def _end(self, name, number):
        child = self.children[name]
        if child.poll() is None:
            child.send_signal(number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--temporary", action="store_true")
    parser.add_argument("--detached", action="store_true", help="live without an owner on stdin")
    parser.add_argument("--message-timeout", type=int, default=10)
    parser.add_argument("--cgroups", action="store_true")
    options = parser.parse_args()

    signals, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)
    keeper = Keeper(options.directory, options.nodes, options.temporary, options.message_timeout,
                    options.cgroups)
    try:
        keeper.start()
        keeper.hold(None if options.detached else 0, signals)
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        print(f"cannot start the cluster: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        keeper.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
