"""Parts of generated jobs that need preparation before the loop: models, threads with groups of
their own.

Each function adds what it needs to the source and returns the lines of its step. `inside`: the
expression of a function of one argument that is called inside the step, where a fault may be; or
None.
"""


def _call(inside):
    return [f"{inside}(ctx.step)"] if inside else ["pass"]


def _module(source, inside):
    """Defines a torch module that calls `inside` in its forward pass. Returns its name."""
    name, noun = source.names.type(), source.names.noun()
    source.blocks.append("\n".join([
        f"class {name}(torch.nn.Module):", "    def __init__(self):", "        super().__init__()",
        f"        self.{noun} = torch.nn.Linear(8, 8)", "",
        "    def forward(self, values):", *("        " + line for line in _call(inside)),
        f"        return torch.relu(self.{noun}(values))"]))
    return name


def _train(model, hook):
    lines = ["values = torch.ones(4, 8, requires_grad=True)", f"loss = ctx.{model}(values).sum()"]
    if hook:
        lines += [f"handle = loss.register_hook(lambda grad: ({hook}(ctx.step), None)[1])"]
    return lines + ["loss.backward()", f"ctx.{model}_optimizer.step()",
                    f"ctx.{model}_optimizer.zero_grad()"]


def ddp(source, inside, buffers=False):
    random, model = source.random, source.names.noun()
    in_backward = inside and random.random() < 0.5
    module = _module(source, None if in_backward else inside)
    norm = ", torch.nn.BatchNorm1d(8)" if buffers else ""
    source.setup += [
        f"ctx.{model} = DistributedDataParallel(torch.nn.Sequential({module}(){norm}))",
        f"ctx.{model}_optimizer = torch.optim.SGD(ctx.{model}.parameters(), lr=0.01)"]
    return _train(model, inside if in_backward else None)


def ddp_buffers(source, inside):
    return ddp(source, inside, buffers=True)


def fsdp(source, inside):
    model, module = source.names.noun(), _module(source, inside)
    source.setup += [
        f"ctx.{model} = torch.nn.Sequential({module}(), torch.nn.Linear(8, 8))",
        f"for layer in ctx.{model}:", "    fully_shard(layer)", f"fully_shard(ctx.{model})",
        f"ctx.{model}_optimizer = torch.optim.SGD(ctx.{model}.parameters(), lr=0.01)"]
    return _train(model, None)


def loader(source, inside):
    """Adds a DataLoader without workers: its dataset is read in the rank's own thread."""
    name, variable = source.names.type(), source.names.noun()
    source.blocks.append("\n".join([
        f"class {name}(torch.utils.data.IterableDataset):", "    def __iter__(self):",
        "        while True:", *("            " + line for line in _call(inside)),
        "            yield torch.ones(4)"]))
    source.setup += [f"ctx.{variable} = iter(torch.utils.data.DataLoader({name}(), batch_size=2))"]
    return [f"batch = next(ctx.{variable})", "total = float(batch.sum())"]


def _side_group(source):
    group = source.names.noun()
    source.setup.append(f"ctx.{group} = dist.new_group(list(range(WORLD)))")
    return group


def side_thread(source, inside):
    """Adds a thread with a group of its own that goes on by itself; no other thread waits for
    it."""
    group, pause = _side_group(source), source.random.choice((0.05, 0.3, 1.0))
    body = ["while True:", f"    dist.all_reduce(torch.ones(2), group=ctx.{group})",
            f"    time.sleep({pause})"]
    run = source.define(body, depth=0)
    source.setup.append(f"threading.Thread(target={run}, args=(0,), daemon=True).start()")
    return []


def fed_thread(source, inside):
    """Adds a thread that makes one collective for each step, on request; the step does not wait."""
    group, feed = _side_group(source), source.names.noun()
    run = source.define(["while True:", f"    values = ctx.{feed}.get()",
                         f"    dist.all_reduce(values, group=ctx.{group})"], depth=0)
    source.setup += [f"ctx.{feed} = queue.Queue()",
                     f"threading.Thread(target={run}, args=(0,), daemon=True).start()"]
    return [f"ctx.{feed}.put(torch.ones(4))"]


def joined_thread(source, inside):
    """Adds a thread that makes a collective while the main thread waits for it."""
    group = _side_group(source)
    run = source.define([f"dist.all_reduce(torch.ones(4), group=ctx.{group})"], depth=0)
    return [f"thread = threading.Thread(target={run}, args=(i,))", "thread.start()",
            "total = sum(range(100))", "thread.join()"]


def pooled_thread(source, inside):
    group, pool = _side_group(source), source.names.noun()
    run = source.define([f"dist.barrier(ctx.{group})"], depth=0)
    source.setup.append(f"ctx.{pool} = concurrent.futures.ThreadPoolExecutor(1)")
    return [f"ctx.{pool}.submit({run}, i).result()"]


def event_loop(source, inside):
    """Lets the main thread run an event loop that waits for a thread in a collective."""
    group, name = _side_group(source), source.names.function()
    source.blocks.append("\n".join([
        f"async def {name}(i):",
        f"    await asyncio.to_thread(dist.all_reduce, torch.ones(4), group=ctx.{group})"]))
    return [f"asyncio.run({name}(i))"]


def locking_tasks(source, inside):
    """Lets tasks of an event loop take two locks in one order."""
    locks, name, run = source.names.noun(), source.names.function(), source.names.function()
    source.blocks.append("\n".join([
        f"async def {name}({locks}):", f"    async with {locks}[0]:", "        await asyncio.sleep(0)",
        f"        async with {locks}[1]:", "            await asyncio.sleep(0.01)", "",
        f"async def {run}():", f"    {locks} = asyncio.Lock(), asyncio.Lock()",
        f"    await asyncio.gather({name}({locks}), {name}({locks}))"]))
    return [f"asyncio.run({run}())"]


def heartbeat(source, inside):
    """Adds a thread that only shows that it lives; nobody waits for it."""
    random, pause = source.random, source.random.choice((0.1, 0.5, 2.0))
    body = random.choice((
        ["while True:", f"    time.sleep({pause})", "    ctx.beats = 1"],
        [f"while not threading.Event().wait({pause}):", "    pass"],
        ["while True:", f"    time.sleep({pause})", "    open('beat.txt', 'w').write('x')"]))
    run = source.define(body, depth=0)
    source.setup.append(f"threading.Thread(target={run}, args=(0,), daemon=True).start()")
    return []


def compute(source, inside):
    """Adds nothing but a place for the fault."""
    return ["total = sum(range(500))", *_call(inside)]


HOSTS = (ddp, ddp_buffers, fsdp, loader)  # a fault may be inside these
OTHERS = (side_thread, fed_thread, joined_thread, pooled_thread, event_loop, locking_tasks)
