"""A file system whose server answers nothing: `unshare -m hung_fuse.py FOLDER COMMAND...`, as root. FOLDER
becomes a FUSE file system in a mount namespace of its own, and COMMAND runs there. Prints "ready" first.
Every request but the first one of the kernel stays open, so whoever looks up a name below FOLDER hangs, until
this process is killed. Exits with status 3 if FUSE may not be used.

Source: the kernel's include/uapi/linux/fuse.h.
"""
import ctypes
import os
import struct
import subprocess
import sys

INIT = 26


def main():
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        sys.exit(3)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    if ctypes.CDLL(None).mount(b"hung", sys.argv[1].encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(3)
    print("ready", flush=True)
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL) as child:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)  # the end of the child is the end of stdout
        while True:
            request = os.read(device, 1 << 18)
            _, opcode, unique, _ = struct.unpack_from("<2I2Q", request)
            if opcode == INIT:
                answer = struct.pack("<4I2H2I2H8I", 7, 31, 0, 0, 16, 12, 65536, 1, 16, 0, *[0] * 8)
                os.write(device, struct.pack("<IiQ", 16 + len(answer), 0, unique) + answer)
    del child


main()
