"""Runs generated jobs here, several at once, and yields each when it hangs as it should: judged by
the ranks' reports and by /proc, never by time alone.

A job is ripe when all ranks that the fault concerns have reported it, no rank has begun an
operation or used the CPU for a while (except those that the fault makes run), and the waits are no
longer young.
"""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import fork_server
import job_facts
import training_job

QUIET_S = 0.6        # nothing may change for so long before the job counts as hung
RIPE_S = 3.0         # then its waits age
MOVING_S = 2.0       # a job that goes on is read after that time
PATIENCE_S = 40.0
BUSY_SHARE = 0.3     # of one CPU: a rank that uses more has something to do
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """The fork server, as a context."""

    def __init__(self, python):
        self._python = python

    def __enter__(self):
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SLURM_", "OMPI_", "PMI"))
                       and name not in ("RANK", "LOCAL_RANK", "WORLD_SIZE")}
        environment.update(fork_server.room(), OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo")
        with other:
            self._process = subprocess.Popen(
                [self._python, os.path.join(HERE, "fork_server.py"), str(other.fileno())],
                env=environment, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)
        return self

    def launch(self, request):
        self._channel.send(json.dumps(request).encode())
        return int(self._channel.recv(100))

    def __exit__(self, kind, value, trace):
        self._channel.close()
        self._process.wait(60)


class Discarded(Exception):
    """The job did not hang as it should have; nothing can be learned from it."""


def _cpu_ticks(pid):
    """Returns (state, ticks used by the main thread), ("", 0) if the process is gone."""
    try:
        with open(f"/proc/{pid}/task/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[11]) + int(fields[12])
    except OSError:
        return "", 0


class LiveJob:
    """A running job. Poll it until it is ripe; always close it."""

    def __init__(self, server, job, directory, patience=PATIENCE_S):
        self.job, self.directory, self._patience = job, directory, patience
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        for name, text in job.files.items():
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
        job_facts.make(f"{directory}/facts", job.ranks)
        self.facts = job_facts.Facts(f"{directory}/facts", job.ranks)
        # The world outside the job: a process that has a lock, and a service that does not answer.
        self._lock = open(f"{directory}/outside.lock", "w", encoding="utf-8")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        self._service = socket.create_server(("127.0.0.1", 0))
        self.port, self._reserved = training_job.reserve_port()
        self.name = f"127.0.0.1:{self.port}"
        self.pids = []
        self._started = self._changed = time.monotonic()
        self._seen, self._ticks = None, None
        self._launcher = server.launch({
            "directory": directory, "script": f"{directory}/{next(iter(job.files))}",
            "keep_zombies": job.zombies,
            "ranks": [{"environment": self._environment(rank), "stdin": job.stdin[rank]}
                      for rank in range(job.ranks)]})

    def _environment(self, rank):
        variables = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.job.ranks),
                     "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.port),
                     "OUTSIDE_PORT": str(self._service.getsockname()[1])}
        if self.job.torchrun:
            variables.update(LOCAL_WORLD_SIZE=str(self.job.ranks), GROUP_RANK="0",
                             GROUP_WORLD_SIZE="1", TORCHELASTIC_RUN_ID="none",
                             TORCHELASTIC_RESTART_COUNT="0", TORCHELASTIC_MAX_RESTARTS="0")
        return variables

    def _text(self, name):
        try:
            with open(f"{self.directory}/{name}", encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def _check_ends(self):
        for line in self._text("ended").splitlines():
            rank, status = map(int, line.split())
            if rank not in self.job.ends:
                raise Discarded(f"rank {rank} ended with status {status}: "
                                f"{self._text('log').strip()[-300:]}")

    def _busy(self, now):
        """Returns whether a rank that should not has used the CPU since the last change."""
        used = [_cpu_ticks(pid) for pid in self.pids]
        if self._ticks is None:
            self._ticks = now, used
            return True
        seconds = now - self._ticks[0]
        busy = any((after[1] - before[1]) / TICKS > max(BUSY_SHARE * seconds, 0.05)
                   for rank, (before, after) in enumerate(zip(self._ticks[1], used))
                   if rank not in self.job.runs)
        if busy:
            self._ticks = now, used
        return busy

    def ripe(self):
        """Returns whether the job is ready to be read. Raises Discarded."""
        now = time.monotonic()
        if not self.pids:
            text = self._text("pids")
            self.pids = json.loads(text) if text else []
        self._check_ends()
        facts = self.facts.read()
        if self.job.moves:
            ready = all(marks > 6 for marks, _ in facts) and now > self._started + MOVING_S
        else:
            states = [state for _, state in facts]
            if facts != self._seen:
                self._seen, self._changed, self._ticks = facts, now, None
            if self.pids and self._busy(now):
                self._changed = now
            ready = (all(states[rank] == job_facts.FAULTY for rank in self.job.faulty)
                     and now > self._changed + QUIET_S + RIPE_S)
            if all(state == job_facts.RESTING for state in states):
                raise Discarded("the fault did not matter")
        if not ready and now > self._started + self._patience:
            raise Discarded(f"nothing stood still: {facts}")
        return ready

    def still(self):
        """Returns whether nothing has changed since the job was ripe."""
        try:
            self._check_ends()
        except Discarded:
            return False
        return self.job.moves or self.facts.read() == self._seen

    def close(self):
        try:
            os.killpg(self._launcher, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._lock.close()
        self._service.close()
        self._reserved.close()


def jobs(server, made, directory, at_once=4):
    """Runs the jobs of `made`, an iterable of (number, Job). Yields (number, job, LiveJob or
    Discarded): a LiveJob is ripe, and is closed when the caller resumes the generator."""
    waiting, running = iter(made), {}
    while True:
        while len(running) < at_once:
            following = next(waiting, None)
            if following is None:
                break
            number, job = following
            running[number] = LiveJob(server, job, f"{directory}/{number}")
        if not running:
            return
        for number, live in list(running.items()):
            try:
                outcome = live if live.ripe() else None
            except Discarded as reason:
                outcome = reason
            if outcome is not None:
                try:
                    yield number, live.job, outcome
                finally:
                    live.close()
                    shutil.rmtree(live.directory, ignore_errors=True)
                    del running[number]
        time.sleep(0.03)
