"""Locals of many kinds in a blocked function. Prints for each variable the text that oddrank shall show, as
JSON: {"variable": "text"}; then "ready".
"""
import argparse
import collections
import dataclasses
import enum
import json
import os
import sys
import types
import typing

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None

EXPECTED = {}


def shows(**texts):
    EXPECTED.update(texts)


class Color(enum.Enum):
    RED = 1
    BLUE = "b"


class Level(enum.IntEnum):
    HIGH = 3


class Mode(str, enum.Enum):
    TRAIN = "train"


@dataclasses.dataclass
class Config:
    lr: float = 0.1
    steps: typing.List[int] = dataclasses.field(default_factory=lambda: [1, 2])
    api_key: str = "kitten-dataclass"


@dataclasses.dataclass
class Wider(Config):
    name: str = "wide"


class Slotted:
    __slots__ = ("first", "second")

    def __init__(self):
        self.first = 1


class Plain:
    def __init__(self):
        self.layers = 3
        self.inner = [1]

    def step(self):
        pass


class Batch(collections.UserDict):
    pass


Point = collections.namedtuple("Point", "x y")


class Named(typing.NamedTuple):
    rank: int
    token: str


class Items(list):
    pass


class Late:
    """Its attributes are set in another order by each instance."""

    def __init__(self, first):
        if first:
            self.a = 1
        self.b = 2
        self.a = 3
        self.c = 4


def wait():
    print(json.dumps(EXPECTED), flush=True)
    print("ready", flush=True)
    os.read(0, 1)


def plain_values():
    none, truth, small, big = None, True, -7, -2 ** 200
    huge = 1 << 5000
    real, text = 2.5e-7, "it's\n"
    long_text = "é" * 200
    raw = b"a\x00'"
    array = bytearray(b"xyz")
    number = 1 - 2j
    dots, span = ..., range(3, 9, 2)
    part = slice(1, None)
    function, method, kind, module = wait, Plain().step, Config, json
    shows(none="None", truth="True", small="-7", big=str(big), huge="<int of 5001 bits>",
          real="2.5e-07", text="'it\\'s\\n'", long_text="'" + "é" * 40 + "'...",
          raw="b'a\\x00\\''", array="bytearray(b'xyz')", number="(1-2j)", dots="Ellipsis",
          span="range(3, 9, 2)", part="slice(1, None, None)", function="<function wait>",
          method="<method Plain.step>" if sys.version_info >= (3, 11) else "<method step>",
          kind="<class Config>", module="<module json>")
    containers()


def containers():
    empty = [(), [], {}, set(), frozenset()]
    nested = [[[[1]]], (2,)]
    mapping = {"a": 1, 2: [3, {"b": 4}], (5,): None}
    long = list(range(30))
    wide = {i: i for i in range(30)}
    removed = {i: i for i in range(6)}
    del removed[0], removed[3]
    one = {7}
    frozen = frozenset([8])
    ordered = collections.OrderedDict(x=1, y=2)
    count = collections.Counter("aab")
    default = collections.defaultdict(list, k=[1])
    queue = collections.deque(range(3))
    rotated = collections.deque(range(200))
    rotated.rotate(70)
    itself = [1]
    itself.append(itself)
    point, named = Point(1, [2]), Named(3, "kitten-named")
    sub = Items([1])
    batch = Batch(ids=[1, 2], mask=None)
    shows(empty="[(), [], {}, set(), frozenset()]", nested="[[<list of 1>], (2,)]",
          mapping="{'a': 1, 2: [3, <dict of 1>], (5,): None}",
          long="[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... 30 items]",
          wide="{%s, ... 30 items}" % ", ".join("%d: %d" % (i, i) for i in range(10)),
          removed="{1: 1, 2: 2, 4: 4, 5: 5}", one="{7}", frozen="frozenset({8})",
          ordered="OrderedDict({'x': 1, 'y': 2})", count="Counter({'a': 2, 'b': 1})",
          default="defaultdict({'k': [1]})", queue="deque([0, 1, 2])",
          rotated="deque([%s, ... 200 items])" % ", ".join(str(i) for i in range(130, 140)),
          itself="[1, ...]", point="Point(x=1, y=[2])", named="Named(rank=3, token=***)",
          sub="Items([1])", batch="Batch({'ids': [1, 2], 'mask': None})")
    instances()


def instances():
    color, blue, level, mode = Color.RED, Color.BLUE, Level.HIGH, Mode.TRAIN
    config, wider = Config(), Wider()
    plain, slotted = Plain(), Slotted()
    late, later = Late(True).__dict__, Late(False).__dict__
    attributes, split = plain.__dict__, Plain().__dict__
    space = types.SimpleNamespace(epoch=4)
    arguments = argparse.Namespace(lr=0.5, password="kitten-space")
    error = ValueError("bad", 3)
    shows(color="<Color.RED: 1>", blue="<Color.BLUE: 'b'>", level="<Level.HIGH: 3>",
          mode="<Mode.TRAIN: 'train'>",
          config="Config(lr=0.1, steps=[1, 2], api_key=***)",
          wider="Wider(lr=0.1, steps=[1, 2], api_key=***, name='wide')",
          plain="<Plain>", slotted="<Slotted>", late="{'a': 3, 'b': 2, 'c': 4}", later="{'b': 2, 'a': 3, 'c': 4}",
          attributes="{'layers': 3, 'inner': [1]}", split="{'layers': 3, 'inner': [1]}",
          space="SimpleNamespace(epoch=4)", arguments="Namespace(lr=0.5, password=***)",
          error="ValueError('bad', 3)")
    secrets()


def secrets():
    settings = {"password": "kitten-1", "deep": {"db": {"api_key": "kitten-2"}}, "max_tokens": 512,
                b"secret": b"kitten-3", "token": ["kitten-4"]}
    argv = ["train.py", "--password", "kitten-5", "--lr", "3"]
    pairs = [("auth_token", "kitten-6")]
    url = {"a": ["https://ann:kitten-7@host/path"]}
    password = {"x": "kitten-8"}
    query = [1, 2]
    shows(settings="{'password': ***, 'deep': {'db': <dict of 1>}, 'max_tokens': 512, "
                   "b'secret': <bytes of 8>, 'token': ***}",
          argv="['train.py', '--password', ***, '--lr', '3']",
          pairs="[('auth_token', ***)]", password="<dict of 1>", query="[1, 2]")
    assert url
    arrays()


def arrays():
    if numpy:
        few = numpy.array([[1.5, 2.0], [3.0, 4.0]], dtype=numpy.float32)
        strided = numpy.arange(12)[::-3]
        big_endian = numpy.array([1], dtype=">i4")
        byte = numpy.uint8(200)
        flag = numpy.bool_(True)
        half = numpy.float16(0.1)
        shows(few="<ndarray (2, 2) float32 [[1.5, 2.0], [3.0, 4.0]]>",
              strided="<ndarray (4,) int64 [11, 8, 5, 2]>", big_endian="<ndarray (1,) int32>",
              byte="uint8(200)", flag="True", half="float16(0.099976)")
    with_torch() if torch else many()


def with_torch():
    pair = torch.tensor([3, 4])
    scalar = torch.tensor(0.1)
    brain = torch.tensor([0.1, 7], dtype=torch.bfloat16)
    turned = torch.arange(6.0).reshape(2, 3).t()[1:]
    full = torch.zeros(9)
    meta = torch.zeros(2, device="meta")
    deep = torch.arange(2).reshape(1, 1, 1, 1, 1, 2)
    shape, dtype, device = full.shape, brain.dtype, torch.device("cuda", 1)
    encoded = {"input_ids": torch.zeros(8, 128, dtype=torch.long), "key": torch.ones(2)}
    shows(pair="<Tensor (2,) int64 cpu [3, 4]>", scalar="<Tensor () float32 cpu 0.1>",
          brain="<Tensor (2,) bfloat16 cpu [0.1001, 7.0]>",
          turned="<Tensor (2, 2) float32 cpu [[1.0, 4.0], [2.0, 5.0]]>",
          full="<Tensor (9,) float32 cpu>", meta="<Tensor (2,) float32 meta>",
          deep="<Tensor (1, 1, 1, 1, 1, 2) int64 cpu [[[[[[0, 1]]]]]]>",
          shape="torch.Size([9])", dtype="torch.bfloat16", device="device('cuda:1')",
          encoded="{'input_ids': <Tensor (8, 128) int64 cpu>, 'key': <Tensor (2,) float32 cpu>}")
    many()


def many():
    names = ["v%d" % i for i in range(518)]
    space = {}
    exec("def f(wait, shows):\n" + "".join("    %s = 1\n" % name for name in names)
         + "    shows(**{'...': '<8 more>'})\n    wait()\n", space)
    space["f"](wait, shows)


plain_values()
