"""Forks a Python child that waits for its stdin, and prints the child's pid."""
import os
import threading
import warnings


def waits():
    threading.Event().wait()


threading.Thread(target=waits, daemon=True).start()
warnings.simplefilter("ignore")  # about fork with threads, which training jobs do too
child = os.fork()
if child == 0:
    os.read(0, 1)
    os._exit(0)
print("ready %d" % child, flush=True)
os.waitpid(child, 0)
