"""A clock that jumps."""

import subprocess
import time

from guest import ODDRANK, PYTHON, SLEEPER, Run, check, read

DAY = 86400
MOVING = """
import time
print("ready", flush=True)
def train_step(step):
    time.sleep(0.2)
    return sum(i * step for i in range(1000))
def train():
    loss = 0
    for step in range(10 ** 6):
        loss += train_step(step)
train()
"""


def jump(seconds):
    time.clock_settime(time.CLOCK_REALTIME, time.time() + seconds)


def numbers(value, path=""):
    """Yields (path, number) of every number in a report."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}.{key}")
    elif isinstance(value, list):
        for item in value:
            yield from numbers(item, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def capture_while(guest, seconds):
    pid = guest.rank().pid
    words = [ODDRANK, "node", str(pid), "--samples", "3", "--interval", "3s", "--json", "-", "-q"]
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    time.sleep(3)
    jump(seconds)
    guest.undo(jump, -seconds)
    out, err = process.communicate(timeout=100)
    run = Run(words, subprocess.CompletedProcess(words, process.returncode, out, err), 0)
    check("wait_for_data" in run.frames(), run)
    for path, value in numbers(run.json):
        check(value >= 0, f"{path} is {value}", run)
        check(not path.endswith(("_s", ".least", ".most", "_ms")) or value < 3600 * 1000, f"{path} is {value}", run)
    after = guest.oddrank("node", pid)
    for path, value in numbers(after.json):
        check(value >= 0, f"{path} is {value}", after)
        check(not path.endswith(("quiet_s", ".least", ".most")) or value < 3600, f"{path} is {value}", after)
    return "no age is negative or a day"


def capture_forwards(guest):
    """The clock jumps forwards by a day between two samples"""
    return capture_while(guest, DAY)


def capture_backwards(guest):
    """The clock jumps backwards by a day between two samples"""
    return capture_while(guest, -DAY)


def watch_jumps(guest):
    """The clock jumps by a day, in both directions, under `oddrank watch`: no alarm"""
    folder = guest.folder("clock")
    log = f"{folder}/log"
    with open(log, "w", encoding="utf-8") as file:
        guest.start([ODDRANK, "watch", "-v", "--stalled-for", "60s", "--interval", "1s", "--save", folder, "--", PYTHON,
                     guest.program(SLEEPER)], stderr=file)
        guest.start([ODDRANK, "watch", "-v", "--stalled-for", "12s", "--interval", "1s", "--save", folder, "--", PYTHON,
                     guest.program(MOVING, "moving.py")], stderr=file)
    time.sleep(5)
    for seconds in (DAY, -2 * DAY, DAY):
        jump(seconds)
        time.sleep(8)
    text = read(log)
    check("has not moved" not in text and "saved" not in text, text)
    return "no alarm"


CASES = (capture_forwards, capture_backwards, watch_jumps)
