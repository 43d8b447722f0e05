"""Joins the network namespaces of some processes: `network_switch.py SUBNET PID...`. Each gets a device eth0,
the first with the address SUBNET.10, the next with SUBNET.11, and so on. What they send passes through
this process, which loses or delays it as it is told, a line at a time on stdin (networks.py):

    lose FROM TO LARGER PERCENT   of what FROM sends to TO, of frames larger than LARGER bytes
    delay AT MS                   of what AT sends
    carry                         all of it again

It prints "ready" when the devices are there, and "ok" when it does as told. It ends at end of file.
"""

import collections
import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
TAP_WITHOUT_HEADER = 0x1002  # IFF_TAP | IFF_NO_PI
LIBC = ctypes.CDLL(None, use_errno=True)

Rule = collections.namedtuple("Rule", "larger percent")


def enter(pid):
    with open(f"/proc/{pid}/ns/net", encoding="ascii") as network:
        if LIBC.setns(network.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def mac_of(at):
    return f"02:00:00:00:00:{at + 1:02x}"


def make_device(at, count, subnet):
    """Returns the device's frames as a descriptor; the caller is in its namespace. The others are known
    without a question, which would have to be broadcast."""
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"eth0", TAP_WITHOUT_HEADER))
    lines = ["link set lo up", f"link set eth0 address {mac_of(at)} up", f"addr add {subnet}.{10 + at}/24 dev eth0"]
    lines += [f"neigh replace {subnet}.{10 + other} lladdr {mac_of(other)} nud permanent dev eth0"
              for other in range(count) if other != at]
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True, timeout=60)
    return tap


class Switch:
    def __init__(self, taps):
        self.taps = taps
        self.rules = {}  # (from, to) -> Rule
        self.delays = {}  # from -> seconds
        self.waiting = []  # (when, number, to, frame)
        self.sent = 0
        self.chance = random.Random(7)

    def obey(self, words):
        if words[0] == "lose":
            self.rules[int(words[1]), int(words[2])] = Rule(int(words[3]), float(words[4]))
        elif words[0] == "delay":
            self.delays[int(words[1])] = float(words[2]) / 1000
        elif words[0] == "carry":
            self.rules.clear()
            self.delays.clear()

    def take(self, at):
        while True:
            try:
                frame = os.read(self.taps[at], 65536)
            except BlockingIOError:
                return
            to = frame[5] - 1
            if frame[0] != 2 or to >= len(self.taps):
                continue  # to everybody: nothing that these networks need
            rule = self.rules.get((at, to))
            if rule and len(frame) > rule.larger and self.chance.random() * 100 < rule.percent:
                continue
            self.sent += 1
            if at in self.delays:
                heapq.heappush(self.waiting, (time.monotonic() + self.delays[at], self.sent, to, frame))
            else:
                self.give(to, frame)

    def give(self, to, frame):
        try:
            os.write(self.taps[to], frame)
        except OSError:
            pass  # its queue is full, or the namespace ends: lost, as on any wire

    def run(self, orders):
        while True:
            patience = max(0, self.waiting[0][0] - time.monotonic()) if self.waiting else None
            ready, _, _ = select.select([orders, *self.taps], [], [], patience)
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                _, _, to, frame = heapq.heappop(self.waiting)
                self.give(to, frame)
            for at, tap in enumerate(self.taps):
                if tap in ready:
                    self.take(at)
            if orders in ready:
                line = orders.readline()
                if not line:
                    return
                self.obey(line.decode().split())
                print("ok", flush=True)


def main():
    subnet, pids = sys.argv[1], sys.argv[2:]
    taps = []
    for at, pid in enumerate(pids):
        enter(pid)
        taps.append(make_device(at, len(pids), subnet))
    print("ready", flush=True)
    Switch(taps).run(open(0, "rb", buffering=0, closefd=False))  # pylint: disable=consider-using-with


if __name__ == "__main__":
    main()
