"""Facts about processes from /proc, for tests that wait for facts instead of sleeping."""

import os
import time


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # gone, or not ours to read
        return b""


def environ(pid):
    rows = _read(f"/proc/{pid}/environ").split(b"\0")
    pairs = (row.partition(b"=") for row in rows if b"=" in row)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def status(pid, tid=None):
    """/proc/PID/status as a dict of strings; empty if the process is gone."""
    path = f"/proc/{pid}/status" if tid is None else f"/proc/{pid}/task/{tid}/status"
    rows = (row.partition(":") for row in _read(path).decode(errors="replace").splitlines())
    return {key: value.strip() for key, _, value in rows}


def state(pid):
    """One letter as in ps (R S D T t Z), '' if the process is gone."""
    return status(pid).get("State", "")[:1]


def parent(pid):
    return int(status(pid).get("PPid", "0") or 0)


def children(pid):
    return [child for child in pids() if parent(child) == pid]


def comm(pid):
    return _read(f"/proc/{pid}/comm").decode(errors="replace").strip()


def namespace_pid(pid):
    """The pid by which the process knows itself."""
    names = status(pid).get("NSpid", "").split()
    return int(names[-1]) if names else 0


def syscall(pid):
    """(number, first argument) of a blocked main thread, None where it runs or is gone."""
    fields = _read(f"/proc/{pid}/syscall").split()
    if len(fields) < 3 or fields[0] == b"-1":
        return None
    return int(fields[0]), int(fields[1], 16)


def fd_is(pid, fd, path):
    """Whether the descriptor is that file. By inode: the process may see it by another name, from
    another mount namespace or root."""
    try:
        there, here = os.stat(f"/proc/{pid}/fd/{fd}"), os.stat(path)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def wake_ups(pid):
    """How often the main thread gave up its CPU; 0 where it is gone."""
    return int(status(pid).get("voluntary_ctxt_switches", 0))


def switches(pid):
    """Voluntary and other context switches of all threads: equal twice means that nothing ran."""
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return {}
    rows = {tid: status(pid, tid) for tid in tids}
    return {tid: (row.get("voluntary_ctxt_switches"), row.get("nonvoluntary_ctxt_switches"))
            for tid, row in rows.items()}


def sleeping(pid):
    """Whether the main thread is blocked and stays so over two looks 50 ms apart."""
    def look():
        row = status(pid)
        return row.get("State", "")[:1], row.get("voluntary_ctxt_switches")
    first = look()
    time.sleep(0.05)
    return first[0] in ("S", "D", "T") and look() == first


def stolen(cpu):
    """Seconds since boot that a hypervisor took from this CPU."""
    rows = (row.split() for row in _read("/proc/stat").decode().splitlines())
    return sum(int(row[8]) for row in rows if row[0] == f"cpu{cpu}") / os.sysconf("SC_CLK_TCK")


def wait_until(fact, what, seconds=60.0, every=0.05):
    """Polls until `fact()` is true and returns its value; TimeoutError names `what` otherwise."""
    deadline = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(every)
