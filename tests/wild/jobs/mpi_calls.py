"""What ranks of a Python program wait for in MPI: mpi_calls.py OPERATION"""
import ctypes
import os
import sys
import threading

import numpy
from mpi4py import MPI

import place

OPERATION = sys.argv[1]
WORLD = MPI.COMM_WORLD
HALF = WORLD.Split(WORLD.rank % 2, WORLD.rank)
HALF.Set_name("halves")
COPY = WORLD.Dup()
SEND, RECEIVE = numpy.ones(1000), numpy.empty(1000)


def transfer(without=False):
    if WORLD.rank == 0:
        WORLD.recv(source=1, tag=5)
    elif WORLD.rank == 1 and not without:
        WORLD.send({}, dest=0, tag=5)
    WORLD.Barrier()


def half():
    HALF.allreduce(1)
    WORLD.Barrier()


def keep_gil():
    """Waits for a thread that makes a copy of the communicator, alone, and keeps the GIL."""
    library = ctypes.PyDLL(os.environ["MPI4PY_LIBMPI"])
    made, copy = threading.Event(), ctypes.c_void_p()

    def make_copy():
        library.MPI_Comm_dup(ctypes.c_void_p(MPI._handleof(WORLD)), ctypes.byref(copy))
        made.set()
    threading.Thread(target=make_copy).start()
    made.wait()


OPERATIONS = {
    "allreduce": lambda: WORLD.Allreduce(SEND, RECEIVE),
    "barrier": COPY.Barrier,
    "half": half,
    "recv": transfer,
    "wait": lambda: WORLD.Iallreduce(SEND, RECEIVE).Wait(),
}
for step in range(20):
    OPERATIONS[OPERATION]()
place.say(WORLD.rank)
while True:
    if place.errs(WORLD.rank, "order"):
        WORLD.Barrier()
    elif place.errs(WORLD.rank, "keeps_gil"):
        keep_gil()
    elif place.errs(WORLD.rank, "no_send"):
        transfer(without=True)
    else:
        place.stop(WORLD.rank)
    OPERATIONS[OPERATION]()
