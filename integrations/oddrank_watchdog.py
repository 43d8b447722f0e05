"""Asks `oddrank node` which rank holds the job up: examine(), and a watchdog for loops that have none. The
other files of this folder use it, so copy it beside them."""

import os
import subprocess
import sys
import threading


def examine(report, *words):
    """Writes the report of this node as JSON, and the verdict's sentence to stderr. `words` are further
    options and pids for `oddrank node`. ODDRANK: path of the program."""
    command = [os.environ.get("ODDRANK", "oddrank"), "node", "--json", report, "-q", *words]
    try:
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        said = (run.stdout + run.stderr).strip()
    except OSError as error:
        said = str(error)
    print(f"oddrank: {said}", file=sys.stderr, flush=True)
    return said


class Watchdog:
    """Calls `alarm` when nobody has called beat() for `seconds`, or up to twice as long; once for each hang.
    It is a thread, so it cannot run while the main thread hangs with the GIL (`oddrank watch` can)."""

    def __init__(self, seconds, alarm):
        self.moved, self.ended = threading.Event(), threading.Event()
        self.beat, self.end = self.moved.set, self.ended.set
        threading.Thread(target=self.watch, args=(seconds, alarm), name="oddrank", daemon=True).start()

    def watch(self, seconds, alarm):
        stands = False
        while not self.ended.wait(seconds):
            if not self.moved.is_set() and not stands:
                alarm()
            stands = not self.moved.is_set()
            self.moved.clear()
