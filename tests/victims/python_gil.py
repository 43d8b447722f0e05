"""The main thread blocks in pause() without releasing the GIL; another waits for the GIL."""
import ctypes
import threading
import time

libc = ctypes.CDLL(None)
GETTID = 186  # on x86-64; before 3.8 no thread tells its number
pause = ctypes.PyDLL(None).pause  # calls through PyDLL keep the GIL
go = threading.Event()


def wants_the_gil():
    print("waiter %d" % libc.syscall(GETTID), flush=True)
    go.set()
    while True:
        time.sleep(0.001)


threading.Thread(target=wants_the_gil, daemon=True).start()
go.wait()
print("ready", flush=True)
pause()
