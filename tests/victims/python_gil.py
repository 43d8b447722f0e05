"""The main thread blocks in pause() without releasing the GIL; another waits for the GIL."""
import ctypes
import platform
import threading
import time

libc = ctypes.CDLL(None)
GETTID = {"x86_64": 186, "aarch64": 178}[platform.machine()]  # before 3.8 no thread tells its number
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
