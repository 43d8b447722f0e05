"""A rank, without torch, whose pace a sampler must find out: `pacing.py MODE`. Prints "ready"
first, and exits when its stdin ends, but for "hang", which waits for that.

  hang   reads stdin, which stays silent
  step   takes a step of a loop every 20 ms
  spin   runs at one place
  poll   checks again and again whether a file exists
"""
import os
import sys
import threading
import time


def end_with_stdin():
    def wait():
        sys.stdin.read()
        os._exit(0)
    threading.Thread(target=wait, daemon=True).start()


def hang():
    sys.stdin.read()


def forward(step):
    time.sleep(0.01)
    return step


def backward(step):
    time.sleep(0.01)
    return step + 1


def step():
    count = 0
    while True:
        count = backward(forward(count))


def spin():
    while True:
        pass


def poll():
    while not os.path.exists("/no/such/file"):
        time.sleep(0.01)


if __name__ == "__main__":
    if sys.argv[1] != "hang":
        end_with_stdin()
    print("ready", flush=True)
    getattr(sys.modules["__main__"], sys.argv[1])()
