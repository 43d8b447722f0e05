"""Faults of one rank whose reason lies deeper in its process: behind a thread, a task, a child, a
pipe or a service of its own. As in faults.py.
"""

from faults import FAULTY, FOREVER, Fault

OWN = ("stuck_rank", "skipped_collective", "lock_deadlock", "input_stall")
CHILD = ("child_deadlock", "input_stall", "io_stall", "stuck_rank", "skipped_collective")


def awaited_task(random, names):
    """A chain of tasks, the last of which waits for what nobody sets."""
    first, second = names.function(), names.function()
    end = random.choice((["await asyncio.Event().wait()"], ["await asyncio.Queue().get()"],
                         ["await asyncio.get_running_loop().create_future()"],
                         ["lock = asyncio.Lock()", "await lock.acquire()", "await lock.acquire()"]))
    middle = random.choice((f"await {first}()", f"await asyncio.create_task({first}())",
                            f"await asyncio.gather({first}(), asyncio.sleep(0.01))",
                            f"await asyncio.shield({first}())"))
    return Fault("awaited_task", [
        f"async def {first}():", f"    {FAULTY}", *("    " + line for line in end), "",
        f"async def {second}():", f"    {middle}", "", f"asyncio.run({second}())"],
        OWN, "waits in an event loop for a task that nothing ends")


def crossed_tasks(random, names):
    """Each of several tasks has a lock, and wants the next one's."""
    locks, inside, move, run = names.noun(), names.noun(), names.function(), names.function()
    count = random.choice((1, 2, 2, 3))
    kind = random.choice(("Lock()", "Lock()", "Condition()", "Semaphore(1)"))
    waits = random.choice((
        [f"await asyncio.gather(*({move}(at) for at in range({count})))"],
        [f"tasks = [asyncio.create_task({move}(at)) for at in range({count})]",
         "for task in tasks:", "    await task"],
        [f"await asyncio.wait_for(asyncio.gather(*({move}(at) for at in range({count}))), 10**5)"]))
    return Fault("crossed_tasks", [
        f"{locks}, {inside} = [asyncio.{kind} for _ in range({count})], []", "",
        f"async def {move}(at):", f"    async with {locks}[at]:", f"        {inside}.append(at)",
        f"        while len({inside}) < {count}:", "            await asyncio.sleep(0.01)",
        f"        if at == {count - 1}:", f"            {FAULTY}",
        f"        async with {locks}[(at + 1) % {count}]:", "            pass", "",
        f"async def {run}():", *("    " + line for line in waits), "",
        f"asyncio.run({run}())"], ("lock_deadlock",),
        "has asyncio tasks that wait for each other's locks, or one for its own")


def loop_in_thread(random, names):
    """The main thread waits for a coroutine on the loop of another thread."""
    loop, ask = names.noun(), names.function()
    stands = random.choice(("await asyncio.Event().wait()", f"{FOREVER}"))
    return Fault("loop_in_thread", [
        f"{loop} = asyncio.new_event_loop()",
        f"threading.Thread(target={loop}.run_forever, daemon=True).start()", "",
        f"async def {ask}():", f"    {stands}", "",
        f"future = asyncio.run_coroutine_threadsafe({ask}(), {loop})", FAULTY, "future.result()"],
        OWN, "waits for a coroutine on the event loop of its own thread, which stands")


def loop_lost_by_fork(random, names):
    """A child has the loop's object, and not the thread that would run it."""
    loop, work = names.noun(), names.function()
    return Fault("loop_lost_by_fork", [
        f"{loop} = asyncio.new_event_loop()",
        f"threading.Thread(target={loop}.run_forever, daemon=True).start()", "",
        f"def {work}():",
        f"    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), {loop}).result()", "",
        f"child = multiprocessing.get_context('fork').Process(target={work})", "child.start()",
        FAULTY, "child.join()"], ("child_deadlock",),
        "waits for a forked child, which waits for a loop whose thread it does not have")


def pool_lost_by_fork(random, names):
    pool, work = names.noun(), names.function()
    return Fault("pool_lost_by_fork", [
        f"{pool} = concurrent.futures.ThreadPoolExecutor(1)", f"{pool}.submit(int).result()", "",
        f"def {work}():", f"    {pool}.submit(int).result()", "",
        f"child = multiprocessing.get_context('fork').Process(target={work})", "child.start()",
        FAULTY, "child.join()"], ("child_deadlock",),
        "waits for a forked child, which waits for a pool whose thread it does not have")


def lock_kept_by_fork(random, names):
    """A thread had the lock when the child was forked; in the child nobody will give it back."""
    lock, event, hold, work = names.noun(), names.noun(), names.function(), names.function()
    return Fault("lock_kept_by_fork", [
        f"{lock}, {event} = threading.Lock(), threading.Event()", "",
        f"def {hold}():", f"    with {lock}:", f"        {event}.set()", "        time.sleep(1)", "",
        f"def {work}():", f"    with {lock}:", "        pass", "",
        f"threading.Thread(target={hold}, daemon=True).start()", f"{event}.wait()",
        f"child = multiprocessing.get_context('fork').Process(target={work})", "child.start()",
        FAULTY, "child.join()"], CHILD,
        "waits for a forked child, which waits for a lock that was held when it was forked")


def manager_queue(random, names):
    box = names.noun()
    asks = random.choice(((f"{box} = ctx.manager.Queue()", f"{box}.get()"),
                          (f"{box} = ctx.manager.Event()", f"{box}.wait()"),
                          (f"{box} = ctx.manager.Barrier(2)", f"{box}.wait()")))
    return Fault("manager_queue", [
        "ctx.manager = multiprocessing.get_context('fork').Manager()", asks[0], FAULTY, asks[1]],
        OWN + CHILD + ("external_wait",),
        "waits for something of a manager's process that nobody gives")


def once_within_itself(random, names):
    """The first call of pthread_once calls it again, as a static variable's initialiser does."""
    once, begin = names.noun(), names.function()
    inner = random.choice((f"libc.pthread_once(ctypes.byref({once}), {begin})",
                           f"(lambda: libc.pthread_once(ctypes.byref({once}), {begin}))()"))
    call = [f"libc.pthread_once(ctypes.byref({once}), {begin})"]
    return Fault("once_within_itself", [
        "libc = ctypes.CDLL(None)", f"{once} = ctypes.c_int(0)", "@ctypes.CFUNCTYPE(None)",
        f"def {begin}():", f"    {FAULTY}", f"    {inner}", "",
        *random.choice((call, [f"runner = threading.Thread(target=lambda: {call[0]})", "runner.start()",
                               "runner.join()"]))],
        ("lock_deadlock",), "waits in a first call for that call")


def own_pipe(random, names):
    """A thread fills a pipe that only its own process reads, and has the lock for it."""
    lock, ends, write = names.noun(), names.noun(), names.function()
    ready = names.noun()
    return Fault("own_pipe", [
        f"{lock}, {ready}, {ends} = threading.Lock(), threading.Event(), os.pipe()", "",
        f"def {write}():", f"    with {lock}:", f"        {ready}.set()",
        f"        os.write({ends}[1], bytes(10**6))", "",
        f"threading.Thread(target={write}, daemon=True).start()", f"{ready}.wait()", FAULTY,
        f"with {lock}:", f"    os.read({ends}[0], 100)"],
        OWN + ("io_stall", "resource_cycle"),
        "waits for a lock of a thread that writes into a pipe of the same process")


def log_pipe(random, names):
    """The thread that reads the log has ended."""
    ends, read = names.noun(), names.function()
    return Fault("log_pipe", [
        f"{ends} = os.pipe()", "", f"def {read}():", f"    os.read({ends}[0], 10)", "",
        f"threading.Thread(target={read}, daemon=True).start()", FAULTY, "while True:",
        f"    os.write({ends}[1], b'step done' * 100)"],
        OWN + ("io_stall",), "writes into a log pipe that nobody reads any more")


def inherited_pipe(random, names):
    """No end of file comes: a helper has inherited the writing end."""
    ends = names.noun()
    return Fault("inherited_pipe", [
        f"{ends} = os.pipe()",
        "helper = multiprocessing.get_context('fork').Process(target=time.sleep, args=(10**6,), "
        "daemon=True)", "helper.start()", f"os.close({ends}[1])", FAULTY,
        f"while os.read({ends}[0], 100):", "    ctx.last = 1"], CHILD + ("external_wait",),
        "reads a pipe to its end, whose writing end an idle helper has inherited")


def captured_grandchild(random, names):
    """The command has ended; what it left behind still has its output."""
    command = random.choice(("sleep 1000000 & exit 0", "(sleep 1000000; echo late) & echo started"))
    return Fault("captured_grandchild", [
        FAULTY, f"subprocess.run(['sh', '-c', '{command}'], stdout=subprocess.PIPE, check=False)"],
        CHILD + ("external_wait",),
        "reads the output of a command whose background child still has it open")


def both_pipes(random, names):
    """Each side writes, and neither reads."""
    child = "import sys; sys.stdout.write('x' * 10**6); sys.stdout.flush(); sys.stdin.read()"
    return Fault("both_pipes", [
        f"child = subprocess.Popen([sys.executable, '-S', '-c', \"{child}\"],",
        "                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)",
        FAULTY, "child.stdin.write(bytes(10**6))", "child.wait()"],
        CHILD + ("resource_cycle",), "and its child write to each other, and neither reads")


def pool_shell_fifo(random, names):
    """Main thread, pool, shell, cat, and a FIFO without a writer."""
    path, work = names.noun(), names.function()
    command = random.choice((f"cat {path} | wc -l", f"cat < {path}", f"grep -c x {path}"))
    return Fault("pool_shell_fifo", [
        f"os.mkfifo('{path}')", "", f"def {work}():",
        f"    return subprocess.run('{command}', shell=True, capture_output=True, check=False)", "",
        "pool = concurrent.futures.ThreadPoolExecutor(2)", f"works = [pool.submit({work})]",
        FAULTY, "concurrent.futures.wait(works)"], ("io_stall",),
        "waits for a thread, for a shell, for a FIFO that nobody writes to")


def process_pool(random, names):
    work = names.function()
    stands = random.choice((FOREVER, "os.kill(os.getpid(), signal.SIGSTOP)",
                            "threading.Event().wait()"))
    return Fault("process_pool", [
        f"def {work}(part):", "    if part == 1:", f"        {stands}", "    return part", "",
        f"globals()['{work}'] = {work}", f"{work}.__qualname__ = '{work}'",
        "pool = multiprocessing.get_context('fork').Pool(2)", FAULTY,
        *random.choice(([f"pool.map({work}, range(4))"],
                        [f"results = list(pool.imap({work}, range(4)))"],
                        [f"pool.apply_async({work}, (1,)).get()"]))],
        CHILD + ("stopped_rank",), "waits for a worker process of its pool, which stands")


def handler(random, names):
    """A signal's handler stands in the middle of other work."""
    stop, lock = names.function(), names.noun()
    stands = random.choice(([FAULTY, FOREVER],
                            [f"{FAULTY}", f"{lock}.acquire()"]))
    return Fault("handler", [
        f"{lock} = threading.Lock()", "", f"def {stop}(number, frame):",
        *("    " + line for line in stands), "",
        f"signal.signal(signal.SIGUSR1, {stop})", f"with {lock}:",
        "    os.kill(os.getpid(), signal.SIGUSR1)", "    time.sleep(1)"],
        OWN + ("failed_rank",), "stands in the handler of a signal", place="between")


def finaliser(random, names):
    box, lock = names.type(), names.noun()
    return Fault("finaliser", [
        f"{lock} = threading.Lock()", "", f"class {box}:", "    def __del__(self):",
        f"        {FAULTY}", f"        {random.choice((FOREVER, f'{lock}.acquire()'))}", "",
        f"with {lock}:", f"    parts = {box}()", "    parts = None"],
        OWN, "stands in an object's finaliser")


def barrier_of_threads(random, names):
    meet, work = names.noun(), names.function()
    return Fault("barrier_of_threads", [
        f"{meet} = threading.Barrier(3)", "", f"def {work}():",
        f"    {random.choice((FOREVER, 'return'))}", f"    {meet}.wait()", "",
        f"threading.Thread(target={meet}.wait, daemon=True).start()",
        f"threading.Thread(target={work}, daemon=True).start()", FAULTY, f"{meet}.wait()"],
        OWN, "waits in a barrier of threads, which one of them does not reach")


def full_queue(random, names):
    box = names.noun()
    return Fault("full_queue", random.choice((
        [f"{box} = queue.Queue(2)", FAULTY, "while True:", f"    {box}.put(ctx.step)"],
        [f"{box} = multiprocessing.get_context('fork').Queue(2)", FAULTY, "while True:",
         f"    {box}.put(ctx.step)"],
        [f"{box} = threading.BoundedSemaphore(2)", FAULTY, "while True:", f"    {box}.acquire()"])),
        OWN + ("io_stall",), "puts into a full queue that nobody empties")


def semaphore_of_dead(random, names):
    """A child has ended with the lock that it shared."""
    lock, work = names.noun(), names.function()
    return Fault("semaphore_of_dead", [
        f"{lock} = multiprocessing.get_context('fork').{random.choice(('Lock', 'Semaphore'))}()",
        "", f"def {work}():", f"    {lock}.acquire()", "    os._exit(1)", "",
        f"child = multiprocessing.get_context('fork').Process(target={work})", "child.start()",
        "child.join()", FAULTY, f"{lock}.acquire()"],
        OWN + ("child_deadlock", "file_lock"),
        "waits for a shared lock with which a child has died")


def stopped_child(random, names):
    return Fault("stopped_child", [
        "child = subprocess.Popen(['sh', '-c', 'kill -STOP $$; exit 0'])", FAULTY,
        random.choice(("child.wait()", "child.communicate()"))],
        CHILD + ("stopped_rank",), "waits for a child that is stopped")


def own_server(random, names):
    """A server of one thread calls itself."""
    ask, server = names.function(), names.noun()
    return Fault("own_server", [
        "import xmlrpc.client, xmlrpc.server",
        f"{server} = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), logRequests=False)",
        f"address = 'http://127.0.0.1:%d' % {server}.server_address[1]", "", f"def {ask}():",
        f"    return xmlrpc.client.ServerProxy(address).{ask}()", "",
        f"{server}.register_function({ask}, '{ask}')",
        f"threading.Thread(target={server}.serve_forever, daemon=True).start()", FAULTY,
        f"xmlrpc.client.ServerProxy(address).{ask}()"],
        OWN + ("resource_cycle", "external_wait"), "calls a server of its own, which calls itself")


def stops_and_goes(random, names):
    """Another process stops the rank again and again."""
    loop = "while kill -STOP $PPID; do sleep 3; kill -CONT $PPID; sleep 0.05; done"
    return Fault("stops_and_goes", [
        FAULTY, f"child = subprocess.Popen(['sh', '-c', '{loop}'])", FOREVER],
        ("stopped_rank", "stuck_rank", "skipped_collective"),
        "is stopped again and again by a child")


def starts_again(random, names):
    """The process is the same, and its program begins anew: it knows nothing of the group."""
    again = "import torch.distributed as dist; dist.init_process_group('gloo')"
    return Fault("starts_again", [
        "for number in range(3, 256):", "    try:", "        os.set_inheritable(number, True)",
        "    except OSError:", "        pass", FAULTY,
        f"os.execv(sys.executable, [sys.executable, '-c', \"{again}\"])"],
        ("rendezvous", "stuck_rank", "skipped_collective", "external_wait", "failed_rank"),
        "has executed its interpreter anew, and initialises a group that the others have",
        not_rank_0=True, place="between")


def engine_beside(random, names):
    """A group made by hand between the rank and its engine, with numbers of its own."""
    engine = ("import datetime, sys, time, torch.distributed as dist; "
              "store = dist.TCPStore('127.0.0.1', int(sys.argv[1]), 2, False); "
              "group = dist.ProcessGroupGloo(dist.PrefixStore('sync', store), 1, 2, "
              "datetime.timedelta(hours=1)); time.sleep(10**6)")
    return Fault("engine_beside", [
        "store = dist.TCPStore('127.0.0.1', 0, 2, True, wait_for_workers=False)",
        f"child = subprocess.Popen([sys.executable, '-c', \"{engine}\", str(store.port)])",
        "group = dist.ProcessGroupGloo(dist.PrefixStore('sync', store), 0, 2,",
        "                              datetime.timedelta(hours=1))", FAULTY,
        "group.allreduce([torch.ones(4)]).wait()"],
        CHILD + ("external_wait", "below_host"),
        "waits in a group of its own for its engine, a child that sleeps", place="between")


def slow_reader(random, names):
    """The child reads a full pipe, too slowly by far."""
    child = "import sys, time; [time.sleep(10**6 if i > 3 else 0.01) or sys.stdin.buffer.read(10)" \
            " for i in range(10**6)]"
    return Fault("slow_reader", [
        f"child = subprocess.Popen([sys.executable, '-S', '-c', \"{child}\"],",
        "                         stdin=subprocess.PIPE)", FAULTY, "child.stdin.write(bytes(10**7))"],
        CHILD, "writes to a child that has stopped reading")


def waits_by_system_call(random, names):
    ends = names.noun()
    return Fault("waits_by_system_call", random.choice((
        [f"{ends} = os.pipe()", FAULTY, f"select.select([{ends}[0]], [], [])"],
        [f"{ends} = socket.socketpair()", FAULTY, f"{ends}[0].recv(100)"],
        [f"{ends} = os.eventfd(0)", FAULTY, f"os.eventfd_read({ends})"],
        ["signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])", FAULTY,
         "signal.sigwait([signal.SIGUSR1])"],
        [f"{ends} = socket.create_server(('127.0.0.1', 0))", FAULTY, f"{ends}.accept()"],
        [f"{ends} = mmap.mmap(-1, 4096)", FAULTY, f"while {ends}[0] == 0:", "    time.sleep(0.05)"],
        [f"{ends} = selectors.DefaultSelector()",
         f"{ends}.register(os.pipe()[0], selectors.EVENT_READ)", FAULTY, f"{ends}.select()"])),
        OWN + ("io_stall", "external_wait"),
        "waits in a system call for what only its own process could bring")


DEEP = (once_within_itself, awaited_task, crossed_tasks, loop_in_thread, loop_lost_by_fork, pool_lost_by_fork,
        lock_kept_by_fork, manager_queue, own_pipe, log_pipe, inherited_pipe, captured_grandchild, both_pipes,
        pool_shell_fifo, process_pool, handler, finaliser, barrier_of_threads, full_queue,
        semaphore_of_dead, stopped_child, own_server, stops_and_goes, starts_again, engine_beside,
        slow_reader,
        waits_by_system_call)
