#!/usr/bin/env python3
"""The blocked Python threads of a rank: 21 threads with 330 frames of about 16 functions.

Prints "ready", its pid and the number of frames, then waits until stdin is closed.
"""
import os
import sys
import threading

THREADS = 21
FRAMES = 330
stop = threading.Event()

# Functions that call each other in a chain, so that the stacks do not repeat one line.
NAMES = ["step", "forward", "layer", "attention", "mlp", "linear", "loss", "backward", "reduce",
         "bucket", "hook", "wait", "prefetch"]
source = "".join(
    "def {0}(depth):\n    if depth == 0:\n        return stop.wait()\n    return {1}(depth - 1)\n\n\n"
    .format(name, NAMES[(i + 1) % len(NAMES)]) for i, name in enumerate(NAMES))
exec(compile(source, __file__ + ":calls", "exec"))  # pylint: disable=exec-used


def frames_of_all():
    frames = 0
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            frames += 1
            frame = frame.f_back
    return frames


def blocked():
    return sum(1 for frame in sys._current_frames().values()
               if frame.f_code.co_name == "wait" and frame.f_code.co_filename.endswith("threading.py"))


def main():
    # Each thread's calls have 3 frames of threading below them and 2 above.
    depth, more = divmod(FRAMES - 2 - 6 * (THREADS - 1), THREADS - 1)
    for i in range(THREADS - 1):
        threading.Thread(target=globals()["step"], args=(depth + (i < more),), daemon=True).start()
    while blocked() < THREADS - 1:
        threading.Event().wait(0.01)
    print("ready", os.getpid(), frames_of_all() - 1, flush=True)  # without its own frame
    sys.stdin.read()


main()
