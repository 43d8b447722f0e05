"""A forked child of Python that waits for its stdin; prints its pid."""
import os
import threading
import warnings


def waits():
    threading.Event().wait()


threading.Thread(target=waits, daemon=True).start()
warnings.simplefilter("ignore")  # of fork with threads: training jobs do just that
child = os.fork()
if child == 0:
    os.read(0, 1)
    os._exit(0)
print("ready %d" % child, flush=True)
os.waitpid(child, 0)
