"""JAX: jax_job.py PORT RANK WORLD, or jax_job.py PORT slurm"""
import os
import sys

import jax

import place

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
ADDRESS = f"{os.environ.get('MASTER_ADDR', '127.0.0.1')}:{sys.argv[1]}"
if sys.argv[2] == "slurm":
    jax.distributed.initialize(ADDRESS)
else:
    jax.distributed.initialize(ADDRESS, num_processes=int(sys.argv[3]), process_id=int(sys.argv[2]))
from jax.experimental import multihost_utils  # pylint: disable=wrong-import-position

place.say(jax.process_index())
step = 0  # pylint: disable=invalid-name
while True:
    place.stop(jax.process_index())
    step += 1
    multihost_utils.process_allgather(jax.numpy.ones(4))
