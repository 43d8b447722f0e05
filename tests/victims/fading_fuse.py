"""A Python whose own files are on a file system that stops to answer: `unshare -m fading_fuse.py FOLDER PYTHON`,
as root. FOLDER becomes a FUSE file system in a mount namespace of its own, with one file, a copy of PYTHON that
runs from there. Prints "ready PID" when it blocks in a read from a pipe; from then on nothing is answered, and
it prints "asked OPCODE" for each request. Exits with status 3 if FUSE may not be used.

Source: the kernel's include/uapi/linux/fuse.h.
"""
import ctypes
import os
import signal
import struct
import sys

FOLDER, PYTHON = sys.argv[1:3]
LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 25, 26, 42
ENOENT, ENOSYS = 2, 38
ROOT, FILE = 1, 2  # nodes
PROGRAM = "import os, sys\ndef step():\n    os.write(int(sys.argv[1]), b'.')\n    os.read(int(sys.argv[2]), 1)\nstep()\n"
with open(PYTHON, "rb") as file:
    CONTENTS = file.read()


def attributes(node):
    mode, size = (0o40755, 0) if node == ROOT else (0o100755, len(CONTENTS))
    return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_to(opcode, node, body):
    """Returns the answer, or an error number."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 1 << 20, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)
    if opcode == LOOKUP:
        return (struct.pack("<4Q2I", FILE, 0, 3600, 3600, 0, 0) + attributes(FILE)
                if body.startswith(b"python3\0") else ENOENT)
    if opcode == GETATTR:
        return struct.pack("<Q2I", 3600, 0, 0) + attributes(node)
    if opcode == OPEN:
        return struct.pack("<Q2I", 1, 2, 0)  # FOPEN_KEEP_CACHE
    if opcode == READ:
        _, offset, size = struct.unpack_from("<2QI", body)
        return CONTENTS[offset:offset + size]
    return b"" if opcode in (RELEASE, FLUSH) else ENOSYS


def serve(device, pid, begun):
    os.set_blocking(begun, False)
    ready = False
    while True:
        request = os.read(device, 1 << 18)
        if not ready:
            try:
                ready = os.read(begun, 1) == b"."
            except BlockingIOError:
                pass
        _, opcode, unique, node = struct.unpack_from("<2I2Q", request)
        if ready and opcode in (OPEN, READ, GETATTR, LOOKUP):
            print("asked", opcode, flush=True)
            continue
        if opcode in (FORGET, BATCH_FORGET):
            continue
        answer = answer_to(opcode, node, request[40:])
        error = -answer if isinstance(answer, int) else 0
        answer = b"" if error else answer
        os.write(device, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


def main():
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        sys.exit(3)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0"
    if ctypes.CDLL(None).mount(b"fading", FOLDER.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(3)
    begun, begins = os.pipe()
    inner, outer = os.pipe()
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        for end in (begins, inner, outer):
            os.set_inheritable(end, True)
        program = f"{FOLDER}/python3"
        os.execv(program, [program, "-c", PROGRAM, str(begins), str(inner)])
    print("ready", pid, flush=True)
    serve(device, pid, begun)


main()
