"""Numbers for throwaway clusters, so that several can live on one machine at once.

A slot k owns the subnet 10.77.k.0/24, the bridge oddrank<k> and a controller port. Whoever uses it
holds an flock on its file in REGISTRY; the kernel drops that lock when the holder dies, however it
dies. So a slot with a record but without a lock is what a crash left behind, and is cleaned before
it is used again.
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
# Only folders that carry this mark are ever removed.
TEMPORARY_PREFIX = "oddrank-lab-"


def quiet(*command, timeout=60):
    """Runs a command whose failure says that there was nothing to do."""
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=timeout, check=False).returncode


def start_time(pid):
    """Clock tick at which a process started; with the pid it names one process for ever."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return int(stat.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None


class Slot:
    """One number, ours until close() or death."""

    def __init__(self, number, lock_fd):
        self.number = number
        self._lock_fd = lock_fd
        self.bridge = f"oddrank{number}"
        self.subnet = f"10.77.{number}"
        self.controller_port = CONTROLLER_PORT_BASE + number

    def veth(self, index):
        """The host's end of a node's cable; the other end is the node's eth0."""
        return f"oddr{self.number}v{index}"

    def record(self, nodes, directory, temporary, pids):
        """Writes down what a successor has to clean if we die; call again as it grows."""
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
    """A file descriptor that holds the slot's lock, or None where somebody alive has it."""
    fd = os.open(f"{REGISTRY}/{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    except BlockingIOError:
        os.close(fd)
        return None


def clean_leftovers(number):
    """Ends and removes what the slot's record names. Call with its lock held."""
    entry = read_record(number)
    if entry is None:
        return
    for pid, started in entry["pids"]:
        if started is not None and start_time(pid) == started:
            with contextlib.suppress(ProcessLookupError):  # it dies with its keeper, just now
                os.kill(pid, signal.SIGKILL)
    for index in range(entry["nodes"]):
        quiet("ip", "link", "del", f"oddr{number}v{index}")
    quiet("ip", "link", "del", f"oddrank{number}")
    directory = entry["directory"]
    if entry["temporary"] and os.path.basename(directory).startswith(TEMPORARY_PREFIX):
        remove(directory)
    os.unlink(record_path(number))


def remove(directory):
    """Daemons that die with their keeper may write there until they have."""
    deadline = time.monotonic() + 60
    while os.path.exists(directory) and time.monotonic() < deadline:
        shutil.rmtree(directory, ignore_errors=True)
        time.sleep(0.01)


def in_use_by_others(number):
    """Whether somebody outside of this registry (another root, say) has the slot's resources."""
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
    """Numbers that have a record, used or left behind."""
    try:
        names = os.listdir(REGISTRY)
    except OSError:
        return []
    return sorted(int(name[:-5]) for name in names
                  if name.endswith(".json") and name[:-5].isdigit())


def sweep():
    """Cleans after every crashed cluster; those alive are left alone."""
    for number in known_slots():
        fd = try_lock(number)
        if fd is not None:
            clean_leftovers(number)
            os.close(fd)


def claim():
    """The lowest free slot, locked. Raises RuntimeError when all are taken."""
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
    """A fresh folder that any user may enter (munge's socket and slurm.conf lie in it)."""
    directory = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX)
    os.chmod(directory, 0o755)
    return directory
