"""A Python whose own files are on a file system that stops to answer:
`unshare -m fading_fuse.py FOLDER PYTHON [WORD...]`, as root; the words come before the command. FOLDER becomes a FUSE file system in a mount namespace of its own, with one file, a copy of PYTHON that
runs from there. Prints "ready PID" when it blocks in a read from a pipe; from then on nothing is answered, and
it prints "asked OPCODE" for each request. Exits with status 3 if FUSE may not be used.
"""
import ctypes
import os
import signal
import struct
import sys

import fuse

FOLDER, PYTHON, *BEFORE = sys.argv[1:]
FILE = 2  # its node
KEEP_CACHE = 2
PROGRAM = "import os, sys\ndef step():\n    os.write(int(sys.argv[1]), b'.')\n    os.read(int(sys.argv[2]), 1)\nstep()\n"
with open(PYTHON, "rb") as file:
    CONTENTS = file.read()


def attributes(node):
    return fuse.attributes(node, len(CONTENTS), 0o755)


def answer_to(opcode, node, body):
    """Returns the answer, or an error number."""
    if opcode == fuse.INIT:
        return fuse.init(readahead=1 << 20)
    if opcode == fuse.LOOKUP:
        return fuse.entry(FILE, attributes(FILE)) if body.startswith(b"python3\0") else fuse.ENOENT
    if opcode == fuse.GETATTR:
        return fuse.attr(attributes(node))
    if opcode == fuse.OPEN:
        return fuse.opened(KEEP_CACHE)
    if opcode == fuse.READ:
        _, offset, size = struct.unpack_from("<2QI", body)
        return CONTENTS[offset:offset + size]
    return b"" if opcode in (fuse.RELEASE, fuse.FLUSH) else fuse.ENOSYS


def serve(device, begun):
    os.set_blocking(begun, False)
    ready = False
    while True:
        opcode, unique, node, body = fuse.request(device)
        if not ready:
            try:
                ready = os.read(begun, 1) == b"."
            except BlockingIOError:
                pass
        if ready and opcode in (fuse.OPEN, fuse.READ, fuse.GETATTR, fuse.LOOKUP):
            print("asked", opcode, flush=True)
            continue
        if opcode not in (fuse.FORGET, fuse.BATCH_FORGET):
            fuse.answer(device, unique, answer_to(opcode, node, body))


def main():
    device = fuse.mount("fading", FOLDER)
    begun, begins = os.pipe()
    inner, outer = os.pipe()
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        for end in (begins, inner, outer):
            os.set_inheritable(end, True)
        program = f"{FOLDER}/python3"
        command = [*BEFORE, program, "-c", PROGRAM, str(begins), str(inner)]
        os.execv(command[0], command)
    print("ready", pid, flush=True)
    serve(device, begun)


main()
