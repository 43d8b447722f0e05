"""A rank to be watched: `watched.py MODE`. Prints "ready PID" first; without torch.

  signals  prints "got NUMBER" for each of HUP, INT, TERM, USR1 and USR2; ends at end of stdin
  steady   a step every 50 ms, for ever; says so nowhere
  spin     goes round the same three lines for ever, with the time in a variable
  busy     some steps, then one call of the interpreter that computes for a minute
  lines    is quiet until a line comes, prints "step", and is quiet again
"""
import hashlib
import os
import signal
import sys
import time


def signals():
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    for number in numbers:
        signal.signal(number, lambda got, frame: print("got", int(got), flush=True))
    print("ready", os.getpid(), flush=True)
    sys.stdin.read()


def steady():
    step = 0
    while True:
        step += 1
        time.sleep(0.05)


def spin():
    started = time.time()
    while True:
        waited = time.time() - started
        if waited < 0:
            break
        time.sleep(0.01)


def busy():
    for step in range(5):
        time.sleep(0.05 * step)
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 60_000_000)


def lines():
    for _ in sys.stdin:
        print("step", flush=True)


if __name__ == "__main__":
    if sys.argv[1] != "signals":
        print("ready", os.getpid(), flush=True)
    getattr(sys.modules["__main__"], sys.argv[1])(*sys.argv[2:])
