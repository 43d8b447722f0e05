"""Processes of JAX that meet again and again in one way: jax_calls.py WAY PORT RANK WORLD"""
import sys

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import place

WAY, PORT, RANK, WORLD = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_cpu_collectives_implementation", "gloo")
if WAY == "init":
    place.say(RANK)
    place.stop(RANK)
jax.distributed.initialize(f"127.0.0.1:{PORT}", num_processes=WORLD, process_id=RANK)
from jax.experimental import multihost_utils  # pylint: disable=wrong-import-position
from jax._src import distributed  # pylint: disable=wrong-import-position
client = distributed.global_state.client


def sum_of_all():
    """Returns a function whose result is a sum over all processes: a compiled step."""
    mesh = Mesh(jax.devices(), ("all",))
    rows = NamedSharding(mesh, PartitionSpec("all"))
    size = 256
    values = jax.make_array_from_callback((WORLD, size, size), rows,
                                          lambda _: jnp.ones((1, size, size)))
    total = jax.jit(lambda rows: jnp.sum(rows @ rows), out_shardings=NamedSharding(mesh, PartitionSpec()))
    return lambda: total(values)


def key_value(step):
    """Rank 1 tells the others where it is."""
    if RANK == 1:
        client.key_value_set(f"step {step}", "done")
    else:
        client.blocking_key_value_get(f"step {step}", 1_000_000)


total_of_all = sum_of_all() if WAY in ("step", "loop") else None
WAYS = {
    "step": lambda step: total_of_all().block_until_ready(),
    "loop": lambda step: total_of_all(),  # waits only where the queue of steps is full
    "gather": lambda step: multihost_utils.process_allgather(jnp.ones(4)),
    "sync": lambda step: multihost_utils.sync_global_devices(f"step {step}"),
    "barrier": lambda step: client.wait_at_barrier(f"step {step}", 1_000_000),
    "key_value": key_value,
    "init": lambda step: multihost_utils.process_allgather(jnp.ones(4)),
}
if WAY != "init":
    place.say(RANK)
for number in range(1_000_000_000):
    if number == 5 and place.errs(RANK, "order"):
        client.wait_at_barrier("another", 1_000_000)
    elif number == 5:
        place.stop(RANK)
    WAYS[WAY](number)
