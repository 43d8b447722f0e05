"""Page tables of five levels, with which a process may have memory above 2^47 if it asks for it."""

from guest import PYTHON, check, need, page_table_levels

FAR = """
import ctypes, mmap, threading, time
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
SIZE = 1 << 20
stack = libc.mmap(1 << 52, SIZE, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
attributes = ctypes.create_string_buffer(64)
libc.pthread_attr_init(attributes)
libc.pthread_attr_setstack(attributes, ctypes.c_void_p(stack), ctypes.c_size_t(SIZE))
thread = ctypes.c_ulong()
ROUTINE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
@ROUTINE
def on_far_stack(_):
    wait_far_away()
    return 0
def wait_far_away():
    time.sleep(3600)
libc.pthread_create(ctypes.byref(thread), attributes, on_far_stack, None)
time.sleep(0.5)
print("ready", hex(stack), flush=True)
time.sleep(3600)
"""


def far_stack(guest):
    """A thread whose stack is above 2^47 (five-level page tables): native and Python frames are read"""
    need(page_table_levels() == 5, "it uses four levels")
    process = guest.start([PYTHON, guest.program(FAR)])
    need(int(process.said[0], 16) >> 47, f"the kernel gave no such memory: {process.said[0]}")
    run = guest.oddrank("node", process.pid)
    threads = run.json["ranks"][0]["threads"]
    far = next((thread for thread in threads if "wait_far_away" in [row["name"] for row in thread["frames"]]), None)
    check(far is not None, run)
    names = [row["name"] for row in far["frames"]]
    # It begins in the C library's clone(), whose name needs debug symbols.
    modules = [row["module"] or "" for row in far["frames"]]
    check(names[0] == "clock_nanosleep" and modules[-1].endswith("/libc.so.6"), far)
    guest.unharmed(process.pid)
    return f"stack at {process.said[0]} read whole"


CASES = (far_stack,)
