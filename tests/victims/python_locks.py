"""Python threads that wait for each other's locks: `python_locks.py MODE`. Prints "ready" and tids
before it blocks: first the thread that the main thread's wait must name (0: no thread may be named),
then a second one. Runs on every Python that oddrank reads."""
import asyncio
import concurrent.futures
import ctypes
import queue
import sys
import threading
import time

first = threading.Lock()
second = threading.Lock()


def here():
    return threading.get_native_id()


def ready(owner=0, other=0):
    print("ready %d %d" % (owner, other), flush=True)


def start(work):
    """Returns when the thread has sent its tid."""
    said = threading.Semaphore(0)
    tid = []

    def run():
        tid.append(here())
        work(said)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    said.acquire()
    return thread, tid[0]


def for_ever():
    threading.Event().wait()


def has_second_wants_first(said):
    with second:
        said.release()
        with first:
            pass


def crossed():
    with first:
        _, other = start(has_second_wants_first)
        ready(other)
        with second:
            pass


class Store:
    """A lock in an attribute, and a `with` inside a loop, a try and another `with`."""

    def __init__(self, go):
        self.lock = first
        self.go = go

    def save(self):
        for _ in range(1):
            try:
                with self.lock, open("/dev/null", "w") as sink:
                    sink.write("x")
                    return self.flush([1, 2])
            finally:
                self.go = None

    def flush(self, parts):
        self.go.release()
        for _ in parts:
            with second:
                pass


def crossed_deep():
    go = threading.Semaphore(0)

    def has_second(said):
        with second:
            said.release()
            with go:
                pass
            try:
                with first:
                    pass
            finally:
                pass

    for _ in range(3):
        with second:  # leaves its old value in the slot
            pass
    _, other = start(has_second)
    ready(other)
    Store(go).save()


def left_before():
    """One thread has left a `with` of the lock, and its stack slot still has the lock. Another
    thread got the lock by acquire(), which leaves no trace. So no thread may be named."""
    def acquires(said):
        first.acquire()
        said.release()
        for_ever()

    def left(said):
        with first:
            pass
        said.release()
        for_ever()

    start(left)
    start(acquires)
    ready()
    with first:
        pass


def acquired_crossed():
    """Two locks in different order, by acquire() and release() without a `with`."""
    def has_second(said):
        second.acquire()
        said.release()
        try:
            first.acquire()
            first.release()
        finally:
            second.release()

    first.acquire()
    try:
        _, other = start(has_second)
        ready(other)
        second.acquire()
        second.release()
    finally:
        first.release()


def acquired_by_chance():
    """Where the thread stands, it may have given the lock back: another one has it."""
    def acquires(said):
        first.acquire()
        said.release()
        for_ever()

    def may_have_it(said, gives=True):
        first.acquire()
        if gives:
            first.release()
        said.release()
        for_ever()
        first.release()

    start(may_have_it)
    start(acquires)
    ready()
    first.acquire()


def acquired_as_signal():
    """The lock is a signal for the one who has acquired it, and some other thread gives it."""
    start(lambda said: (said.release(), for_ever()))
    first.acquire()
    ready()
    first.acquire()
    first.release()


def twice():
    with first:
        ready(here())
        with first:
            pass


class Events(queue.Queue):
    def _put(self, item):
        """What a finaliser does that the garbage collector runs here."""
        super()._put(item)
        self.put(item)


def twice_beside_a_reader():
    """The reader is in the body of a `with` of the queue's lock, too, and has given it back to wait."""
    events = Events()
    start(lambda said: (said.release(), events.get()))
    while not events.not_empty._waiters:
        time.sleep(0.001)
    ready(here())
    events.put(1)


def recursive():
    lock = threading.RLock()

    def holds(said):
        lock.acquire()
        lock.acquire()
        said.release()
        for_ever()

    _, other = start(holds)
    ready(other)
    with lock:
        pass


def recursive_crossed():
    one, two = threading.RLock(), threading.Condition()

    def holds(said):
        with two:
            said.release()
            one.acquire()

    with one:
        _, other = start(holds)
        ready(other)
        two.acquire()


def join():
    thread, other = start(lambda said: (said.release(), for_ever()))
    ready(other)
    thread.join()


def join_crossed():
    def wants_first(said):
        said.release()
        with first:
            pass

    with first:
        thread, other = start(wants_first)
        ready(other)
        thread.join()


def imports():
    """A module whose import waits for a thread that needs the module."""
    sys.path.insert(0, sys.argv[2])
    with open(sys.argv[2] + "/slow_module.py", "w") as file:
        file.write("import threading, __main__\n"
                   "__main__.said.release()\n"
                   "threading.Event().wait()\n")
    global said
    said = threading.Semaphore(0)
    tid = []

    def importer():
        tid.append(here())
        __import__("slow_module")

    threading.Thread(target=importer, daemon=True).start()
    said.acquire()
    ready(tid[0])
    __import__("slow_module")


def condition():
    nobody_notifies = threading.Condition()
    with nobody_notifies:
        ready()
        nobody_notifies.wait()


def get():
    ready()
    queue.Queue().get()


def event():
    ready()
    threading.Event().wait()


def future():
    ready()
    concurrent.futures.Future().result()


def one_thread_pool():
    """The work that a pool's only thread does waits for other work of the same pool."""
    pool = concurrent.futures.ThreadPoolExecutor(1)

    def outer():
        ready(here())
        pool.submit(int).result()

    pool.submit(outer).result()


def full_pool():
    """All of a pool's threads wait for work that is in its queue, behind other work."""
    pool = concurrent.futures.ThreadPoolExecutor(2)
    both = threading.Barrier(2)
    tids = [0, 0]

    def outer(at):
        tids[at] = here()
        both.wait()
        return pool.submit(int).result()

    tasks = [pool.submit(outer, at) for at in range(2)]
    while pool._work_queue.qsize() < 2:
        time.sleep(0.001)
    ready(*tids)
    tasks[0].result()


def two_pools():
    """Each of two pools' only threads waits for work in the other's queue."""
    pools = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(2)]
    both = threading.Barrier(2)
    tids = [0, 0]

    def outer(of):
        tids[of] = here()
        both.wait()
        return pools[1 - of].submit(int).result()

    tasks = [pools[of].submit(outer, of) for of in range(2)]
    while not all(pool._work_queue.qsize() for pool in pools):
        time.sleep(0.001)
    ready(*tids)
    tasks[0].result()


def pool_with_a_free_way():
    """One of a pool's threads sleeps, so that the work in its queue is done some time: nobody may be
    named for it."""
    pool = concurrent.futures.ThreadPoolExecutor(2)
    pool.submit(for_ever)

    def outer():
        inner = pool.submit(int)
        ready()
        inner.result()

    pool.submit(outer)
    while pool._work_queue.qsize() < 1:
        time.sleep(0.001)
    pool.submit(int).result()


def loop_s_own_coroutine(started=False):
    """A coroutine waits, in the loop's thread, for what another one of the same loop returns."""
    loop = asyncio.new_event_loop()
    slow = asyncio.run_coroutine_threadsafe(asyncio.sleep(3600), loop)

    async def blocks():
        await asyncio.sleep(0.01)
        ready(here())
        if started:
            slow.result()
        else:
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()

    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(blocks(), loop).result()


def loop_s_begun_coroutine():
    loop_s_own_coroutine(started=True)


def loop_s_other_future():
    """A coroutine waits, in the loop's thread, for a future that the loop waits for, too, and does not
    give."""
    other = concurrent.futures.Future()

    async def awaits():
        await asyncio.wrap_future(other)

    async def blocks():
        task = asyncio.ensure_future(awaits())
        await asyncio.sleep(0.01)
        ready()
        other.result()
        await task

    asyncio.run(blocks())


def gil():
    """The main thread keeps the GIL and waits for a mutex; the mutex's owner wants the GIL."""
    mutex = ctypes.create_string_buffer(64)
    lock_without_gil = ctypes.CDLL(None).pthread_mutex_lock
    lock_with_gil = ctypes.PyDLL(None).pthread_mutex_lock  # calls through PyDLL keep the GIL

    def owns(said):
        lock_without_gil(mutex)
        said.release()
        while True:
            pass

    _, other = start(owns)
    ready(other)
    lock_with_gil(mutex)


getattr(sys.modules["__main__"], sys.argv[1])()
