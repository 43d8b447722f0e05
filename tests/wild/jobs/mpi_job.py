"""Ranks of an MPI program, below a shell whose variables are those of another job."""
from mpi4py import MPI

import place

WORLD = MPI.COMM_WORLD
place.say(WORLD.rank)
while True:
    place.stop(WORLD.rank)
    WORLD.Barrier()
