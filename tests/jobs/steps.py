"""The steps of healthy jobs: one function for each kind of operation. Each returns the lines of the
operation; `group` holds the ranks that take part.

A kind `waits_for_all` if no member returns from it before all have entered it. Others let some
members return early: a broadcast its root, a reduction the members that have sent their part.
"""

SHAPE = 64


class Group:
    """A partition of ranks, or of some: each rank is in one part, or none."""

    def __init__(self, expression, parts, label):
        self.expression, self.parts, self.label = expression, parts, label

    def argument(self):
        return f", group={self.expression}" if self.expression else ""

    def size(self):
        """Returns the size of the smallest part."""
        return min(map(len, self.parts))

    def count(self):
        """Returns the expression for the number of members."""
        return f"dist.get_world_size({self.expression})" if self.expression else "WORLD"

    def root(self, index):
        """Returns the expression for the global rank of a member."""
        return (f"dist.get_global_rank({self.expression}, {index})" if self.expression
                else str(self.parts[0][index]))

    def members(self):
        return sorted(rank for part in self.parts for rank in part)

    def part_of(self, rank):
        return next((part for part in self.parts if rank in part), [])


def all_reduce(random, group):
    return [f"values = torch.ones({SHAPE})", f"dist.all_reduce(values{group.argument()})"]


def all_reduce_wait(random, group):
    return [f"values = torch.ones({SHAPE})",
            f"work = dist.all_reduce(values{group.argument()}, async_op=True)",
            "total = sum(range(1000))", "work.wait()"]


def all_reduce_polled(random, group):
    return [f"values = torch.ones({SHAPE})",
            f"work = dist.all_reduce(values{group.argument()}, async_op=True)",
            "while not work.is_completed():",
            f"    time.sleep({random.choice((0.002, 0.01, 0.05))})"]


def all_reduce_spun(random, group):
    return [f"values = torch.ones({SHAPE})",
            f"work = dist.all_reduce(values{group.argument()}, async_op=True)",
            "while not work.is_completed():", "    pass"]


def all_reduce_future(random, group):
    return [f"values = torch.ones({SHAPE})",
            f"dist.all_reduce(values{group.argument()}, async_op=True).get_future().wait()"]


def two_in_flight(random, group):
    return [f"first, second = torch.ones({SHAPE}), torch.ones({SHAPE})",
            f"works = [dist.all_reduce(part{group.argument()}, async_op=True)",
            "         for part in (first, second)]", "for work in works:", "    work.wait()"]


def functional(random, group):
    members = group.expression or "dist.group.WORLD"
    return [f"values = torch.ones({SHAPE})",
            f"values = funcol.all_reduce(values, 'sum', group={members})",
            "values = values + 1"]


def broadcast(random, group):
    source = group.root(random.randrange(group.size()))
    return [f"values = torch.ones({SHAPE})",
            f"dist.broadcast(values, src={source}{group.argument()})"]


def reduce(random, group):
    target = group.root(random.randrange(group.size()))
    return [f"values = torch.ones({SHAPE})",
            f"dist.reduce(values, dst={target}{group.argument()})"]


def gather(random, group):
    target = group.root(random.randrange(group.size()))
    return [f"values, target = torch.ones({SHAPE}), {target}", "parts = None",
            "if RANK == target:",
            f"    parts = [torch.empty({SHAPE}) for _ in range({group.count()})]",
            f"dist.gather(values, parts, dst=target{group.argument()})"]


def scatter(random, group):
    source = group.root(random.randrange(group.size()))
    return [f"values, source = torch.empty({SHAPE}), {source}", "parts = None",
            "if RANK == source:",
            f"    parts = [torch.ones({SHAPE}) for _ in range({group.count()})]",
            f"dist.scatter(values, parts, src=source{group.argument()})"]


def all_gather(random, group):
    return [f"parts = [torch.empty({SHAPE}) for _ in range({group.count()})]",
            f"dist.all_gather(parts, torch.ones({SHAPE}){group.argument()})"]


def all_gather_into(random, group):
    return [f"whole = torch.empty({SHAPE} * {group.count()})",
            f"dist.all_gather_into_tensor(whole, torch.ones({SHAPE}){group.argument()})"]


def reduce_scatter(random, group):
    return [f"whole = torch.ones({SHAPE} * {group.count()})",
            f"dist.reduce_scatter_tensor(torch.empty({SHAPE}), whole{group.argument()})"]


def all_to_all(random, group):
    return [f"values = torch.ones(16 * {group.count()})",
            f"dist.all_to_all_single(torch.empty_like(values), values{group.argument()})"]


def barrier(random, group):
    return [f"dist.barrier({group.argument()[2:]})"]


def monitored_barrier(random, group):
    return ["dist.monitored_barrier(timeout=datetime.timedelta(hours=1))"]


def broadcast_object(random, group):
    return ["box = [{'step': i}]",
            f"dist.broadcast_object_list(box, src={group.root(random.randrange(group.size()))}"
            f"{group.argument()})"]


def gather_object(random, group):
    return [f"boxes = [None] * {group.count()}",
            f"dist.all_gather_object(boxes, (RANK, i){group.argument()})"]


def ring(random, group):
    return [f"mine, other = torch.ones({SHAPE}), torch.empty({SHAPE})",
            "works = dist.batch_isend_irecv([",
            "    dist.P2POp(dist.isend, mine, (RANK + 1) % WORLD),",
            "    dist.P2POp(dist.irecv, other, (RANK - 1) % WORLD)])",
            "for work in works:", "    work.wait()"]


def pipeline(random, group):
    return [f"values = torch.ones({SHAPE})", "if RANK > 0:", "    dist.recv(values, RANK - 1)",
            "if RANK < WORLD - 1:", "    dist.send(values, RANK + 1)"]


def store_exchange(random, group):
    label = random.choice(("ready", "at", "loss", "version", "done")) + str(random.randrange(100))
    return [f"ctx.store.set(f'{label}/{{i}}/{{RANK}}', str(i))",
            f"ctx.store.get(f'{label}/{{i}}/{{(RANK + 1) % WORLD}}')"]


def file_exchange(random, group):
    label = random.choice(("part", "out", "flag", "shard")) + str(random.randrange(100))
    return [f"open(f'{label}-{{i}}-{{RANK}}', 'w').close()",
            f"while not os.path.exists(f'{label}-{{i}}-{{(RANK + 1) % WORLD}}'):",
            f"    time.sleep({random.choice((0.01, 0.02, 0.1))})"]


def compute_python(random, group):
    return ["total = 0", f"for number in range({random.randrange(1000, 20000)}):",
            "    total += number * number"]


def compute_native(random, group):
    return ["values = torch.ones(64, 64)", f"for _ in range({random.randrange(1, 10)}):",
            "    values = values @ values / 64"]


def short_sleep(random, group):
    return [f"time.sleep({random.choice((0.001, 0.005, 0.02))})"]


COLLECTIVES = (all_reduce, all_reduce_wait, all_reduce_polled, all_reduce_future, two_in_flight,
               functional, broadcast, reduce, gather, scatter, all_gather, all_gather_into,
               reduce_scatter, all_to_all, barrier, broadcast_object, gather_object)
WAIT_FOR_ALL = (all_reduce, all_reduce_wait, all_reduce_polled, all_reduce_future, two_in_flight,
                functional, all_gather, all_gather_into, reduce_scatter, all_to_all, barrier,
                gather_object)
OF_WORLD = (monitored_barrier, ring, pipeline, store_exchange, file_exchange)
LOCAL = (compute_python, compute_native, short_sleep)
