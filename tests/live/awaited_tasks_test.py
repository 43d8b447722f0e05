#!/usr/bin/env python3
"""Tests that a process tells which asyncio tasks its threads wait for, without --tasks.

    awaited_tasks_test.py --oddrank PATH
"""

import os
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
# pylint: disable=wrong-import-position
import harness
import interpreters
import proc_facts

# The main thread waits for a chain of tasks; no thread waits for the one beside it.
MAIN = """
import asyncio

async def weigh():
    print("ready", flush=True)
    await asyncio.Event().wait()

async def sort_out():
    await asyncio.gather(weigh(), asyncio.sleep(0))

async def beside():
    await asyncio.Event().wait()

async def main():
    keep = asyncio.create_task(beside(), name="beside")
    await asyncio.create_task(sort_out(), name="sorts")

asyncio.run(main())
"""
# The main thread waits for a coroutine on the loop of another thread.
THREAD = """
import asyncio, threading

async def weigh():
    print("ready", flush=True)
    await asyncio.get_running_loop().create_future()

loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()
asyncio.run_coroutine_threadsafe(weigh(), loop).result()
"""
# Each of two tasks has a lock and wants the other's, if they `cross`; else one has what both want.
LOCKS = """
import asyncio, sys

async def move(own, other, inside):
    async with own:
        inside.append(own)
        while len(inside) < {inside}:
            await asyncio.sleep(0.01)
        print("ready", flush=True)
        if {sleeps}:
            await asyncio.sleep(10 ** 6)
        async with other:
            pass

async def main():
    locks, inside = [asyncio.{lock}, asyncio.{lock}], []
    await asyncio.gather(*(move(locks[own], locks[other], inside) for own, other in [{order}]))

asyncio.run(main())
"""
ALONE = """
import asyncio

async def main():
    print("ready", flush=True)
    await asyncio.{waits}

asyncio.run(main())
"""
# A coroutine of the first one has the question of the second one, and does not answer. The main
# thread of the first one waits for the second one, which it has no way to wake its loop for.
SERVER = """
import asyncio, socket, sys, threading

async def answer(reader, writer):
    await reader.readline()
    print("asked", flush=True)
    await {waits}

async def serve():
    door = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(door.sockets[0].getsockname()[1], flush=True)
    await door.serve_forever()

door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
link, _ = door.accept()
threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
link.recv(10)
"""
# The same on the main thread, where a callback keeps the loop from running tasks.
CALLBACK = SERVER[:SERVER.index("link, _")].replace(
    "await {waits}", "asyncio.get_running_loop().call_soon(stand)").replace(
    "async def answer", "def stand():\n    threading.Event().wait()\n\nasync def answer") + "asyncio.run(serve())"
# A coroutine of the first one waits for an answer from outside of the job, and the second one for the
# first one.
ASKS = """
import asyncio, socket, sys

async def ask(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"a\\n")
    print("asked", flush=True)
    await reader.readline()

async def main(port):
    await {waits}

door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
link, _ = door.accept()
asyncio.run(main(int(sys.stdin.readline())))
"""
# The first one's coroutine waits for a thread of a pool, which opens a named pipe.
OPENS = """
import asyncio, socket, sys

door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
link, _ = door.accept()
path = sys.stdin.readline().strip()
asyncio.run(asyncio.to_thread(open, path))
"""
# trio's functions and attributes as far as oddrank knows them; no task of it ends.
TRIO = {
    "__init__.py": "from trio._core._run import open_nursery, run\nfrom trio._sync import Event, Lock\n"
                   "from trio._threads import to_thread_run_sync\n",
    "_core/__init__.py": "",
    "_core/_traps.py": """
import types

@types.coroutine
def _async_yield(obj):
    return (yield obj)

async def wait_task_rescheduled():
    await _async_yield(False)

async def checkpoint():
    await _async_yield(True)
""",
    "_core/_io_epoll.py": """
import select, socket

class EpollIOManager:
    def __init__(self):
        self.ends = socket.socketpair()
        self._epoll = select.epoll()
        self._epoll.register(self.ends[0], select.EPOLLIN)

    def get_events(self, timeout):
        return self._epoll.poll(timeout)
""",
    "_core/_run.py": """
import threading
from trio._core import _io_epoll, _traps

class Task:
    __slots__ = ("coro", "name", "_runner")

class Runner:
    __slots__ = ("tasks", "main_task", "runq", "current", "entry_queue", "trio_token")
    last = None

    def spawn(self, function, *arguments):
        task = Task()
        task.coro, task.name, task._runner = function(*arguments), function.__name__, self
        self.tasks.add(task)
        self.runq.append(task)
        return task

class TrioToken:
    __slots__ = ("_reentry_queue",)

class Nursery:
    def __init__(self):
        self._children = set()

    def start_soon(self, function, *arguments):
        self._children.add(Runner.last.spawn(function, *arguments))

    async def _nested_child_finished(self):
        await _traps.wait_task_rescheduled()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self._nested_child_finished()

open_nursery = Nursery

def started(function):
    runner = Runner.last = Runner()
    runner.tasks, runner.runq = set(), []
    runner.entry_queue, runner.trio_token = object(), TrioToken()
    runner.trio_token._reentry_queue = runner.entry_queue
    runner.main_task = runner.spawn(function)
    return runner

def turn(runner):
    while runner.runq:
        runner.current = runner.runq.pop(0)
        if runner.current.coro.send(None):
            runner.runq.append(runner.current)

def run(function):
    runner = started(function)
    manager = _io_epoll.EpollIOManager()
    while True:
        turn(runner)
        manager.get_events(24 * 3600)

class GuestState:
    __slots__ = ("runner",)

    def guest_tick(self):
        turn(self.runner)

        def get_events():
            _io_epoll.EpollIOManager().get_events(self.runner and 24 * 3600)
        threading.Thread(target=get_events, daemon=True).start()

def start_guest_run(function):
    guest = GuestState()
    guest.runner = started(function)
    guest.guest_tick()
""",
    "_sync.py": """
from trio._core import _run, _traps

class Event:
    async def wait(self):
        await _traps.wait_task_rescheduled()

class Lock:
    def __init__(self):
        self._owner = None

    async def acquire(self):
        if self._owner is None:
            self._owner = _run.Runner.last.current
            await _traps.checkpoint()
        else:
            await _traps.wait_task_rescheduled()
""",
    "_threads.py": """
import queue, threading
from trio._core import _run, _traps

def _send_message_to_trio(trio_token, message_to_trio):
    return message_to_trio.get()

def from_thread_run(trio_token):
    _send_message_to_trio(trio_token, queue.SimpleQueue())

async def to_thread_run_sync(function, *arguments):
    task_register = [_run.Runner.last.current]

    def worker_fn():
        return task_register and function(*arguments)
    threading.Thread(target=worker_fn, daemon=True).start()
    await _traps.wait_task_rescheduled()
""",
}
TRIOS = """
import trio

async def cross(own, other):
    await own.acquire()
    await other.acquire()

async def locks():
    one, two = trio.Lock(), trio.Lock()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(cross, one, two)
        nursery.start_soon(cross, two, one)
        print("ready", flush=True)

async def child():
    await trio.Event().wait()

async def event():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(child)
        print("ready", flush=True)

async def joins():
    import threading
    from trio import _threads
    from trio._core import _run
    thread = threading.Thread(target=_threads.from_thread_run, args=(_run.Runner.last.trio_token,))
    thread.start()
    print("ready", flush=True)
    thread.join()

trio.run({main})
"""
GUESTS = TRIOS.replace("trio.run({main})", """import asyncio
from trio._core import _run

async def host():
    _run.start_guest_run(event)
    await asyncio.Event().wait()

asyncio.run(host())""")
ACQUIRES = """
import asyncio

async def cross(own, other, taken):
    await own.acquire()
    try:
        taken.append(own)
        while len(taken) < 2:
            await asyncio.sleep(0)
        await other.acquire()
        other.release()
    finally:
        own.release()

async def main():
    one, two, taken = asyncio.Lock(), asyncio.Lock(), []
    tasks = [asyncio.create_task(cross(own, other, taken)) for own, other in ((one, two), (two, one))]
    while len(taken) < 2:
        await asyncio.sleep(0)
    print("ready", flush=True)
    await asyncio.gather(*tasks)

asyncio.run(main())
"""
TRIO_OPENS = """
import socket, sys, trio

door = socket.create_server(("127.0.0.1", 0))
print(door.getsockname()[1], flush=True)
link, _ = door.accept()
path = sys.stdin.readline().strip()

async def main():
    await trio.to_thread_run_sync(open, path)

trio.run(main)
"""
WAITS = """
import socket, sys
socket.create_connection(("127.0.0.1", int(sys.stdin.readline()))).recv(10)
"""
CLIENT = """
import socket, sys
keep = socket.create_connection(("127.0.0.1", int(sys.stdin.readline())))
link = socket.create_connection(("127.0.0.1", int(sys.stdin.readline())))
link.sendall(b"a\\n")
link.recv(10)
"""

# A server of two forms: its handlers wait for their turn, while the first one waits for its client; or for
# what the clients send.
ROOM = """
import asyncio, socket

async def serve():
    loop, turn, keep = asyncio.get_running_loop(), asyncio.Semaphore(1), []
    async def turn_form(link):
        async with turn:
            while await loop.sock_recv(link, 10) != b"end":
                pass
            await loop.sock_sendall(link, b"ok")
    async def chat_form(link):
        while await loop.sock_recv(link, 10):
            pass
    door = socket.create_server(("127.0.0.1", 0))
    door.setblocking(False)
    print(door.getsockname()[1], flush=True)
    while True:
        link, _ = await loop.sock_accept(door)
        link.setblocking(False)
        keep.append(loop.create_task({form}_form(link)))

asyncio.run(serve())
"""
GUEST = """
import socket, sys, time
link = socket.create_connection(("127.0.0.1", int(sys.stdin.readline())))
link.sendall(b"go")
print("sent", flush=True)
if {rests}:
    time.sleep(10 ** 6)
while link.recv(10):
    link.sendall(b"go")
"""


class AwaitedTasks(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        for name, text in TRIO.items():
            path = os.path.join(folder, "trio", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
        self.fifo = os.path.join(folder, "shard")
        os.mkfifo(self.fifo)
        self.enterContext(unittest.mock.patch.dict(os.environ, {"PYTHONPATH": folder}))

    def read(self, code, *options):
        """Returns the pid, and the JSON report's row of the process, once its main thread waits."""
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.sleeping(process.pid), "it waits")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid),
                                            *harness.PATIENTLY, *options, "--json", "-"]))
        return process.pid, run.json()["ranks"][0]

    def test_the_chain_of_the_task_that_the_main_thread_runs(self):
        pid, row = self.read(MAIN)
        tasks = {task["name"]: task for task in row["tasks"]}
        main = next(task for task in row["tasks"] if task["awaited_by"] == pid)
        self.assertEqual(main["awaits"], "sorts")
        self.assertEqual([frame["name"] for frame in main["frames"]], ["main"])
        self.assertIsNone(tasks["sorts"]["awaited_by"])
        last = tasks[tasks["sorts"]["members"][0]]
        self.assertEqual([frame["name"] for frame in last["frames"]], ["Event.wait", "weigh"])
        self.assertEqual(len(tasks), 3, tasks)

    def test_all_tasks_if_they_are_asked_for(self):
        _, row = self.read(MAIN, "--tasks")
        self.assertIn("beside", [task["name"] for task in row["tasks"]])

    def test_a_coroutine_on_the_loop_of_another_thread(self):
        pid, row = self.read(THREAD)
        self.assertEqual([task["awaited_by"] for task in row["tasks"]], [pid])
        self.assertIn("weigh", [frame["name"] for frame in row["tasks"][0]["frames"]])

    def verdict_of(self, python, code):
        process = subprocess.Popen([python, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        proc_facts.wait_until(lambda: proc_facts.sleeping(process.pid), "it waits")
        run = harness.Run(harness.run_here([harness.Options.oddrank, "node", str(process.pid),
                                            *harness.PATIENTLY, "--json", "-"]))
        return run.json()["verdict"]

    def test_tasks_that_want_each_others_locks(self):
        for python in [path for path in interpreters.all_here() if interpreters.version_of(path) >= (3, 8)]:
            others = ("Condition()", "Semaphore(1)") if python == sys.executable else ()
            for lock in ("Lock()", *others):
                for order, who in ("(0, 1), (1, 0)", "2 of its tasks wait for each other"), \
                                  ("(0, 0)", "a task of it waits for itself"):
                    with self.subTest(python=python, lock=lock, order=order):
                        verdict = self.verdict_of(python, LOCKS.format(
                            inside=order.count("("), sleeps=False, lock=lock, order=order))
                        self.assertEqual(verdict["kind"], "lock_deadlock", verdict)
                        self.assertIn(who, verdict["summary"])

    def test_tasks_that_want_each_others_locks_by_acquire(self):
        for python in [path for path in interpreters.all_here() if interpreters.version_of(path) >= (3, 8)]:
            with self.subTest(python=python):
                verdict = self.verdict_of(python, ACQUIRES)
                self.assertEqual(verdict["kind"], "lock_deadlock", verdict)
                self.assertIn("2 of its tasks wait for each other", verdict["summary"])

    def test_tasks_of_one_name(self):
        code = LOCKS.format(inside=2, sleeps=False, lock="Lock()", order="(0, 1), (1, 0)").replace(
            "*(move(", "*(named(move(") .replace("inside) for", "inside)) for").replace(
            "async def main", "def named(work):\n    return asyncio.create_task(work, name='mover')\n\n"
            "async def main")
        verdict = self.verdict_of(sys.executable, code)
        self.assertEqual(verdict["kind"], "lock_deadlock", verdict)
        self.assertIn('task "mover (2)" has', verdict["summary"])

    def test_trios_tasks_that_want_each_others_locks(self):
        for python in [path for path in interpreters.all_here() if interpreters.version_of(path) >= (3, 8)]:
            with self.subTest(python=python):
                verdict = self.verdict_of(python, TRIOS.format(main="locks"))
                self.assertEqual(verdict["kind"], "lock_deadlock", verdict)
                self.assertIn("2 of its tasks wait for each other", verdict["summary"])

    def test_a_thread_that_wants_the_loop_of_trio_that_joins_it(self):
        for python in [path for path in interpreters.all_here() if interpreters.version_of(path) >= (3, 8)]:
            with self.subTest(python=python):
                verdict = self.verdict_of(python, TRIOS.format(main="joins"))
                self.assertEqual(verdict["kind"], "lock_deadlock", verdict)
                self.assertIn("a coroutine of the event loop that it runs", str(verdict))

    def test_the_chain_of_trios_main_task(self):
        pid, row = self.read(TRIOS.format(main="event"))
        tasks = {task["name"]: task for task in row["tasks"]}
        self.assertEqual(tasks["event"]["awaited_by"], pid)
        self.assertEqual(tasks["event"]["members"], ["child"])
        self.assertEqual({task["kind"] for task in row["tasks"]}, {"trio"})
        self.assertEqual([frame["name"] for frame in tasks["child"]["frames"]], ["Event.wait", "child"])

    def test_trios_tasks_in_guest_mode(self):
        _, row = self.read(GUESTS, "--tasks")
        tasks = {task["name"]: task for task in row["tasks"] if task["kind"] == "trio"}
        self.assertEqual(tasks["event"]["members"], ["child"])
        self.assertEqual([frame["name"] for frame in tasks["child"]["frames"]], ["Event.wait", "child"])

    def test_a_lock_that_a_sleeping_task_has_is_no_deadlock(self):
        verdict = self.verdict_of(sys.executable, LOCKS.format(
            inside=1, sleeps=True, lock="Lock()", order="(0, 1), (0, 1)"))
        self.assertIn(verdict["kind"], ("healthy", "unknown"), verdict)

    def test_a_loop_that_nothing_wakes_is_not_idle(self):
        for waits in ("Event().wait()", "Queue().get()"):
            with self.subTest(waits):
                self.assertEqual(self.verdict_of(sys.executable, ALONE.format(waits=waits))["kind"],
                                 "unknown")

    def start(self, code, rank, world=2):
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, bufsize=0,
                                   env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(world)})
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def verdict_on(self, *ranks):
        for process in ranks:
            proc_facts.wait_until(lambda process=process: proc_facts.sleeping(process.pid), "it waits")
        run = harness.Run(harness.run_here(
            [harness.Options.oddrank, "node", *(str(process.pid) for process in ranks),
             *harness.PATIENTLY, "--json", "-"]))
        return run.json()["verdict"]

    def test_a_coroutine_that_waits_for_an_answer_from_outside(self):
        service = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(service.close)
        port = service.getsockname()[1]
        for waits in ("ask(port)", "asyncio.gather(ask(port), asyncio.sleep(0))"):
            with self.subTest(waits):
                asks, other = self.start(ASKS.format(waits=waits), 0), self.start(WAITS, 1)
                other.stdin.write(asks.stdout.readline())
                asks.stdin.write(b"%d\n" % port)
                self.assertEqual(asks.stdout.readline(), b"asked\n")
                verdict = self.verdict_on(asks, other)
                self.assertEqual([one["rank"] for one in verdict["culprits"]], [0], verdict)
                self.assertEqual(verdict["kind"], "external_wait", verdict)
                self.assertRegex(verdict["summary"], "waits for its coroutine .*, which waits for an "
                                 fr"answer from outside \(TCP to 127.0.0.1:{port}, pid {os.getpid()}\)")

    def test_a_coroutine_that_waits_for_a_thread_of_a_pool(self):
        for code in (OPENS, TRIO_OPENS):
            with self.subTest(code):
                opens, other = self.start(code, 0), self.start(WAITS, 1)
                other.stdin.write(opens.stdout.readline())
                opens.stdin.write(self.fifo.encode() + b"\n")
                proc_facts.wait_until(lambda pid=opens.pid: proc_facts.opens_pipe(pid), "it opens the pipe")
                verdict = self.verdict_on(opens, other)
                self.assertEqual([one["rank"] for one in verdict["culprits"]], [0], verdict)
                self.assertEqual(verdict["kind"], "io_stall", verdict)

    def serve(self, code):
        """Returns the verdict on a server and its client."""
        server, client = self.start(code, 0), self.start(CLIENT, 1)
        client.stdin.write(server.stdout.readline())
        client.stdin.write(server.stdout.readline())
        self.assertEqual(server.stdout.readline(), b"asked\n")
        verdict = self.verdict_on(server, client)
        self.assertEqual([one["rank"] for one in verdict["culprits"]], [0], verdict)
        self.assertEqual(verdict["kind"], "stuck_rank")
        return verdict["summary"]

    def test_a_coroutine_that_owes_another_rank_an_answer(self):
        for waits in ("asyncio.Event().wait()", "asyncio.sleep(10 ** 6)"):
            with self.subTest(waits):
                self.assertIn("answer", self.serve(SERVER.format(waits=waits)))

    def test_a_callback_that_waits_does_not_wait_for_the_task_of_its_loop(self):
        summary = self.serve(CALLBACK)
        self.assertIn("waits for a threading.Event", summary)
        self.assertNotIn("coroutine", summary)

    def visit(self, form, *rests):
        """Returns the verdict on such a server and its guests."""
        server = self.start(ROOM.format(form=form), 0, 1 + len(rests))
        port = server.stdout.readline()
        guests = []
        for rank, each in enumerate(rests):
            guests.append(self.start(GUEST.format(rests=each), rank + 1, 1 + len(rests)))
            guests[-1].stdin.write(port)
            self.assertEqual(guests[-1].stdout.readline(), b"sent\n")
            proc_facts.wait_until(lambda pid=guests[-1].pid: proc_facts.sleeping(pid), "it waits")
        return self.verdict_on(server, *guests)

    def test_the_only_coroutine_with_a_client_keeps_the_others_from_their_turn(self):
        verdict = self.visit("turn", True, False)
        self.assertEqual([one["rank"] for one in verdict["culprits"]], [1], verdict)

    def test_a_server_and_clients_that_all_wait_for_messages_are_no_circle(self):
        verdict = self.visit("chat", False, False)
        self.assertEqual(verdict["culprits"], [], verdict)


if __name__ == "__main__":
    harness.main()
