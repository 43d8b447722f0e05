"""A file system whose server answers nothing: `unshare -m hung_fuse.py FOLDER COMMAND...`, as root. FOLDER
becomes a FUSE file system in a mount namespace of its own, and COMMAND runs there. Prints "ready" first.
Every request but the first one of the kernel stays open, so whoever looks up a name below FOLDER hangs, until
this process is killed. Exits with status 3 if FUSE may not be used.
"""
import os
import subprocess
import sys

import fuse


def main():
    device = fuse.mount("hung", sys.argv[1], ",allow_other")
    print("ready", flush=True)
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL) as child:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)  # the end of the child is the end of stdout
        while True:
            opcode, unique, _, _ = fuse.request(device)
            if opcode == fuse.INIT:
                fuse.answer(device, unique, fuse.init())
    del child


main()
