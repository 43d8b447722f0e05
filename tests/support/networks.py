"""Networks of this machine's own, between which what is sent can be lost or late.

    with Networks(4) as networks:
        process = networks.start(1, [sys.executable, ...])   # in network 1, whose address is networks.address(1)
        networks.lose(1, 2)                                  # what 1 sends to 2
        networks.lose(2, 1, larger=600)                      # of what 2 sends to 1, the large frames
        networks.delay(0, 300)                               # what 0 sends comes 300 ms later

Each network is a namespace; a process of ours is the switch between them (network_switch.py). Nothing of
it is seen outside, and the kernel takes it down when its last process ends. Needs root.
"""

import contextlib
import os
import subprocess
import sys

import cluster
import proc_facts

HERE = os.path.dirname(os.path.abspath(__file__))


def why_not():
    """Returns None if this machine permits such networks, otherwise the reason why not."""
    return cluster.can_namespaces() or (
        None if os.path.exists("/dev/net/tun") else "no /dev/net/tun on this machine")


class Networks:
    def __init__(self, count, subnet="10.97.3"):
        self.count = count
        self.subnet = subnet
        self._ends = contextlib.ExitStack()
        self._environment = dict(os.environ, PATH=cluster.daemon_path())
        with contextlib.ExitStack() as undo:
            undo.callback(self._ends.close)
            self._nodes = [self._hold() for _ in range(count)]
            # pylint: disable=consider-using-with
            self._switch = subprocess.Popen(
                [sys.executable, os.path.join(HERE, "network_switch.py"), subnet,
                 *(str(node.pid) for node in self._nodes)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=self._environment)
            self._ends.callback(self._end, self._switch)
            if self._switch.stdout.readline() != "ready\n":
                raise RuntimeError("the switch does not start")
            undo.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends.close()

    def _hold(self):
        """Returns a process that keeps a namespace until its stdin ends."""
        # pylint: disable=consider-using-with
        process = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE,
                                   env=self._environment)
        self._ends.callback(self._end, process)
        ours = os.readlink("/proc/self/ns/net")
        proc_facts.wait_until(lambda: os.readlink(f"/proc/{process.pid}/ns/net") != ours, "a network")
        return process

    @staticmethod
    def _end(process):
        process.kill()
        process.wait(60)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def address(self, at):
        return f"{self.subnet}.{10 + at}"

    def pids(self):
        """Returns a process in each network."""
        return [node.pid for node in self._nodes]

    def inside(self, at, words):
        """Returns the command that runs `words` in a network."""
        return ["nsenter", f"--net=/proc/{self._nodes[at].pid}/ns/net", *words]

    def start(self, at, words, **options):
        """Starts a process in a network; it is killed at the end."""
        # pylint: disable=consider-using-with
        process = subprocess.Popen(self.inside(at, words), **options)
        self._ends.callback(self._end, process)
        return process

    def _order(self, *words):
        self._switch.stdin.write(" ".join(map(str, words)) + "\n")
        self._switch.stdin.flush()
        if self._switch.stdout.readline() != "ok\n":
            raise RuntimeError("the switch has ended")

    def lose(self, at, to, larger=0, percent=100):
        self._order("lose", at, to, larger, percent)

    def cut(self, one, other):
        """From now on, nothing passes between the two."""
        self.lose(one, other)
        self.lose(other, one)

    def delay(self, at, milliseconds):
        self._order("delay", at, milliseconds)

    def carry(self):
        self._order("carry")


def tries(pid):
    """Returns the most often that the kernel has sent something on a connection of the process's network
    again without an answer."""
    rows = []
    for name in ("tcp", "tcp6"):
        with open(f"/proc/{pid}/net/{name}", encoding="ascii") as table:
            rows += [line.split() for line in table.readlines()[1:]]
    return max((int(row[6], 16) for row in rows if row[5].startswith("01:")), default=0)
