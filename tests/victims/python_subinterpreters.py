"""Threads in interpreters other than the main one; lines on stdout say which, then "ready".

  nested TID     runs code of another interpreter, which blocks in read(): frames of both. From 3.11
                 on the main thread made that interpreter; before, nothing shows which thread runs
                 it
  busy TID ID    from 3.12 on: runs in interpreter ID without end, under a GIL of its own
  none           this Python has no module for that
Everything exits when stdin ends.
"""
import os
import sys
import threading

try:
    import _interpreters as interpreters  # 3.13+
except ImportError:
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        print("none", flush=True)
        sys.exit()

reader, writer = os.pipe()

NESTED = """
import os
def in_sub():
    os.write({told}, b"x")
    os.read({reader}, 1)
def outer_sub():
    in_sub()
outer_sub()
"""

BUSY = """
import os
os.write({writer}, b"x")
def spin_sub():
    while True:
        pass
spin_sub()
"""


def run_nested(identifier, told):
    identifier = interpreters.create() if identifier is None else identifier
    print("nested %d" % threading.get_native_id(), flush=True)
    interpreters.run_string(identifier, NESTED.format(reader=reader, told=told))


def run_busy(identifier, started):
    print("busy %d %d" % (threading.get_native_id(), int(identifier)), flush=True)
    interpreters.run_string(identifier, BUSY.format(writer=started))


def start(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def main():
    # By then that interpreter has done its imports, which call read() as well.
    tells, told = os.pipe()
    start(run_nested, interpreters.create() if sys.version_info >= (3, 11) else None, told)
    os.read(tells, 1)
    if sys.version_info >= (3, 12):  # before, all share one GIL: the main thread would wait
        starts, started = os.pipe()
        start(run_busy, interpreters.create(), started)
        os.read(starts, 1)
    print("ready", flush=True)
    os.read(0, 1)
    os._exit(0)


main()
