"""Threads that poll for another thread of this process, each named after what it polls.

Prints one line, a JSON object of each poller's name and the thread id that it waits for (null: not
to be told), when all of them poll.
"""
import concurrent.futures
import json
import queue
import signal
import threading
import time

pool = concurrent.futures.ThreadPoolExecutor(1)
begun = {}
ids = queue.Queue()


def work(kept=None):
    ids.put(threading.get_native_id())
    time.sleep(10000)
    if kept is not None:
        kept.set()


def helper(kept=None):
    thread = threading.Thread(target=work, args=(kept,), daemon=True)
    thread.start()
    return thread, ids.get()


def polls_thread(poll):
    thread, tid = helper()
    poll(tid)
    while thread.is_alive():
        time.sleep(0.01)


class Owner:
    def __init__(self):
        self.thread, self.tid = helper()

    def wait(self):
        while self.thread.is_alive():
            time.sleep(0.01)


def polls_attribute(poll):
    owner = Owner()
    poll(owner.tid)
    owner.wait()


def polls_future(poll):
    future = pool.submit(work)
    poll(ids.get())
    while not future.done():
        time.sleep(0.01)


def polls_event(poll):
    event = threading.Event()
    tid = helper(event)[1]
    poll(tid)
    while not event.is_set():
        time.sleep(0.01)


def polls_future_beside_thread(poll):
    future = pool.submit(work)  # which is not begun: the pool has one thread
    beside, _ = helper()
    poll(None)
    while not future.done():
        time.sleep(0.01)
    beside.join()


def polls_one_of_two(poll):
    one, _ = helper()
    other, _ = helper()
    poll(None)
    while one.is_alive() or other.is_alive():
        time.sleep(0.01)


def polls_with(event, told):
    told(threading.get_native_id())
    while not event.is_set():
        time.sleep(0.01)


def polls_together(poll):
    event = threading.Event()
    other = queue.Queue()
    threading.Thread(target=polls_with, args=(event, other.put), daemon=True).start()
    poll(other.get())
    while not event.is_set():
        time.sleep(0.01)


expected = {}
for poller in (polls_thread, polls_attribute, polls_future, polls_event, polls_future_beside_thread,
               polls_one_of_two, polls_together):
    told = queue.Queue()
    threading.Thread(target=poller, args=(told.put,), name=poller.__name__, daemon=True).start()
    expected[poller.__name__] = told.get()
print(json.dumps(expected), flush=True)
signal.pause()
