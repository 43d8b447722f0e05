#!/usr/bin/env python3
"""Makes a random distributed program in which one rank has a fault, and the truth about it.

    generate.py SEED        prints the program and its truth

The same seed gives the same job, as long as these files stay as they are.
"""

import json
import random as random_module
import sys
from dataclasses import dataclass

import deep_faults
import faults
import parts
import services
import source
import steps
import stories
import words
import work

CATEGORIES = ("solo", "deep", "pair", "roles", "ring", "order", "skip", "swap", "leave", "setup",
              "healthy", "slow", "work")
WEIGHTS = (30, 22, 11, 10, 1, 4, 6, 3, 4, 3, 6, 2, 8)
BYSTANDERS = 0.4  # share of jobs that have any


@dataclass
class Job:
    """One job: its files, how its ranks are started, and its truth."""

    files: dict          # name -> text; the first is the script
    ranks: int
    stdin: list          # of each rank: "null", "pipe" or "pty"
    torchrun: bool       # its variables look like torchrun's
    listens: bool        # needs a service outside the job
    zombies: bool
    faulty: list         # ranks that report when they have stopped
    ends: list           # ranks whose processes exit
    runs: list           # ranks that use the CPU while the job hangs
    moves: bool          # no hang
    truth: dict

    def text(self):
        return "\n".join(f"# ---- {name}\n{text}" for name, text in self.files.items())


class Maker:
    def __init__(self, seed):
        self.seed = seed
        self.random = random_module.Random(seed)
        self.names = words.Names(self.random)
        self.source = source.Source(self.random, self.names)
        self.world = self.random.choice((4,) * 14 + (3, 5, 5, 6, 6, 8))
        self.rank = self.random.randrange(self.world)
        self.at = self.random.randrange(1, 5)
        self.groups = []
        self.features = []
        self.category, = self.random.choices(CATEGORIES, WEIGHTS)
        self.fault = None
        self.kwargs = {}

    def add_group(self, expression, parts_of_it, label):
        group = steps.Group(expression, parts_of_it, label)
        group.everybody = list(range(self.world))
        self.groups.append(group)

    def late(self, lines):
        """Returns setup lines; one rank may be late before them."""
        if self.category != "setup" or self.fault or self.random.random() < 0.4:
            return lines
        self.fault = self.random.choice((faults.sleeps, faults.busy_python, faults.absent_file,
                                         faults.outside_lock))(self.random, self.names)
        call = self.source.define(self.fault.lines)
        return [f"if RANK == {self.rank}:", f"    {call}(0)", *lines]

    def make_groups(self):
        setup, world = self.source.setup, list(range(self.world))
        hours = "timeout=datetime.timedelta(hours=2)"
        how = f"'gloo', {hours}"
        if self.random.random() < 0.2:
            how += ", init_method='file://' + os.path.abspath('meet'), rank=RANK, world_size=WORLD"
            self.features.append("file_store")
        setup += self.late([f"dist.init_process_group({how})"])
        setup.append("ctx.store = dist.distributed_c10d._get_default_store()")
        self.add_group(None, [world], "world")
        if self.random.random() < 0.45:
            self.make_subgroups()
        if self.world % 2 == 0 and self.random.random() < 0.4:
            self.make_mesh()
        if self.category == "order" and len(self.groups) == 1:
            self.make_subgroups()
        if self.category == "setup" and not self.fault:
            name = self.names.noun()
            setup += [f"if RANK == {self.rank}:", f"    {self.late_call()}(0)",
                      f"ctx.{name} = dist.new_group(list(range(WORLD)))"]

    def late_call(self):
        self.fault = faults.sleeps(self.random, self.names)
        return self.source.define(self.fault.lines)

    def make_subgroups(self):
        name, world = self.names.noun(), list(range(self.world))
        half = self.world // 2
        choice = self.random.randrange(4)
        if choice == 0 and half >= 2:
            members = [world[:half], world[half:]]
        elif choice == 1 and half >= 2:
            members = [world[0::2], world[1::2]]
        elif choice == 2:
            members = [world[:-1]]
        else:
            members = [sorted(self.random.sample(world, self.random.randrange(2, self.world)))]
        self.source.setup += self.late([
            f"for members in {members}:", "    group = dist.new_group(members)",
            "    if RANK in members:", f"        ctx.{name} = group"])
        self.add_group(f"ctx.{name}", members, "subgroups")
        self.features.append("subgroups")

    def make_mesh(self):
        shape = {4: (2, 2), 6: (2, 3), 8: self.random.choice(((2, 4), (2, 2, 2)))}[self.world]
        labels = self.random.sample(("dp", "tp", "pp", "cp", "ep", "rows", "columns"), len(shape))
        name = self.names.noun()
        self.source.setup += self.late([
            f"ctx.{name} = init_device_mesh('cpu', {shape}, mesh_dim_names={tuple(labels)})"])
        for dimension, label in enumerate(labels):
            parts_of_it = {}
            for rank in range(self.world):
                place, rest = [], rank
                for size in reversed(shape):
                    place.insert(0, rest % size)
                    rest //= size
                place[dimension] = -1
                parts_of_it.setdefault(tuple(place), []).append(rank)
            self.add_group(f"ctx.{name}.get_group('{label}')", list(parts_of_it.values()), "mesh")
        self.features.append(f"mesh_{len(shape)}d")

    def operation(self, kind, group):
        """Returns (expression to call, guard of ranks that take part or None)."""
        body = ["facts.before()", *kind(self.random, group)]
        call = self.source.define(body)
        self.features.append(kind.__name__)
        everybody = len(group.members()) == self.world
        return call, None if everybody else f"RANK in {tuple(group.members())}"

    def make_steps(self):
        """Returns the loop: a list of (lines, kind, group). The first operation that waits for the
        whole world keeps the ranks together."""
        random, loop = self.random, []
        keeper = (random.choice(steps.WAIT_FOR_ALL), self.groups[0])
        chosen = [keeper]
        for _ in range(random.randrange(1, 6)):
            kind = random.choice(steps.COLLECTIVES * 2 + steps.OF_WORLD * 2 + steps.LOCAL * 2)
            if kind in steps.OF_WORLD + steps.LOCAL:
                chosen.append((kind, self.groups[0]))
            else:
                chosen.append((kind, random.choice(self.groups)))
        if random.random() < 0.05:  # ranks that spin take the CPU from all others
            chosen.append((steps.all_reduce_spun, random.choice(self.groups)))
        random.shuffle(chosen)
        for kind, group in chosen:
            call, guard = self.operation(kind, group)
            lines = [f"{call}(i)"] if guard is None else [f"if {guard}:", f"    {call}(i)"]
            loop.append((lines, kind, group))
        return loop

    def add_parts(self, loop, hook):
        """Adds models and threads; `hook` is called inside one of them, or between steps."""
        random, extra = self.random, []
        if random.random() < 0.35:
            extra.append(random.choice(parts.HOSTS))
        if random.random() < 0.25:
            extra.append(random.choice(parts.OTHERS))
        if random.random() < 0.2:
            extra.append(parts.heartbeat)
        inside = (hook and extra and extra[0] in parts.HOSTS and random.random() < 0.6
                  and getattr(self.fault, "place", "between") == "any")
        for part in extra:
            self.features.append(part.__name__)
            hosted = inside and part is extra[0]
            body = part(self.source, hook if hosted else None)
            if body:
                call = self.source.define(["facts.before()", *body])
                loop.insert(random.randrange(len(loop) + 1), ([f"{call}(i)"], part, None))
            if hosted:
                self.features.append("fault_inside")
        if hook and not inside:
            call = self.source.define(parts.compute(self.source, hook), depth=0)
            loop.insert(random.randrange(len(loop) + 1), ([f"{call}(i)"], parts.compute, None))

    def hook(self, lines, condition):
        call = self.source.define(lines)
        return self.source.define([f"if {condition}:", f"    {call}(i)"],
                                  depth=self.random.choice((0, 0, 1)))

    def choose_fault(self):
        """Chooses a fault of the category; returns the hook where it happens, or None."""
        random, here = self.random, f"RANK == {self.rank} and i == {self.at}"
        if self.category in ("solo", "deep"):
            kinds = faults.SOLO if self.category == "solo" else deep_faults.DEEP
            while self.fault is None or (self.fault.not_rank_0 and self.rank == 0):
                self.fault = random.choice(kinds)(random, self.names)
            return self.hook(self.fault.lines, here)
        if self.category in ("pair", "roles", "work"):
            story = random.choice({"pair": stories.PAIRS, "roles": services.ROLES,
                                   "work": work.WORK}[self.category])
            if story is stories.ended_rank:
                self.rank = random.randrange(1, self.world)
            other = random.choice([rank for rank in range(self.world) if rank != self.rank])
            self.fault = story(random, self.names, self.rank, other)
        elif self.category == "ring":
            self.fault = stories.receives_ring(random, self.names, self.world)
        elif self.category == "order":
            group = random.choice(self.groups[1:])
            self.rank = random.choice([rank for rank in group.members()
                                       if len(group.part_of(rank)) > 1])
            self.fault = stories.crossed_groups(random, self.names, self.rank, group)
        else:
            return None
        self.source.setup += self.fault.prepare
        return self.hook(self.fault.lines, f"i == {self.at}")

    def spoil_order(self, loop):
        """Makes the rank skip an operation, or run another one. Returns the Story, or None."""
        places = [place for place, (_, kind, group) in enumerate(loop)
                  if group is not None and kind in steps.COLLECTIVES + (steps.monitored_barrier,)
                  and self.rank in group.members()]
        if not places:
            return None
        place = self.random.choice(places)
        lines, kind, group = loop[place]
        here = f"if RANK == {self.rank} and i == {self.at}:"
        other = ["    facts.faulty()"]
        if self.category == "swap":
            kinds = [each for each in (steps.barrier, steps.all_reduce, steps.all_gather)
                     if each is not kind]
            call, _ = self.operation(self.random.choice(kinds), group)
            other.append(f"    {call}(i)")
        loop[place] = ([here, *other, "else:", *source.indent(lines)], kind, group)
        # Or the circle that it forms with the ranks that wait for it in another group.
        sets = [[self.rank]]
        for each in sorted({tuple(each.part_of(self.rank)) for each in self.groups}):
            if 0 < len(each) < self.world and list(each) not in sets:
                sets.append(list(each))
        # A circle of two: only numbers show which of them skipped an operation.
        sets += [sorted([self.rank, each]) for each in range(self.world) if each != self.rank]
        # If some ranks may leave an operation early, the others' places do not show whose fault it
        # is.
        waits = all(each in steps.WAIT_FOR_ALL + steps.LOCAL + (steps.all_reduce_spun,)
                    for _, each, _ in loop)
        does = "skips" if self.category == "skip" else "calls something else instead of"
        return stories.Story(self.category, [], sets,
                             ("skipped_collective", "mismatched_collective", "collective_order",
                              "resource_cycle", "early_exit"),
                             f"rank {self.rank} {does} one {kind.__name__}", [self.rank],
                             unknown_is_right=not waits)

    def leave_early(self):
        """The rank leaves the loop, and goes on with the code behind it."""
        random = self.random
        ways = {"sleeps": ["ctx.last = 1"], "barrier": ["dist.barrier()"],
                "all_reduce": ["dist.all_reduce(torch.ones(64))"],
                "lives_on": ["threading.Thread(target=time.sleep, args=(10**6,)).start()",
                             "sys.exit(0)"]}
        way = random.choice(list(ways))
        call = self.source.define([faults.FAULTY, *ways[way], "time.sleep(10**6)"])
        self.source.after = [f"{call}(0)"]
        lines = [f"if RANK == {self.rank} and i == {self.at}:", "    break"]
        return lines, stories.Story(
            f"leave_{way}", [], [[self.rank]],
            ("skipped_collective", "early_exit", "mismatched_collective", "failed_rank"),
            f"rank {self.rank} leaves the loop early ({way})", [self.rank])

    def add_bystanders(self):
        """Adds threads, children and servers that have no part in what the job does, to all ranks
        or to one."""
        for _ in range(self.random.choice((1, 1, 2, 3))):
            lines = services.bystander(self.random, self.names)
            if self.random.random() < 0.4:
                lines = [f"if RANK == {self.random.randrange(self.world)}:", *source.indent(lines)]
            self.source.setup += lines
        self.features.append("bystanders")

    def pace(self):
        """Makes a job that goes on: steps of some milliseconds, in one rank perhaps longer."""
        random = self.random
        pause = random.choice((0.005, 0.02, 0.08, 0.2, 0.2, 1.0))
        lines = [f"time.sleep({pause} * (1 + (i * 7 + RANK * 3) % 5 / 10))"]
        if self.category == "slow":
            lines = random.choice(([f"time.sleep({random.choice((0.25, 0.4, 0.6, 1.5, 3.0))})"],
                                   ["total = sum(range(15 * 10**6))"]))
            lines = [f"if RANK == {self.rank}:", *source.indent(lines)]
        return [f"{self.source.define(lines)}(i)"]

    def make(self):
        self.make_groups()
        hook, loop = self.choose_fault(), self.make_steps()
        early = []
        if self.category in ("skip", "swap"):
            self.fault = self.spoil_order(loop)
            self.source.count = str(self.at + self.random.randrange(3, 9))
            self.source.after = [f"{self.source.define(['facts.resting()', 'dist.barrier()'])}(0)"]
            # Long enough to be seen, should the fault not matter.
            self.source.after.append("time.sleep(10**6)")
        elif self.category == "leave":
            early, self.fault = self.leave_early()
            self.source.count = str(self.at + 1)
        self.add_parts(loop, hook)
        if self.random.random() < BYSTANDERS:
            self.add_bystanders()
        if self.category in ("healthy", "slow"):
            loop.append((self.pace(), None, None))
        self.source.loop = early + [line for lines, _, _ in loop for line in lines]
        return self.job()

    def truth(self):
        truth = {"seed": self.seed, "ranks": self.world, "category": self.category,
                 "features": sorted(set(self.features)), "unknown_is_right": False}
        if self.category == "healthy":
            truth.update(fault="none", culprits=[[]], kinds=["healthy"], story="all ranks go on")
        elif self.category == "slow":
            truth.update(fault="slow", culprits=[[self.rank], []], kinds=["slow", "healthy"],
                         story=f"the job goes on; rank {self.rank} is the slow one")
        elif isinstance(self.fault, stories.Story):
            # Stories do not know how many ranks there are.
            sets = [each for each in self.fault.culprits if all(rank < self.world for rank in each)]
            truth.update(fault=self.fault.name, culprits=sets,
                         kinds=list(self.fault.kinds), story=self.fault.story,
                         unknown_is_right=self.fault.unknown_is_right)
        else:
            extra = ("rendezvous",) if self.category == "setup" else ()
            name = ("setup_" if extra else "") + self.fault.name
            truth.update(fault=name, culprits=[[self.rank]],
                         kinds=[*self.fault.kinds, *extra],
                         story=f"rank {self.rank} {self.fault.story}"
                         + (" before a group is made" if extra else ""))
        return truth

    def job(self):
        fault, stdin, faulty, ends, runs = self.fault, ["null"] * self.world, [], [], []
        if isinstance(fault, faults.Fault):
            stdin[self.rank], faulty = fault.stdin, [self.rank]
            ends, runs = [self.rank] * fault.ends, [self.rank] * fault.runs
        elif fault:
            # A story lists the ranks that it concerns; any of them may run.
            faulty, ends, runs = fault.faulty, fault.ends, fault.faulty
        if "all_reduce_spun" in self.features:
            runs = list(range(self.world))
        return Job(files=self.source.text("facts"), ranks=self.world, stdin=stdin,
                   torchrun=self.random.random() < 0.4, listens=getattr(fault, "listens", False),
                   zombies=getattr(fault, "zombies", False), faulty=faulty, ends=ends, runs=runs,
                   moves=fault is None, truth=self.truth())


def generate(seed):
    """Returns the Job of a seed, or None if the seed yields none."""
    maker = Maker(seed)
    if maker.category == "order" and maker.world < 3:
        return None
    job = maker.make()
    return job if maker.fault or maker.category in ("healthy", "slow") else None


if __name__ == "__main__":
    made = generate(int(sys.argv[1]))
    print(made.text() if made else "this seed makes no job")
    print(json.dumps(made.truth if made else None, indent=1))
