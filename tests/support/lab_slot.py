"""Numbers for throwaway clusters, so that several can run on one machine at once.

A slot k owns the subnet 10.77.k.0/24, the bridge oddrank<k> and a controller port. Its user holds an
flock on its file in REGISTRY. The kernel drops that lock when the holder dies, however it dies. So a slot
with a record but without a lock was left behind by a crash, and is cleaned before it is used again.
"""

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

REGISTRY = "/run/oddrank-lab"
LAST_SLOT = 250
CONTROLLER_PORT_BASE = 17000
# Only folders with this mark are ever removed.
TEMPORARY_PREFIX = "oddrank-lab-"


def quiet(*command, timeout=60):
    """Runs a command that fails if there is nothing to do."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=timeout, check=False).returncode


def start_time(pid):
    """Returns the clock tick at which a process started; with the pid it identifies one process for ever."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


class Slot:
    """One number, ours until close() or our death."""

    def __init__(self, number, lock_fd):
        self.number = number
        self._lock_fd = lock_fd
        self.bridge = f"oddrank{number}"
        self.subnet = f"10.77.{number}"
        self.controller_port = CONTROLLER_PORT_BASE + number

    def veth(self, index):
        """Returns the name of the host's end of a node's veth pair; the other end is the node's eth0."""
        return f"oddr{self.number}v{index}"

    def record(self, nodes, directory, temporary, pids):
        """Records what a successor must clean up if we die; call it again as that grows."""
        entry = {"nodes": nodes, "directory": directory, "temporary": temporary,
                 "keeper": [os.getpid(), start_time(os.getpid())],
                 "pids": [[pid, start_time(pid)] for pid in pids]}
        path = record_path(self.number)
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(entry, file)
        os.rename(path + ".new", path)

    def clean(self):
        clean_leftovers(self.number)

    def close(self):
        os.close(self._lock_fd)


def record_path(number):
    return f"{REGISTRY}/{number}.json"


def read_record(number):
    try:
        with open(record_path(number), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def try_lock(number):
    """Returns a file descriptor that holds the slot's lock, or None if a live process has it."""
    fd = os.open(f"{REGISTRY}/{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    except BlockingIOError:
        os.close(fd)
        return None


def clean_leftovers(number):
    """Ends and removes what the slot's record names. Call it with the lock held."""
    entry = read_record(number)
    if entry is None:
        return
    for pid, started in entry["pids"]:
        if started is not None and start_time(pid) == started:
            with contextlib.suppress(ProcessLookupError):  # it is dying with its keeper
                os.kill(pid, signal.SIGKILL)
    for index in range(entry["nodes"]):
        quiet("ip", "link", "del", f"oddr{number}v{index}")
    quiet("ip", "link", "del", f"oddrank{number}")
    directory = entry["directory"]
    if entry["temporary"] and os.path.basename(directory).startswith(TEMPORARY_PREFIX):
        remove(directory)
    os.unlink(record_path(number))


def remove(directory):
    """Removes the folder. Daemons that die with their keeper may write there until they are dead."""
    deadline = time.monotonic() + 60
    while os.path.exists(directory) and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.01)


def in_use_by_others(number):
    """Returns whether a user outside this registry (in another root, say) has the slot's resources."""
    if os.path.exists(f"/sys/class/net/oddrank{number}"):
        return True
    addresses = subprocess.run(["ip", "-o", "-4", "addr", "show"], capture_output=True, text=True,
                               timeout=60, check=False).stdout
    routes = subprocess.run(["ip", "-4", "route", "show"], capture_output=True, text=True,
                            timeout=60, check=False).stdout
    if f" 10.77.{number}." in addresses or f"10.77.{number}." in routes:
        return True
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("0.0.0.0", CONTROLLER_PORT_BASE + number))
        except OSError:
            return True
    return False


def known_slots():
    """Returns the numbers that have a record, in use or left behind."""
    try:
        names = os.listdir(REGISTRY)
    except OSError:
        return []
    return sorted(int(name[:-5]) for name in names
                  if name.endswith(".json") and name[:-5].isdigit())


def sweep():
    """Cleans up after every crashed cluster; live ones are left alone."""
    for number in known_slots():
        fd = try_lock(number)
        if fd is not None:
            clean_leftovers(number)
            os.close(fd)


def claim():
    """Returns the lowest free slot, locked. Raises RuntimeError if all are taken."""
    os.makedirs(REGISTRY, mode=0o755, exist_ok=True)
    sweep()
    for number in range(1, LAST_SLOT + 1):
        fd = try_lock(number)
        if fd is None:
            continue
        clean_leftovers(number)
        if not in_use_by_others(number):
            return Slot(number, fd)
        os.close(fd)
    raise RuntimeError(f"all {LAST_SLOT} cluster numbers are in use; see `cluster.py status`")


def temporary_directory():
    """Makes a new folder that any user may enter (for munge's socket and slurm.conf)."""
    directory = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX)
    os.chmod(directory, 0o755)
    return directory
