"""The facts that a rank of a generated job reports, and how the test reads them.

A file of 16 bytes for each rank, mapped by both sides, so that a report costs no system call and
leaves no frame behind: the number of operations that were begun, and a state.
"""

import mmap
import struct

RUNNING, FAULTY, RESTING = 0, 1, 2  # RESTING: outside the loop, or asleep as part of the story
SIZE = 16


def make(path, ranks):
    with open(path, "wb") as file:
        file.write(bytes(SIZE * ranks))


class Facts:
    def __init__(self, path, ranks):
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE * ranks)
        self.ranks = ranks

    def say(self, rank, marks, state):
        struct.pack_into("=qq", self._map, SIZE * rank, marks, state)

    def read(self):
        """Returns [(marks, state), ...] of all ranks."""
        return [struct.unpack_from("=qq", self._map, SIZE * rank) for rank in range(self.ranks)]


class Rank:
    """The rank's own side: `before()` each operation, `faulty()` when its fault begins."""

    def __init__(self, path, ranks, rank):
        self._facts, self._rank = Facts(path, ranks), rank
        self._marks, self._state = 0, RUNNING
        self._say()

    def _say(self):
        self._facts.say(self._rank, self._marks, self._state)

    def before(self):
        self._marks += 1
        self._say()

    def faulty(self):
        self._marks += 1
        self._state = FAULTY
        self._say()

    def resting(self):
        self._marks += 1
        self._state = max(self._state, RESTING) if self._state != FAULTY else FAULTY
        self._say()
