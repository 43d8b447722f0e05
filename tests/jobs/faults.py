"""Faults of one rank on its own. The others end up waiting for it.

Each function returns a Fault: the lines that the faulty rank runs (`facts.faulty()` right before it
stops), and the truth from then on.
"""

from dataclasses import dataclass

FAULTY = "facts.faulty()"
OUTSIDE_LOCK = "outside.lock"   # a file that a process outside the job has locked
FOREVER = "time.sleep(10**6)"


@dataclass
class Fault:
    name: str
    lines: list
    kinds: tuple
    story: str
    stdin: str = "null"
    listens: bool = False  # needs a service outside the job; its port is in $OUTSIDE_PORT
    zombies: bool = False  # no process reaps the job's exited ranks
    ends: bool = False     # the rank's process exits
    runs: bool = False     # the rank uses the CPU
    not_rank_0: bool = False  # cannot be rank 0, which has the store
    place: str = "any"     # "between": not inside a library's call


def sleeps(random, names):
    return Fault("sleeps", random.choice((
        [FAULTY, FOREVER],
        [FAULTY, "while True:", "    time.sleep(0.5)"],
        [FAULTY, "for _ in range(10**7):", "    time.sleep(0.05)"])),
        ("skipped_collective", "stuck_rank"), "sleeps in code of its own")


def busy_python(random, names):
    return Fault("busy_python", random.choice((
        [FAULTY, "total = 0", "while True:", "    total = (total * 3 + 1) % 1000003"],
        ["rows = list(range(1000))", FAULTY, "while True:",
         "    rows = sorted(rows, key=lambda row: -row % 77)"])),
        ("busy_rank",), "computes in Python and does not come back", runs=True)


def busy_native(random, names):
    return Fault("busy_native", random.choice((
        ["values = torch.ones(1500, 1500)", FAULTY, "while True:",
         "    values = values @ values / 1500"],
        [FAULTY, "total = sum(range(10**13))"],
        [FAULTY, "hashlib.pbkdf2_hmac('sha256', b'a', b'b', 2**31 - 1)"])),
        ("busy_rank",), "computes in native code", runs=True)


def lock_of_own_thread(random, names):
    lock, event = names.noun(), names.noun()
    return Fault("lock_of_own_thread", [
        f"{lock}, {event} = threading.{random.choice(('Lock', 'RLock'))}(), threading.Event()", "",
        "def hold():", f"    with {lock}:", f"        {event}.set()", f"        {FOREVER}", "",
        "threading.Thread(target=hold, daemon=True).start()", f"{event}.wait()", FAULTY,
        *random.choice(([f"with {lock}:", "    pass"], [f"{lock}.acquire()"],
                        [f"while not {lock}.acquire(timeout=0.2):", "    ctx.tries = 1"],
                        [f"while not {lock}.acquire(blocking=False):", "    time.sleep(0.05)"]))],
        ("skipped_collective", "stuck_rank", "lock_deadlock"),
        "waits for a lock that a sleeping thread of its own holds")


def crossed_locks(random, names):
    first, second, event = names.noun(), names.noun(), names.noun()
    return Fault("crossed_locks", [
        f"{first}, {second}, {event} = threading.Lock(), threading.Lock(), threading.Event()", "",
        "def other():", f"    with {second}:", f"        {event}.set()", f"        with {first}:",
        "            pass", "",
        f"with {first}:", "    threading.Thread(target=other, daemon=True).start()",
        f"    {event}.wait()", f"    {FAULTY}", f"    with {second}:", "        pass"],
        ("lock_deadlock",), "has two threads that wait for each other's locks")


def own_thread(random, names):
    wait = random.choice((
        ["thread = threading.Thread(target=work, daemon=True)", "thread.start()", FAULTY,
         "thread.join()"],
        ["future = concurrent.futures.ThreadPoolExecutor(1).submit(work)", FAULTY,
         "future.result()"]))
    return Fault("own_thread", ["def work():", f"    {FOREVER}", "", *wait],
                 ("skipped_collective", "stuck_rank", "lock_deadlock", "input_stall"),
                 "waits for a sleeping thread of its own")


def nobody_tells(random, names):
    box = names.noun()
    return Fault("nobody_tells", random.choice((
        [f"{box} = queue.Queue()", FAULTY, f"{box}.get()"],
        [f"{box} = threading.Event()", FAULTY, f"{box}.wait()"],
        [f"{box} = threading.Condition()", f"with {box}:", f"    {FAULTY}", f"    {box}.wait()"],
        [f"{box} = queue.Queue()", FAULTY, f"while {box}.empty():", "    time.sleep(0.02)"],
        [f"{box} = queue.Queue()", FAULTY, "while True:", "    try:",
         f"        item = {box}.get(timeout=0.5)", "        break", "    except queue.Empty:",
         "        continue"],
        [f"{box} = threading.Event()", FAULTY, f"while not {box}.is_set():", "    time.sleep(0.1)"],
        [f"async def {box}():", f"    {FAULTY}", "    await asyncio.Event().wait()", "",
         f"asyncio.run({box}())"],
        [FAULTY, "signal.pause()"],
        ["signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})", FAULTY,
         "signal.sigwait({signal.SIGUSR1})"],
        [f"{box} = queue.Queue()", "def feed():", f"    {box}.put(dict(a=1)['b'])", "",
         "thread = threading.Thread(target=feed, daemon=True)", "thread.start()", "thread.join()",
         FAULTY, f"{box}.get()"],
        [f"{box} = multiprocessing.get_context('fork').Queue()", FAULTY, f"{box}.get()"])),
        ("skipped_collective", "stuck_rank", "input_stall", "lock_deadlock"),
        "waits for something of its own process that nobody does")


def holds_gil(random, names):
    return Fault("holds_gil", ["library = ctypes.PyDLL(None)", FAULTY, "library.sleep(10**6)"],
                 ("skipped_collective", "stuck_rank", "gil_deadlock"),
                 "sleeps in native code with the GIL held")


def outside_lock(random, names):
    call = random.choice(("fcntl.flock(file, fcntl.LOCK_EX)", "fcntl.lockf(file, fcntl.LOCK_EX)"))
    return Fault("outside_lock", [f"file = open('{OUTSIDE_LOCK}', 'a')", FAULTY, call],
                 ("file_lock",), "waits for a file lock that a process outside of the job holds")


def lock_file(random, names):
    path = names.noun() + ".lock"
    return Fault("lock_file", [
        f"open('{path}', 'w').close()", FAULTY, *random.choice((
            ["while True:", "    try:",
             f"        os.close(os.open('{path}', os.O_CREAT | os.O_EXCL))", "        break",
             "    except FileExistsError:", "        time.sleep(0.1)"],
            ["while True:", "    try:", f"        os.mkdir('{path}')", "        break",
             "    except OSError:", "        time.sleep(0.5)"],
            [f"FileBaton('{path}').wait()"],
            [f"while os.path.exists('{path}'):", "    time.sleep(0.1)"]))],
        ("file_lock", "skipped_collective", "stuck_rank", "io_stall", "external_wait"),
        "waits for a lock file to go that nobody removes")


def absent_file(random, names):
    path = names.noun() + random.choice((".pt", ".json", ".done"))
    return Fault("absent_file", [
        FAULTY, f"while not os.path.{random.choice(('exists', 'isfile'))}('{path}'):",
        f"    time.sleep({random.choice((0.02, 0.2, 1))})"],
        ("skipped_collective", "stuck_rank", "io_stall", "input_stall", "external_wait"),
        "waits for a file that nobody makes")


def fifo(random, names):
    path = names.noun()
    return Fault("fifo", [f"os.mkfifo('{path}')", FAULTY, f"text = open('{path}').read()"],
                 ("io_stall", "input_stall", "external_wait"),
                 "opens a FIFO that nobody writes to")


def absent_key(random, names):
    key = names.noun()
    return Fault("absent_key", random.choice((
        [FAULTY, f"ctx.store.get('{key}')"],
        [FAULTY, f"ctx.store.wait(['{key}'], datetime.timedelta(hours=2))"],
        [FAULTY, f"while not ctx.store.check(['{key}']):", "    time.sleep(0.1)"])),
        ("skipped_collective", "stuck_rank", "external_wait", "rendezvous"),
        "waits for a key of the store that nobody sets")


def silent_service(random, names):
    return Fault("silent_service", random.choice((
        ["link = socket.create_connection(('127.0.0.1', int(os.environ['OUTSIDE_PORT'])))",
         "link.sendall(b'next\\n')", FAULTY, "answer = link.recv(100)"],
        ["url = f\"http://127.0.0.1:{os.environ['OUTSIDE_PORT']}/next\"", FAULTY,
         "answer = urllib.request.urlopen(url).read()"])),
        ("external_wait",), "waits for the answer of a service outside of the job", listens=True)


def retrying(random, names, before=()):
    """Returns lines of a client that asks a silent service, and asks again after each time limit."""
    ask, failures = names.function(), names.noun()
    nap, limit = random.choice((0.05, 0.3, 1)), random.choice((0.5, 1, 2))
    counts = [f"            {failures} += 1"] if random.random() < 0.7 else []
    if random.random() < 0.3:
        counts.append(f"            open('{failures}.log', 'a').write('no answer')")
    body = random.choice((
        ["while True:", "    try:", "        link.sendall(b'next\\n')", "        return link.recv(100)",
         "    except OSError:"],
        [f"while {failures} < 10**6:", "    try:", "        link.sendall(b'next\\n')",
         "        return link.recv(100)", "    except TimeoutError:"]))
    return ["link = socket.create_connection(('127.0.0.1', int(os.environ['OUTSIDE_PORT'])))",
            f"link.settimeout({limit})", f"def {ask}(link, {failures}=0):",
            *("    " + line for line in body), *counts, f"            time.sleep({nap})", "",
            *before, f"answer = {ask}(link)"]


def retrying_client(random, names):
    return Fault("retrying_client", retrying(random, names, [FAULTY]),
                 ("external_wait", "skipped_collective", "stuck_rank"),
                 "asks a silent service outside of the job again and again", listens=True)


def refusing_service(random, names):
    return Fault("refusing_service", [
        "with socket.create_server(('127.0.0.1', 0)) as door:", "    address = door.getsockname()",
        FAULTY, "while True:", "    try:", "        link = socket.create_connection(address)",
        "        break", "    except OSError:",
        f"        time.sleep({random.choice((0.2, 1, 5))})"],
        ("external_wait", "failed_rank", "skipped_collective", "stuck_rank"),
        "tries again and again to reach a service that is not there")


def child(random, names):
    return Fault("child", random.choice((
        [FAULTY, "subprocess.run(['sleep', '1000000'], check=False)"],
        [FAULTY, "text = subprocess.check_output(['sleep', '1000000'])"],
        [FAULTY, "os.system('sleep 1000000')"],
        ["worker = multiprocessing.get_context('fork').Process(target=time.sleep, args=(10**6,))",
         "worker.start()", FAULTY, "worker.join()"])),
        ("child_deadlock", "input_stall", "skipped_collective", "stuck_rank", "external_wait"),
        "waits for a child process that sleeps")


def killed_worker(random, names):
    """Two or three workers share a queue. One is killed with its item; the others wait for more."""
    work, asks, box = names.function(), names.noun(), names.noun()
    return Fault("killed_worker", [
        "fork = multiprocessing.get_context('fork')", f"{asks}, {box} = fork.Queue(), fork.Queue()", "",
        f"def {work}():", f"    for item in iter({asks}.get, None):",
        "        if item == 'last':", "            os.kill(os.getpid(), signal.SIGKILL)",
        f"        {box}.put(item)", "",
        f"for _ in range({random.choice((2, 3))}):", f"    fork.Process(target={work}, daemon=True).start()",
        f"{asks}.put('first')", f"{box}.get()", f"{asks}.put('last')",
        "os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)", FAULTY, f"{box}.get()"],
        ("child_deadlock",), "waits for a result of a worker that was killed")


def loader_worker(random, names):
    data = names.type()
    return Fault("loader_worker", [
        f"class {data}(torch.utils.data.Dataset):", "    def __len__(self):", "        return 8",
        "",
        "    def __getitem__(self, index):", f"        {FOREVER}", "",
        f"batches = iter(torch.utils.data.DataLoader({data}(), num_workers=1))", FAULTY,
        "batch = next(batches)"], ("input_stall", "child_deadlock"),
        "waits for a worker of its DataLoader that sleeps")


def prompt(random, names):
    return Fault("prompt", random.choice((
        [FAULTY, "answer = input('continue? ')"], [FAULTY, "line = sys.stdin.readline()"])),
        ("failed_rank", "external_wait", "io_stall", "input_stall", "skipped_collective",
         "stuck_rank"),
        "waits for somebody to type", stdin=random.choice(("pipe", "pty")))


def debugger(random, names):
    return Fault("debugger", [FAULTY, random.choice(("breakpoint()",
                                                       "import pdb; pdb.set_trace()"))],
                 ("failed_rank",), "is in the debugger", stdin=random.choice(("pipe", "pty")))


def stops_itself(random, names):
    return Fault("stops_itself", [FAULTY, "os.kill(os.getpid(), signal.SIGSTOP)"],
                 ("stopped_rank",), "is stopped by a signal")


def ends_with_helper(random, names):
    """The helper has the connections of the rank, so that its peers notice nothing."""
    return Fault("ends_with_helper", [
        "helper = multiprocessing.get_context('fork').Process(target=time.sleep, args=(10**6,))",
        "helper.start()", FAULTY, "os._exit(0)"], ("missing_rank", "early_exit"),
        "has exited with status 0, and a helper that it started lives on",
        ends=True, zombies=random.random() < 0.5, not_rank_0=True)


def ends_slowly(random, names):
    return Fault("ends_slowly", random.choice((
        ["threading.Thread(target=time.sleep, args=(10**6,)).start()", FAULTY, "sys.exit(0)"],
        ["atexit.register(time.sleep, 10**6)", FAULTY, "sys.exit(0)"],
        ["helper = multiprocessing.get_context('fork').Process(target=time.sleep, args=(10**6,))",
         "helper.start()", FAULTY, "sys.exit(0)"])),
        ("early_exit", "failed_rank", "child_deadlock", "skipped_collective"),
        "has left the program in order, and its interpreter does not come to its end",
        place="between")


def raises(random, names):
    hook = names.function()
    prepare, ways = [f"def {hook}(*error):", f"    {FAULTY}", f"    {FOREVER}"], (
        [f"sys.excepthook = {hook}", "raise RuntimeError('loss is nan')"],
        [f"atexit.register({hook})", "raise ValueError('bad shape')"],
        ["try:", "    raise RuntimeError('worker failed')", "except RuntimeError:",
         f"    {hook}()"],
        ["threading.Thread(target=time.sleep, args=(10**6,)).start()", FAULTY,
         "raise RuntimeError('no more data')"])
    return Fault("raises", [*prepare, "", *random.choice(ways)],
                 ("failed_rank", "early_exit", "skipped_collective"),
                 "has raised an exception and hangs in its handling", place="between")


SOLO = (sleeps, sleeps, busy_python, busy_native, lock_of_own_thread, crossed_locks, own_thread,
        nobody_tells, holds_gil, outside_lock, lock_file, absent_file, fifo, absent_key,
        silent_service, retrying_client, refusing_service, child, killed_worker, loader_worker,
        prompt, debugger, stops_itself,
        ends_with_helper, ends_slowly, raises)
