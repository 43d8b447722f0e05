"""What the victims with a FUSE file system share: mounting it, and the form of requests and answers.

Source: the kernel's include/uapi/linux/fuse.h.
"""
import ctypes
import os
import struct
import sys

(LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FSYNC, FLUSH, INIT, BATCH_FORGET
 ) = 1, 2, 3, 14, 15, 18, 20, 25, 26, 42
ENOENT, ENOSYS = 2, 38
ROOT = 1  # the node of the file system's folder
FOREVER = 3600  # seconds for which the kernel may believe an answer


def mount(name, folder, more=""):
    """Returns the device at which requests come in. Ends the program with status 3 if FUSE may not be used."""
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        sys.exit(3)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0{more}"
    if ctypes.CDLL(None).mount(name.encode(), folder.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(3)
    return device


def request(device):
    """Returns the next request's opcode, number, node and body."""
    text = os.read(device, 1 << 18)
    _, opcode, unique, node = struct.unpack_from("<2I2Q", text)
    return opcode, unique, node, text[40:]


def answer(device, unique, what):
    """`what`: the body of the answer, or an error number."""
    error = -what if isinstance(what, int) else 0
    body = b"" if error else what
    os.write(device, struct.pack("<IiQ", 16 + len(body), error, unique) + body)


def init(readahead=0):
    return struct.pack("<4I2H2I2H8I", 7, 31, readahead, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)


def attributes(node, size, mode):
    """Returns the attributes of a file of that size and mode; the root is a folder."""
    mode, size = (0o40755, 0) if node == ROOT else (0o100000 | mode, size)
    return struct.pack("<6Q10I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def entry(node, found):
    """The answer to LOOKUP; `found`: its attributes."""
    return struct.pack("<4Q2I", node, 0, FOREVER, FOREVER, 0, 0) + found


def attr(found):
    """The answer to GETATTR."""
    return struct.pack("<Q2I", FOREVER, 0, 0) + found


def opened(flags=0):
    """The answer to OPEN."""
    return struct.pack("<Q2I", 1, flags, 0)
