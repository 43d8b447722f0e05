"""What the cases do in a guest: start ranks, run oddrank on them as some user, and undo all of it.

A guest is thrown away after the run, so the cases are root and change what they like; each still undoes what
the next one would notice.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

ODDRANK = "/usr/local/bin/oddrank"
PYTHON = "/usr/bin/python3"
OWNER, STRANGER = 2001, 2002  # two users
# The longest that oddrank may take. Emulated processors are slow; a call that hangs takes for ever.
PATIENCE_S = 150

SLEEPER = """
import time
def wait_for_data():
    print("ready", flush=True)
    time.sleep(3600)
wait_for_data()
"""


class CannotRun(Exception):
    """The kernel lacks what the case needs."""


class Run:
    """One finished run of oddrank, with its report if there is one."""

    def __init__(self, words, result, seconds):
        self.words = words
        self.status = result.returncode
        self.out = result.stdout
        self.err = result.stderr
        self.seconds = seconds

    def __str__(self):
        return (f"{' '.join(map(str, self.words))}: exit status {self.status} in {self.seconds:.1f} s\n--- stdout\n"
                f"{self.out[:3000]}\n--- stderr\n{self.err}")

    @property
    def json(self):
        try:
            return json.loads(self.out)
        except ValueError as error:
            raise AssertionError(f"no JSON: {self}") from error

    @property
    def verdict(self):
        return self.json["verdict"]

    @property
    def notes(self):
        return self.json["notes"]

    def frames(self, rank=0):
        """Returns the names of the frames of the main thread of the row."""
        return [frame["name"] for frame in self.json["ranks"][rank]["threads"][0]["frames"]]

    def said(self):
        """Returns the error and its remedy in one line."""
        lines = [line.strip() for line in self.err.splitlines() if line.strip()]
        return "; ".join(line.removeprefix("oddrank: error: ") for line in lines)


def check(fact, *what):
    if not fact:
        raise AssertionError("\n".join(map(str, what)))


def wait_until(fact, what, seconds=90.0):
    deadline = time.monotonic() + seconds
    while True:
        value = fact()
        if value:
            return value
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.05)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def write(path, value):
    with open(path, "w", encoding="utf-8") as file:
        file.write(str(value))


def state(pid):
    """Returns the state's letter of the main thread; "" if it is gone."""
    try:
        return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]
    except OSError:
        return ""


def in_state(pid, letter):
    """Waits until the main thread has this state and keeps it for half a second."""
    def steady():
        for _ in range(5):
            if state(pid) != letter:
                return False
            time.sleep(0.1)
        return True
    wait_until(steady, f"pid {pid} is in state {letter} (now {state(pid)})")


def page_table_levels():
    return 5 if " la57" in read("/proc/cpuinfo") else 4


def as_user(uid):
    if uid == 0:
        return []
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--inh-caps=-all"]


def command(*words, check_status=True, **options):
    """Runs a command of the guest and returns its stdout."""
    result = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S, check=False, **options)
    if check_status and result.returncode != 0:
        raise AssertionError(f"{words}: {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def need(fact, why):
    if not fact:
        raise CannotRun(why)


def modprobe(*names):
    for name in names:
        result = subprocess.run(["modprobe", name], capture_output=True, text=True, check=False, timeout=60)
        need(result.returncode == 0, f"this kernel has no module {name}: {result.stderr.strip()}")


class Guest(contextlib.ExitStack):
    """One case's world; what it started is ended when it is left."""
    venv = ""
    tree = ""  # where the source tree lies that the built tests come from

    def undo(self, function, *words):
        self.callback(function, *words)

    def set_sysctl(self, path, value):
        path = f"/proc/sys/{path}"
        need(os.path.exists(path), f"{path} is not there")
        old = read(path).strip()
        if old != str(value):
            write(path, value)
            self.undo(write, path, old)

    def folder(self, name):
        """Makes a folder that everybody may enter."""
        path = f"/tmp/{name}-{os.getpid()}"
        os.makedirs(path, exist_ok=True)
        os.chmod(path, 0o1777)
        return path

    def program(self, text, name="rank.py"):
        path = f"{self.folder('program')}/{name}"
        write(path, text)
        os.chmod(path, 0o755)
        return path

    def start(self, words, uid=0, ready=True, rank=0, ranks=1, **options):
        """Starts a process and returns it, once it has said "ready"; its words after that are in `.said`."""
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank),
                       "WORLD_SIZE": str(ranks), "LOCAL_WORLD_SIZE": str(ranks),
                       **options.pop("env", {})}
        process = subprocess.Popen([*as_user(uid), *words], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, text=True, env=environment,
                                   start_new_session=True, **options)
        self.undo(self.end, process)
        process.said = []
        if ready:
            line = process.stdout.readline().split()
            check(line[:1] == ["ready"], f"{words} said {line}")
            process.said = line[1:]
        return process

    def rank(self, program=SLEEPER, uid=0, **options):
        """Starts a rank: a Python program that says "ready"."""
        process = self.start([PYTHON, self.program(program)], uid, **options)
        in_state(process.pid, "S")
        return process

    def end(self, process):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        process.stdout.close()

    def oddrank(self, *words, uid=0, prefix=(), report=True, patience=PATIENCE_S, **options):
        """Runs oddrank; with `report` for its JSON. It has to end by itself, whatever it meets."""
        words = [*prefix, *as_user(uid), ODDRANK, *map(str, words), *(("--json", "-", "-q") if report else ())]
        began = time.monotonic()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **options)
        try:
            out, err = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired as error:
            process.kill()
            raise AssertionError(f"{words} did not end in {patience} s; it is in state {state(process.pid)}") from error
        return Run(words, subprocess.CompletedProcess(words, process.returncode, out, err),
                   time.monotonic() - began)

    def reads_well(self, pid, uid=0, frame="wait_for_data", **options):
        """Checks that oddrank reads the Python stack of this rank, and leaves it as it was."""
        in_state(pid, "S")
        run = self.oddrank("node", pid, uid=uid, **options)
        check(frame in run.frames(), f"no frame {frame}: {run}")
        self.unharmed(pid)
        return run

    def refused(self, pid, uid, *words, **options):
        """Checks that oddrank refuses with these words, in a cause and a remedy."""
        run = self.oddrank("node", pid, uid=uid, report=False, **options)
        check(run.status == 4, "exit status 4 expected:", run)
        check("hint:" in run.err, "no remedy:", run)
        for word in words:
            check(word in run.err, f"no '{word}' in", run)
        self.unharmed(pid)
        return run

    def unharmed(self, pid, letter="S"):
        """Checks that nobody traces the process, and that it is in the state in which it was."""
        check(state(pid) == letter, f"pid {pid} was {letter} and is now {state(pid)}")
        check("TracerPid:\t0\n" in read(f"/proc/{pid}/status"), f"pid {pid} is still traced")


sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
