"""Loops that get work done, one item after the other, and the same loops stuck in an item.

Each shape is what the loop needs, its first line, and what it does at the start of each turn.
"""

from faults import FAULTY, FOREVER
from stories import Story

ITEMS = 4000
SHAPES = (
    ([], f"for item in range({ITEMS}):", []),
    ([f"WORK = [0] * {ITEMS}"], "for item in WORK:", []),
    ([f"WORK = [0] * {ITEMS}"], "for place, item in enumerate(WORK):", []),
    ([f"WORK = [0] * {ITEMS}"], "for item in reversed(WORK):", []),
    ([f"WORK = dict.fromkeys(range({ITEMS}))"], "for item in WORK:", []),
    ([f"WORK = dict.fromkeys(range({ITEMS}))"], "for item, value in WORK.items():", []),
    ([f"WORK = set(range({ITEMS}))"], "for item in WORK:", []),
    ([f"WORK = collections.deque(range({ITEMS}))"], "for item in WORK:", []),
    ([f"WORK = list(range({ITEMS}))"], "for item, other in zip(WORK, WORK):", []),
    ([f"WORK = [0] * {ITEMS}"], "for item in map(str, WORK):", []),
    ([f"WORK = [0] * {ITEMS}"], "for item in (each for each in WORK):", []),
    (["def items():", "    at = 0", f"    while at < {ITEMS}:", "        yield at", "        at += 1", ""],
     "for item in items():", []),
    (["def items():", f"    for at in range({ITEMS}):", "        yield at", ""], "for item in items():", []),
    ([f"WORK = list(range({ITEMS}))"], "while WORK:", ["item = WORK.pop()"]),
    ([f"ctx.WORK = list(range({ITEMS}))"], "while ctx.WORK:", ["item = ctx.WORK.pop()"]),
    ([f"WORK = collections.deque(range({ITEMS}))"], "while len(WORK) > 0:", ["item = WORK.popleft()"]),
    ([f"WORK = set(range({ITEMS}))"], "while True:", ["if not WORK:", "    break", "item = WORK.pop()"]),
    (["WORK = 0"], f"while WORK < {ITEMS}:", ["WORK += 1"]),
    ([f"WORK = {ITEMS}"], "while WORK:", ["WORK -= 1"]),
    (["WORK = []"], f"while len(WORK) < {ITEMS}:", ["WORK.append(0)"]),
)


def _bodies(random, names):
    """Returns ways to work at one item: (what is needed before, lines of a turn)."""
    helper, box = names.function(), names.noun()
    nap = random.choice((0.02, 0.1, 0.3))
    spin = ["end = time.perf_counter() + 0.1", "while time.perf_counter() < end:", "    sum(range(100))"]
    return random.choice((
        ([], [f"time.sleep({nap})"]),
        ([f"def {helper}(item):", f"    time.sleep({nap})", ""], [f"{helper}(0)"]),
        ([], spin),
        ([], ["subprocess.run(['sleep', '0.1'])"]),
        ([], ["subprocess.run(['sh', '-c', 'head -c 9999 /dev/zero | (sleep 0.2; cat) | cksum > sum.txt'])"]),
        ([f"{box} = queue.Queue(2)", f"def {helper}():", "    while True:", f"        time.sleep({nap})",
          f"        {box}.put(0)", "", f"threading.Thread(target={helper}, daemon=True).start()"], [f"{box}.get()"]),
        ([f"{box} = concurrent.futures.ThreadPoolExecutor(2)"], [f"{box}.submit(time.sleep, {nap}).result()"]),
        ([], ["with open('done.txt', 'a') as file:", "    file.write('x')", f"time.sleep({nap})"])))


def _loop(random, names, stuck):
    make, head, turn = random.choice(SHAPES)
    before, body = _bodies(random, names)
    work = names.noun()
    stands = ["turns = turns + 1", "if turns == 5:", f"    {FAULTY}", f"    {FOREVER}"] if stuck else []
    lines = ["turns = 0", *make, *before, *([] if stuck else [FAULTY]), head,
             *("    " + line for line in (*turn, *stands, *body))]
    return ["import collections", *(line.replace("WORK", work) for line in lines)]


def at_work(random, names, rank, other):
    return Story("at_work", [f"if RANK == {rank}:", *("    " + line for line in _loop(random, names, False))],
                 [[rank], []], ("slow", "healthy"), f"rank {rank} gets its items done", [rank])


def stuck_at_work(random, names, rank, other):
    return Story("stuck_at_work", [f"if RANK == {rank}:", *("    " + line for line in _loop(random, names, True))],
                 [[rank]], ("skipped_collective", "stuck_rank"), f"rank {rank} sleeps in one of its items", [rank])


WORK = (at_work, stuck_at_work)
