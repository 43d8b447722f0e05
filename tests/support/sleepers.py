"""Small Python programs that say "ready" and then hang, for `python -c`."""

SLEEP = "import time; print('ready', flush=True); time.sleep(3600)"
# A thread of it runs all the time. Without CPU, a running thread cannot be stopped in time, so the main
# thread sleeps.
SPIN = """
import threading
def spin():
    while True:
        pass
threading.Thread(target=spin, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""
