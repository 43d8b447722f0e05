"""A rank to watch, without torch: `watched.py MODE`. It prints "ready PID" first.

  signals  prints "got NUMBER" for each of HUP, INT, TERM, USR1 and USR2; exits at end of stdin
  steady   takes a step every 50 ms; prints "paused" if one came late (the machine paused)
  spin     loops over the same three lines for ever, with the time in a variable
  busy     takes some steps, then computes for minutes in one call of the interpreter
  yields   is in a call with the file name and function of torch's all_reduce, which gives up its CPU
           again and again: `watched.py yields FOLDER`, where that
           file would be
  asks     checks for a file that no process makes, with pauses
  counts   the same, and counts its tries
  finds    checks for a file that exists, waits a moment, works, and again
  rushes   checks for the file without pauses
  lines    is quiet until a line arrives, prints "step", and is quiet again
"""
import hashlib
import os
import signal
import sys
import time

PAUSE = 0.9  # seconds without a step: less than a stall for the watchers in the tests


def signals():
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
    for number in numbers:
        # Not print(), which fails if a signal arrives while it still prints the previous one.
        signal.signal(number, lambda got, frame: os.write(1, b"got %d\n" % got))
    print("ready", os.getpid(), flush=True)
    sys.stdin.read()


def steady():
    step, last = 0, time.monotonic()
    while True:
        now = time.monotonic()
        if now - last > PAUSE:
            print("paused", flush=True)
        last = now
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
    hashlib.pbkdf2_hmac("sha256", b"a", b"b", 600_000_000)


def yields(folder):
    path = f"{folder}/torch/distributed/distributed_c10d.py"
    source = "import os\ndef all_reduce(tensor):\n    while tensor is None:\n        os.sched_yield()\n"
    module = {}
    exec(compile(source, path, "exec"), module)  # pylint: disable=exec-used
    module["all_reduce"](None)


def asks():
    while not os.path.exists("/no/such/file"):
        time.sleep(0.01)


def counts():
    tries = 0
    while True:
        tries += 1
        for path in ("/no/such/file", "/no/such/folder/file"):
            for attempt in range(3):
                if os.path.exists(path):
                    return
                time.sleep(0.001 * attempt)
        print(end="", flush=True)


def finds():
    step = 0
    while True:
        step += 1
        take_when_there("/", step)


def take_when_there(path, step):
    while not os.path.exists(path):
        time.sleep(0.01)
    time.sleep(0.05)
    hashlib.sha256(b"%d" % step).hexdigest()


def rushes():
    while not os.path.exists("/no/such/file"):
        pass


def lines():
    for _ in sys.stdin:
        print("step", flush=True)


if __name__ == "__main__":
    if sys.argv[1] != "signals":
        print("ready", os.getpid(), flush=True)
    getattr(sys.modules["__main__"], sys.argv[1])(*sys.argv[2:])
