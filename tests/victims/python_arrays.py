"""Arrays as locals of a blocked function; prints the text expected for each, then "ready".

  local NAME TEXT
Leaves out what cannot be imported (numpy, torch).
"""
import os

try:
    import numpy
except ImportError:
    numpy = None
try:
    import torch
except ImportError:
    torch = None


def of_numpy(array):
    return "<%s %s %s>" % (type(array).__name__, array.shape, array.dtype)


def of_torch(tensor):
    return "<%s %s %s %s>" % (type(tensor).__name__, tuple(tensor.shape),
                              str(tensor.dtype)[len("torch."):], tensor.device)


def tell(name, text):
    print("local %s %s" % (name, text))


def wait():
    print("ready", flush=True)
    os.read(0, 1)


def with_numpy():
    matrix = numpy.zeros((2, 3), dtype=numpy.float32)
    vector = numpy.arange(5)
    nothing = numpy.array(1.5)
    flags = numpy.ones((1, 0, 4), dtype=bool)
    view = matrix[:, ::2]
    step = numpy.int64(1207)
    small = numpy.int32(-3)
    loss = numpy.float64(0.5)
    half = numpy.float32(0.25)
    for name in ("matrix", "vector", "nothing", "flags", "view"):
        tell(name, of_numpy(locals()[name]))
    tell("step", "int64(1207)")
    tell("small", "int32(-3)")
    tell("loss", "float64(0.5)")
    tell("half", "float32(0.25)")
    with_torch() if torch else wait()


def with_torch():
    weights = torch.zeros(8, 128, dtype=torch.bfloat16)
    ids = torch.arange(12)
    scalar = torch.tensor(True)
    deep = torch.zeros(1, 2, 3, 4, 5, 6, dtype=torch.float16)
    parameter = torch.nn.Parameter(torch.zeros(10))
    empty = torch.empty(0, 7, dtype=torch.complex64)
    strided = torch.zeros(6, 6)[::2, 1:].t()
    meta = torch.zeros(3, device="meta")
    for name in ("weights", "ids", "scalar", "deep", "parameter", "empty", "strided", "meta"):
        tell(name, of_torch(locals()[name]))
    wait()


def main():
    if numpy:
        with_numpy()
    elif torch:
        with_torch()
    else:
        print("none", flush=True)


main()
