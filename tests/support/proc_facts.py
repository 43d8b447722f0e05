"""Facts about processes from /proc, for tests that wait for facts instead of sleeping."""

import os
import platform
import time

# Numbers of system calls. aarch64 has only the newer form of each: poll() and pause() make ppoll there,
# epoll_wait() makes epoll_pwait.
if platform.machine() == "aarch64":
    READ, WRITE, POLL, PAUSE, NANOSLEEP, RECVFROM = 63, 64, 73, 73, 101, 207
    WAIT4, FCNTL, FLOCK, FSYNC, FUTEX, CLOCK_NANOSLEEP, EPOLL_WAIT = 260, 25, 32, 82, 98, 115, 22
    SELECTS = (72,)  # pselect6
else:
    READ, WRITE, POLL, PAUSE, NANOSLEEP, RECVFROM = 0, 1, 7, 34, 35, 45
    WAIT4, FCNTL, FLOCK, FSYNC, FUTEX, CLOCK_NANOSLEEP, EPOLL_WAIT = 61, 72, 73, 74, 202, 230, 232
    SELECTS = (23, 270)  # select, pselect6
TCP_LISTEN = "0A"


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:  # the process is gone, or we may not read it
        return b""


def environ(pid):
    rows = _read(f"/proc/{pid}/environ").split(b"\0")
    pairs = (row.partition(b"=") for row in rows if b"=" in row)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


def status(pid, tid=None):
    """Returns /proc/PID/status as a dict of strings; empty if the process is gone."""
    path = f"/proc/{pid}/status" if tid is None else f"/proc/{pid}/task/{tid}/status"
    rows = (row.partition(":") for row in _read(path).decode(errors="replace").splitlines())
    return {key: value.strip() for key, _, value in rows}


def state(pid):
    """Returns one letter as in ps (R S D T t Z), '' if the process is gone."""
    return status(pid).get("State", "")[:1]


def has_ended(pid):
    """Returns whether the process is gone, or a zombie."""
    return state(pid) in ("", "Z")


def parent(pid):
    return int(status(pid).get("PPid", "0") or 0)


def children(pid):
    return [child for child in pids() if parent(child) == pid]


def comm(pid):
    return _read(f"/proc/{pid}/comm").decode(errors="replace").strip()


def command_line(pid):
    """Returns the words of its command line, joined by blanks; "" if it is gone."""
    return os.fsdecode(_read(f"/proc/{pid}/cmdline").replace(b"\0", b" ")).strip()


def namespace_pid(pid):
    """Returns the pid by which the process knows itself."""
    names = status(pid).get("NSpid", "").split()
    return int(names[-1]) if names else 0


def syscall(pid):
    """Returns (number, first argument) of a blocked main thread's call, None if it runs or is gone."""
    fields = _read(f"/proc/{pid}/syscall").split()
    if len(fields) < 3 or fields[0] == b"-1":
        return None
    return int(fields[0]), int(fields[1], 16)


def in_call(pid, *numbers):
    """Returns whether the main thread is blocked in one of these system calls."""
    call = syscall(pid)
    return call is not None and call[0] in numbers


def threads(pid):
    """Returns the tids, the main thread's first; none if the process is gone."""
    try:
        return sorted(map(int, os.listdir(f"/proc/{pid}/task")), key=lambda tid: (tid != pid, tid))
    except OSError:
        return []


def wants_lock(tid):
    """Returns whether the thread is blocked in futex() without a time limit. A thread that only wants
    Python's GIL waits there too, but with a time limit."""
    fields = _read(f"/proc/{tid}/syscall").split()
    return len(fields) > 4 and int(fields[0]) == FUTEX and int(fields[4], 16) == 0


def asleep(pid):
    """Returns whether the main thread is in a sleep of its program: Python's or the C library's."""
    return in_call(pid, NANOSLEEP, CLOCK_NANOSLEEP, *SELECTS)


def opens_pipe(pid):
    """Returns whether one of its threads opens a named pipe of which nobody has the other end."""
    return any(_read(f"/proc/{pid}/task/{tid}/wchan") == b"wait_for_partner" for tid in threads(pid))


def reads(pid, path):
    """Returns whether the main thread is blocked in read() of that file."""
    call = syscall(pid)
    return call is not None and call[0] == READ and fd_is(pid, call[1], path)


def listens(pid, port):
    """Returns whether any process in this process's network namespace accepts connections there."""
    rows = [row.split() for name in ("tcp", "tcp6")
            for row in _read(f"/proc/{pid}/net/{name}").decode().splitlines()[1:]]
    return any(row[1].endswith(f":{port:04X}") and row[3] == TCP_LISTEN for row in rows)


def fd_link(pid, fd):
    """Returns what the descriptor is, as in "pipe:[123]"; "" if that is unknown."""
    try:
        return os.readlink(f"/proc/{pid}/fd/{fd}")
    except OSError:
        return ""


def in_call_on(tid, number, kind):
    """Returns whether the thread is blocked in that call, on a descriptor of that kind: "pipe:"."""
    call = syscall(tid)
    return call is not None and call[0] == number and fd_link(tid, call[1]).startswith(kind)


def fd_is(pid, fd, path):
    """Returns whether the descriptor is that file. Compares inodes, because the process may see the file
    under another name, from another mount namespace or root."""
    try:
        there, here = os.stat(f"/proc/{pid}/fd/{fd}"), os.stat(path)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def pending(pid, number):
    """Returns whether the signal was sent to the process and has not been delivered yet."""
    return bool(int(status(pid).get("ShdPnd", "0"), 16) >> (number - 1) & 1)


def blocks(pid, number):
    """Returns whether the process blocks the signal."""
    return bool(int(status(pid).get("SigBlk", "0"), 16) >> (number - 1) & 1)


def ignores(pid, number):
    return bool(int(status(pid).get("SigIgn", "0"), 16) >> (number - 1) & 1)


def wake_ups(pid):
    """Returns how often the main thread gave up its CPU; 0 if it is gone."""
    return int(status(pid).get("voluntary_ctxt_switches", 0))


def switches(pid):
    """Returns the context switches of all threads. If two results are equal, no thread ran between."""
    try:
        tids = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return {}
    rows = {tid: status(pid, tid) for tid in tids}
    return {tid: (row.get("voluntary_ctxt_switches"), row.get("nonvoluntary_ctxt_switches"))
            for tid, row in rows.items()}


def sleeping(pid):
    """Returns whether the main thread is blocked in two samples, 50 ms apart."""
    def look():
        row = status(pid)
        return row.get("State", "")[:1], row.get("voluntary_ctxt_switches")
    first = look()
    time.sleep(0.05)
    return first[0] in ("S", "D", "T") and look() == first


def stolen(cpu):
    """Returns the seconds since boot that a hypervisor took from this CPU."""
    rows = (row.split() for row in _read("/proc/stat").decode().splitlines())
    return sum(int(row[8]) for row in rows if row[0] == f"cpu{cpu}") / os.sysconf("SC_CLK_TCK")


def stay_on_one_cpu(add_cleanup):
    """Binds the caller, and what it starts from now on, to one CPU; returns its number. Only there is it
    always certain how long a thread has not run: the clocks of two CPUs differ by the time that a
    hypervisor took from each (attach/proc_task.h)."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    add_cleanup(os.sched_setaffinity, 0, cpus)
    return min(cpus)


def wait_until(fact, what, seconds=120.0, every=0.05):
    """Polls until `fact()` is true and returns its value; otherwise raises TimeoutError, which names
    `what`. It polls once more after the deadline, because the machine may have stood still until then."""
    deadline = time.monotonic() + seconds
    while True:
        late = time.monotonic() > deadline
        value = fact()
        if value:
            return value
        if late:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(every)
