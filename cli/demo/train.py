"""A training job in small: each rank loads a batch and adds it up with the others, over a ring of sockets.

    RANK=0 WORLD_SIZE=4 python3 train.py FOLDER

FOLDER has a file of at least WORLD_SIZE bytes for each rank and step: rank0-step1.bin. Ranks find each
other by files there, too. Each rank prints where it is before it does what may take long.
"""
import os
import socket
import sys
import time

STEPS = 3
NUMBER = 12  # bytes, in decimal

folder = sys.argv[1]
rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])


def port_file(of_rank):
    return os.path.join(folder, "rank%d.port" % of_rank)


def connect_ring():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    with open(port_file(rank) + ".new", "w") as file:
        file.write(str(listener.getsockname()[1]))
    os.rename(file.name, port_file(rank))
    right = port_file((rank + 1) % world)
    while not os.path.exists(right):
        time.sleep(0.005)
    with open(right) as file:
        to_right = socket.create_connection(("127.0.0.1", int(file.read())))
    from_left = listener.accept()[0]
    listener.close()
    return from_left, to_right


def load_batch(step):
    print("load", step, flush=True)
    with open(os.path.join(folder, "rank%d-step%d.bin" % (rank, step)), "rb") as shard:
        return list(shard.read(world))


def receive(connection):
    digits = b""
    while len(digits) < NUMBER:
        more = connection.recv(NUMBER - len(digits))
        if not more:
            sys.exit("rank %d: the rank to the left has ended" % rank)
        digits += more
    return int(digits)


def all_reduce(numbers, step, from_left, to_right):
    """Sums in world - 1 turns, and hands the sums on in as many."""
    part = rank
    for turn in range(2 * (world - 1)):
        to_right.sendall(b"%*d" % (NUMBER, numbers[part]))
        part = (part - 1) % world
        print("all_reduce", step, turn, flush=True)
        received = receive(from_left)
        numbers[part] = received + (numbers[part] if turn < world - 1 else 0)


def train():
    from_left, to_right = connect_ring()
    for step in range(1, STEPS + 1):
        gradients = load_batch(step)
        all_reduce(gradients, step, from_left, to_right)
    print("done", sum(gradients), flush=True)


train()
