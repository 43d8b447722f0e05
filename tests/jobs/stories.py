"""Faults that need more than one rank, or that lie in the order of the program's operations.

Each function returns a Story: lines that all ranks run at one point of the loop, and the truth from
then on. `culprits` are the sets of ranks that an expert may name; naming any other set is wrong.
"""

from dataclasses import dataclass, field

from faults import FAULTY, FOREVER, retrying

MATCH = ("p2p_order", "collective_order", "resource_cycle", "mismatched_collective",
         "skipped_collective")


@dataclass
class Story:
    name: str
    lines: list
    culprits: list
    kinds: tuple
    story: str
    faulty: list                # ranks that report it
    prepare: list = field(default_factory=list)  # lines before the loop
    unknown_is_right: bool = False
    ends: list = field(default_factory=list)  # ranks whose processes exit
    zombies: bool = False
    listens: bool = False  # needs a service outside of the job


def _two(first, lines, second, others):
    """Returns the lines for two ranks."""
    return [f"if RANK == {first}:", *("    " + line for line in lines),
            f"elif RANK == {second}:", *("    " + line for line in others)]


def _until(path):
    return [f"while not os.path.exists('{path}'):", "    time.sleep(0.01)"]


def _collective(random):
    return random.choice((["dist.barrier()"], ["dist.all_reduce(torch.ones(64))"],
                          ["parts = [torch.empty(8) for _ in range(WORLD)]",
                           "dist.all_gather(parts, torch.ones(8))"]))


def _locks(random, name):
    """Returns (take a lock on a file, wait for it)."""
    return random.choice((
        ([f"file = open('{name}.lck', 'a')", "fcntl.flock(file, fcntl.LOCK_EX)"],
         [f"file = open('{name}.lck', 'a')", FAULTY, "fcntl.flock(file, fcntl.LOCK_EX)"]),
        ([f"base = sqlite3.connect('{name}.db')", "base.execute('BEGIN EXCLUSIVE')"],
         [f"base = sqlite3.connect('{name}.db', timeout=10**6)", FAULTY,
          "base.execute('BEGIN EXCLUSIVE')"])))


def lock_of_rank(random, names, holder, waiter):
    name = names.noun()
    take, want = _locks(random, name)
    return Story("lock_of_rank",
                 _two(holder, [*take, f"open('{name}.held', 'w').close()", FAULTY, FOREVER],
                      waiter, [*_until(f"{name}.held"), *want]),
                 [[holder]], ("file_lock", "skipped_collective", "stuck_rank"),
                 f"rank {holder} sleeps with a file lock that rank {waiter} waits for",
                 [holder, waiter])


def file_of_rank(random, names, provider, waiter):
    path = f"{names.noun()}-{provider}.pt"
    return Story("file_of_rank",
                 _two(provider, [FAULTY, FOREVER, f"open('{path}', 'w').close()"],
                      waiter, [FAULTY, *_until(path)]),
                 [[provider]], ("skipped_collective", "stuck_rank"),
                 f"rank {provider} sleeps before it makes the file that rank {waiter} waits for",
                 [provider, waiter])


def key_of_rank(random, names, provider, waiter):
    key = f"{names.noun()}/{provider}"
    return Story("key_of_rank",
                 _two(provider, [FAULTY, FOREVER, f"ctx.store.set('{key}', '1')"],
                      waiter, [FAULTY, f"ctx.store.get('{key}')"]),
                 [[provider]], ("skipped_collective", "stuck_rank"),
                 f"rank {provider} sleeps before it sets the key that rank {waiter} waits for",
                 [provider, waiter])


def service_of_rank(random, names, server, client):
    path = names.noun()
    accept = random.choice(([], ["link, _ = door.accept()"]))
    return Story("service_of_rank",
                 _two(server, ["door = socket.create_server(('127.0.0.1', 0))",
                               f"open('{path}.new', 'w').write(str(door.getsockname()[1]))",
                               f"os.rename('{path}.new', '{path}')", *accept, FAULTY, FOREVER],
                      client, [*_until(path), f"port = int(open('{path}').read())",
                               "link = socket.create_connection(('127.0.0.1', port))", FAULTY,
                               "answer = link.recv(10)"]),
                 [[server]], ("skipped_collective", "stuck_rank", "external_wait"),
                 f"rank {server} sleeps instead of answering rank {client}", [server, client])


def lock_circle(random, names, holder, waiter):
    name = names.noun()
    take, want = _locks(random, name)
    return Story("lock_circle",
                 [f"if RANK == {holder}:", *("    " + line for line in take),
                  f"    open('{name}.held', 'w').close()", f"    {FAULTY}",
                  f"elif RANK == {waiter}:",
                  *("    " + line for line in (*_until(f"{name}.held"), *want)),
                  *_collective(random)],
                 [sorted([holder, waiter])], ("resource_cycle", "file_lock"),
                 f"rank {holder} has a file lock and waits in a collective for rank {waiter}, "
                 "which waits for the lock", [holder, waiter])


def server_circle(random, names, server, client):
    path, lock, collective = names.noun(), names.noun(), _collective(random)
    return Story("server_circle", [
        f"if RANK == {server}:", f"    {lock} = threading.Lock()",
        "    door = socket.create_server(('127.0.0.1', 0))", "", "    def answer():",
        "        link, _ = door.accept()", "        link.recv(10)", f"        {FAULTY}",
        f"        with {lock}:", "            link.sendall(b'done')", "",
        f"    with {lock}:", "        threading.Thread(target=answer, daemon=True).start()",
        f"        open('{path}.new', 'w').write(str(door.getsockname()[1]))",
        f"        os.rename('{path}.new', '{path}')",
        *("        " + line for line in collective), "else:", f"    if RANK == {client}:",
        *("        " + line for line in _until(path)),
        f"        port = int(open('{path}').read())",
        "        link = socket.create_connection(('127.0.0.1', port))",
        "        link.sendall(b'state')", f"        {FAULTY}", "        answer = link.recv(10)",
        *("    " + line for line in collective)],
        [sorted([server, client])], ("resource_cycle",),
        f"rank {client} waits for a thread of rank {server}, which wants a lock that its main "
        f"thread holds while it waits in a collective for rank {client}", [server, client])


def receive_circle(random, names, sender, receiver):
    return Story("receive_circle", [
        f"if RANK == {receiver}:", f"    {FAULTY}", "    values = torch.ones(8)",
        f"    dist.recv(values, {sender})", *_collective(random)],
        [sorted([sender, receiver]), [receiver]], MATCH,
        f"rank {receiver} receives from rank {sender}, which does not send and is in the "
        "collective that comes next", [receiver])


def receives_cross(random, names, first, second):
    both = ["values = torch.ones(8)", FAULTY]
    return Story("receives_cross",
                 _two(first, [*both, f"dist.recv(values, {second})"],
                      second, [*both, f"dist.recv(values, {first})"]),
                 [sorted([first, second])], ("p2p_order",),
                 f"ranks {first} and {second} receive from each other", [first, second])


def other_tag(random, names, sender, receiver):
    """The two calls would be a pair, but for their tags."""
    size, tag = random.choice((1, 64, 2 ** 20)), random.randrange(1, 100)
    values = [f"values = torch.ones({size})", FAULTY]
    send, recv = random.choice((("dist.send(values, {}, tag={})", "dist.recv(values, {}, tag={})"),
                                ("dist.isend(values, {}, tag={}).wait()",
                                 "dist.irecv(values, {}, tag={}).wait()"),
                                ("dist.send(values, {}, tag={})",
                                 "dist.irecv(values, {}, tag={}).wait()")))
    return Story("other_tag",
                 _two(sender, [*values, send.format(receiver, tag)],
                      receiver, [*values, recv.format(sender, tag + random.choice((-1, 1, 100)))]),
                 [sorted([sender, receiver]), [sender], [receiver]],
                 ("p2p_order", "mismatched_collective"),
                 f"rank {sender} sends to rank {receiver}, which receives another tag",
                 [sender, receiver])


def ended_rank(random, names, ending, other):
    """All others wait for something that the rank would have left behind. Its connections close,
    but no rank reads from them. Rank 0 has the store, so it cannot be the faulty one."""
    name, failed = f"{names.noun()}-{ending}", random.random() < 0.3
    wait = random.choice(([f"ctx.store.get('{name}')"], _until(name)))
    end = "raise ValueError('no such record')" if failed else random.choice(
        ("sys.exit(0)", "os._exit(0)"))
    return Story("ended_rank",
                 [f"if RANK == {ending}:", f"    {FAULTY}", f"    {end}", FAULTY, *wait],
                 [[ending]], ("missing_rank", "failed_rank" if failed else "early_exit"),
                 f"rank {ending} has {'failed' if failed else 'ended in order'} and is gone; the "
                 "others wait for what it would have left", [ending, other], ends=[ending],
                 zombies=random.random() < 0.4)


def two_late(random, names, first, second):
    sleep = [FAULTY, FOREVER]
    other = random.choice((sleep, [FAULTY, "while True:", "    ctx.last = ctx.step * 3"],
                           [FAULTY, "subprocess.run(['sleep', '1000000'], check=False)"]))
    return Story("two_late", _two(first, sleep, second, other),
                 [sorted([first, second]), [first], [second]],
                 ("skipped_collective", "stuck_rank", "busy_rank", "child_deadlock", "input_stall"),
                 f"ranks {first} and {second} are late, each for itself", [first, second])


def side_story(random, names, late, absent):
    """Threads in a group of their own, for which no thread waits, stand still for another
    reason."""
    group, run = names.noun(), names.function()
    return Story("side_story", [
        f"def {run}():", f"    if RANK == {absent}:", f"        {FOREVER}",
        f"    dist.all_reduce(torch.ones(4), group=ctx.{group})", "",
        f"threading.Thread(target={run}, daemon=True).start()", "time.sleep(0.05)",
        f"if RANK == {late}:", f"    {FAULTY}", f"    {FOREVER}"],
        [[late]], ("skipped_collective",),
        f"rank {late} sleeps; and a thread of rank {absent} is late for threads that nobody waits "
        "for", [late], prepare=[f"ctx.{group} = dist.new_group(list(range(WORLD)))"])


def another_root(random, names, rank, root):
    """The rank sends from itself, the others from `root`: those that get that go on."""
    name = names.noun()
    chosen = f"{rank} if RANK == {rank} else {root}"
    call = random.choice(([f"{name} = {chosen}", f"dist.broadcast(torch.ones(64), src={name})"],
                          [f"ctx.{name} = {chosen}", f"dist.broadcast(torch.ones(64), ctx.{name})"],
                          [f"def {name}(src):", "    dist.broadcast(torch.ones(64), src)", "",
                           f"{name}({chosen})"]))
    after = random.choice((["dist.all_reduce(torch.ones(4))"], ["dist.barrier()"], call[-1:]))
    # If those that have gone on show no more which root they had, both sides may be named.
    shows = call[0].startswith(f"{name} =") or after == call[-1:]
    sides = [] if shows else [sorted((rank, each)) for each in range(8) if each != rank]
    return Story("another_root", [FAULTY, *call, *after], [[rank], *sides], MATCH,
                 f"rank {rank} broadcasts from itself, the others from rank {root}", [rank])


def all_retry(random, names, rank, other):
    return Story("all_retry", retrying(random, names, [FAULTY]),
                 [[], *(list(range(world)) for world in range(2, 9))], ("external_wait", "unknown"),
                 "all ranks ask a silent service again and again", [rank, other],
                 unknown_is_right=True, listens=True)


def part_of_all(random, names, rank, chief):
    """One rank waits for the files of all, the others for what it makes of them."""
    name, nap = names.noun(), random.choice((0.02, 0.1, 0.4))
    gather = random.choice((
        [f"while len([part for part in os.listdir('.') if part.startswith('{name}-')]) < WORLD:"],
        [f"while not all(os.path.exists(f'{name}-{{one}}') for one in range(WORLD)):"]))
    return Story("part_of_all", [
        FAULTY, f"if RANK != {rank}:", f"    open(f'{name}-{{RANK}}', 'w').close()",
        f"if RANK == {chief}:", *("    " + line for line in gather), f"        time.sleep({nap})",
        f"    open('all-{name}', 'w').close()", "else:", f"    while not os.path.exists('all-{name}'):",
        f"        time.sleep({nap})"],
        [[rank]], ("stuck_rank", "skipped_collective", "unknown"),
        f"rank {rank} has not written its file, for which rank {chief} waits", [rank, chief],
        unknown_is_right=True)


PAIRS = (lock_of_rank, file_of_rank, key_of_rank, service_of_rank, lock_circle, lock_circle,
         server_circle, receive_circle, receives_cross, other_tag, ended_rank, ended_rank,
         two_late, side_story, another_root, all_retry, part_of_all)


def receives_ring(random, names, world):
    return Story("receives_ring", [
        "values = torch.ones(8)", FAULTY, "dist.recv(values, (RANK - 1) % WORLD)",
        "dist.send(values, (RANK + 1) % WORLD)"],
        [list(range(world))], ("p2p_order",), "every rank receives from the rank before it",
        list(range(world)))


def crossed_groups(random, names, rank, group):
    """`group`: a Group of which the rank is a member."""
    part = group.part_of(rank)
    world = ["dist.all_reduce(torch.ones(64))"]
    inner = [f"if RANK in {tuple(group.members())}:",
             f"    dist.{random.choice(('all_reduce(torch.ones(64), ', 'barrier('))}"
             f"group={group.expression})"]
    everybody = sorted(group.everybody)
    others = [other for other in part if other != rank]
    return Story("crossed_groups", [
        f"if RANK == {rank}:", f"    {FAULTY}", *("    " + line for line in inner + world), "else:",
        *("    " + line for line in world + inner)],
        [[rank], sorted(part), everybody, *(sorted([rank, other]) for other in others)],
        ("collective_order", "skipped_collective", "mismatched_collective"),
        f"rank {rank} enters two groups in the other order than the others do", [rank])
