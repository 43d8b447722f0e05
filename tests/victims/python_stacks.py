"""Blocked threads in every kind of Python frame; prints what each of them is doing.

Lines on stdout, each thread's frames innermost first:
  version 3.11.7
  thread TID NAME
  frame LINE<TAB>FUNCTION<TAB>FILE
  ready
Then all threads stay blocked until stdin is closed; the main thread in a read, on the line that it
printed.
"""
import functools
import linecache
import os
import platform
import select
import sys
import sysconfig
import threading
import time

stop = threading.Event()
blocked = []
tids = {}
FUTEX = "202"  # on x86-64
DEEP = int(os.environ.get("VICTIM_DEPTH", "500"))


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)  # 3.11+


def wait_in_lock():
    stop.wait()


def deep(n):
    if n > 0:
        return deep(n - 1)
    wait_in_lock()


class Model:
    def forward(self, depth):
        def inner(x):
            if x:
                return inner(x - 1)
            return functools.partial(self.layer, depth)()

        return inner(2)

    def layer(self, depth, scale=0.5):
        step = 1207
        backend = "gloo"
        api_token = "never to be seen"
        shape = (2, 3)
        captured = [1, 2, 3, 4, 5]
        flag = True
        nothing = None
        negative = -123456789012
        show = lambda: captured
        wait_in_lock()
        return (step, backend, api_token, shape, flag, nothing, negative, show)

    @classmethod
    def from_class(cls):
        time.sleep(3600)

    @staticmethod
    def from_static(reader):
        select.select([reader], [], [])


def key_function(item):
    wait_in_lock()
    return item


def in_sorted():
    return sorted([3, 1, 2], key=key_function)


def generator():
    for i in range(3):
        wait_in_lock()
        yield i


def in_generator():
    return list(i for i in generator())


def in_lambda():
    return (lambda: (lambda: wait_in_lock())())()


def multi_line_call():
    # The line of a call goes back to where the call began: negative line deltas.
    return max(
        1,
        2,
        wait_in_lock(

        ) or 3,
        4,
    )


class Destroyed:
    def __del__(self):
        wait_in_lock()


def leaving_a_function():
    local = Destroyed()
    return 1


def clé_訓練():
    wait_in_lock()


def from_foreign_file():
    # A non-ASCII file name; lines with more than 127 and more than 255 bytes of code around the call,
    # which is more than 127 lines further on.
    before = "    x = 1" + " + x" * 200 + "\n"
    after = "    x = 1" + " + x" * 45 + "\n    x = 2\n"
    source = "def \u00e4u\u00dfer(f):\n    x = 1\n" + before + "\n" * 300 + "    f()\n" + after
    scope = {}
    exec(compile(source, "/tmp/d\u00e9p\u00f4t/\u706b.py", "exec"), scope)
    scope["\u00e4u\u00dfer"](wait_in_lock)


def start(name, function, *arguments):
    thread = threading.Thread(target=function, args=arguments, name=name, daemon=True)
    before = set(os.listdir("/proc/self/task"))
    thread.start()
    new, = set(os.listdir("/proc/self/task")) - before
    tids[thread] = int(new)  # before 3.8 no thread tells it
    blocked.append(thread)
    return thread


def frames_of(frame):
    while frame is not None:
        code = frame.f_code
        yield "frame %d\t%s\t%s" % (frame.f_lineno, name_of(code), code.co_filename)
        frame = frame.f_back


def is_blocked(thread):
    # Requires that the thread is at the blocking line: a thread that wants the GIL waits, too, but
    # with a time limit (the fourth argument of futex).
    frame = sys._current_frames().get(thread.ident)
    if frame is None:
        return False
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno)
    if not any(call in line for call in ("waiter.acquire()", "time.sleep(3600)", "select.select(")):
        return False
    with open("/proc/self/task/%d/syscall" % tids[thread]) as file:
        words = file.read().split()
    return words[0] != "running" and (words[0] != FUTEX or words[4] == "0x0")


def report(frame):
    suffix = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    lines = ["version " + platform.python_version() + suffix]
    for thread in blocked:
        lines.append("thread %d %s" % (tids[thread], thread.name))
        lines.extend(frames_of(sys._current_frames()[thread.ident]))
    lines.append("thread %d main" % os.getpid())
    lines.extend(frames_of(frame))
    lines.append("ready")
    sys.stdout.buffer.write(("\n".join(lines) + "\n").encode())
    sys.stdout.buffer.flush()


def main():
    reader, _ = os.pipe()
    threading.stack_size(64 * 1024 * 1024)
    sys.setrecursionlimit(DEEP + 200)
    start("deep", deep, DEEP)
    threading.stack_size(0)
    start("method", Model().forward, 7)
    start("classmethod", Model.from_class)
    start("staticmethod", Model.from_static, reader)
    start("sorted", in_sorted)
    start("generator", in_generator)
    start("lambda", in_lambda)
    start("multi_line", multi_line_call)
    # Called by C, so that it leaves an evaluation loop that has no other frame.
    start("destructor", functools.partial(leaving_a_function))
    start("unicode", clé_訓練)
    start("foreign_file", from_foreign_file)
    while not all(is_blocked(thread) for thread in blocked):
        time.sleep(0.01)
    report(sys._getframe()); os.read(0, 1)


main()
