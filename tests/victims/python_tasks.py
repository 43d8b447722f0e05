"""asyncio tasks that wait in every possible way; prints the truth about each, then "ready".

  task NAME STATE AWAITS     STATE: waits, runs, new; AWAITS: name of a task, "<Type>", or -
  member NAME            of what it gathers or waits for, where that has not ended: as AWAITS
  frame LINE\tFUNCTION\tFILE   of the task before, innermost first; of the running one the outermost
The facts come from Python itself: cr_frame, cr_await and the like, and gc.get_referents for small
objects that have no such attributes. The main thread blocks in the task "main" until stdin ends.
"""
import asyncio
import gc
import inspect
import sys
import types

OPAQUE = {"coroutine_wrapper", "async_generator_asend", "async_generator_athrow",
          "anext_awaitable", "FutureIter"}


async def inner(future):
    long_line = (await
                 future)
    return long_line


async def middle(future):
    for _ in range(2):
        with open("/dev/null", encoding="ascii"):
            await inner(future)


class Waits:
    """Its __await__ is a generator that delegates to a coroutine's."""

    def __init__(self, future):
        self.future = future

    def __await__(self):
        value = yield from middle(self.future).__await__()
        return value


async def awaits_object(future):
    await Waits(future)


async def produce(future):
    yield 1
    await middle(future)
    yield 2


async def consume(future):
    async for _ in produce(future):
        pass


@types.coroutine
def old_style(future):
    yield from inner(future)


async def awaits_generator(future):
    await old_style(future)


class Manager:
    def __init__(self, future):
        self.future = future

    async def __aenter__(self):
        await inner(self.future)

    async def __aexit__(self, *_):
        pass


async def enters(future):
    async with Manager(future):
        pass


async def awaits_task(task):
    await task


async def gathers(*tasks):
    await asyncio.gather(*tasks)


async def waits_for_any(*tasks):
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)


async def waits_with_limit(task):
    await asyncio.wait_for(task, 3600)


async def takes_completed(*tasks):
    for next_one in asyncio.as_completed(tasks):
        await next_one


async def groups(future):
    async with asyncio.TaskGroup() as group:
        MEMBERS["group"] = [group.create_task(inner(future), name=f"in-group-{i}")
                            for i in range(2)]
        group.create_task(not_begun(), name="ended-in-group")


async def sleeps():
    await asyncio.sleep(3600)


async def wartet_auf_größe(event):
    await event.wait()


async def locks(lock, future):
    async with lock:
        await middle(future)


async def deep(depth, future):
    if depth == 0:
        await future
    else:
        await deep(depth - 1, future)


async def not_begun():
    pass


# Name of a task -> the objects it waits for, if there are several.
MEMBERS = {}
# Name of a task -> that of the one that has the lock that it waits for.
HAVE_LOCK = {"wants-lock": "has-lock", "too": "has-lock"}


def name_of_awaited(awaited):
    return awaited.get_name() if isinstance(awaited, asyncio.Task) else f"<{type(awaited).__name__}>"


def members_of(name, awaited):
    if isinstance(awaited, asyncio.Task):
        return []
    members = [one for one in MEMBERS.get(name, []) if not one.done()]
    return sorted(map(name_of_awaited, members),
                  key=lambda name: (name.startswith("<"), len(name), name))


def frame_of(awaitable):
    for kind in "cr", "gi", "ag":
        if hasattr(awaitable, kind + "_frame"):
            waits = "gi_yieldfrom" if kind == "gi" else kind + "_await"
            return getattr(awaitable, kind + "_frame"), getattr(awaitable, waits)
    return None, None


def name_of(frame):
    return getattr(frame.f_code, "co_qualname", frame.f_code.co_name)


def look_behind(opaque):
    kinds = types.CoroutineType, types.GeneratorType, types.AsyncGeneratorType, asyncio.Future
    return next(item for item in gc.get_referents(opaque)
                if isinstance(item, kinds) or type(item).__name__ in OPAQUE)


def tell(task, state):
    frames, awaited = [], task.get_coro()
    while awaited is not None:
        frame, inwards = frame_of(awaited)
        if frame is not None:
            frames.append((frame.f_lineno, name_of(frame), frame.f_code.co_filename))
            awaited = inwards if state == "waits" else None
        elif type(awaited).__name__ in OPAQUE:
            awaited = look_behind(awaited)
        else:
            break
    if state != "runs":
        shown = [(frame.f_lineno, name_of(frame)) for frame in task.get_stack()]
        assert shown == [frames[0][:2]], (shown, frames)
    awaits = "-" if awaited is None else name_of_awaited(awaited)
    print("task", task.get_name(), state, HAVE_LOCK.get(task.get_name(), awaits))
    for member in members_of(task.get_name(), awaited):
        print("member", member)
    for line, function, file in reversed(frames):
        print(f"frame {line}\t{function}\t{file}")


def tell_and_block(current):
    for task in asyncio.all_tasks():
        coroutine = task.get_coro()
        begun = inspect.getcoroutinestate(coroutine) != inspect.CORO_CREATED
        tell(task, "runs" if task is current else "waits" if begun else "new")
    print("ready", flush=True)
    sys.stdin.read()


async def main():
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    keep = []

    def start(name, coroutine):
        task = loop.create_task(coroutine)
        if name:
            task.set_name(name)
        keep.append(task)
        return task

    first = start("", middle(future))
    start("object", awaits_object(future))
    start("generator", awaits_generator(future))
    start("asyncgen", consume(future))
    start("manager", enters(future))
    start("task", awaits_task(first))
    ended = start("ended", not_begun())
    several = {"gather": gathers, "any": waits_for_any, "completed": takes_completed}
    for name, function in several.items():
        MEMBERS[name] = [first, future, ended]
        start(name, function(*MEMBERS[name]))
    if sys.version_info < (3, 13):
        del MEMBERS["completed"]  # nothing in the task leads to them
    MEMBERS["limit"] = [first]
    start("limit", waits_with_limit(first))
    if hasattr(asyncio, "TaskGroup"):
        start("group", groups(future))
    start("sleep", sleeps())
    start("größe", wartet_auf_größe(asyncio.Event()))
    start("deep", deep(40, future))
    lock = asyncio.Lock()
    for name in ("has-lock", *HAVE_LOCK):
        start(name, locks(lock, future))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    start("new", not_begun())
    current = asyncio.current_task()
    current.set_name("main")
    tell_and_block(current)


asyncio.run(main())
