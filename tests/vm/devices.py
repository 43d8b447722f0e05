"""Network adapters: soft-RoCE, whose ports are in the real /sys/class/infiniband."""

import subprocess

from guest import check, command, modprobe, read, wait_until


def texts_of(value):
    """Yields all texts of a report."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, str):
        yield value


def soft_roce(guest):
    """Soft-RoCE (rdma_rxe): one of two ports goes down, and is named"""
    modprobe("rdma_rxe", "veth")
    for number in (0, 1):
        command("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", f"far{number}")
        guest.undo(subprocess.run, ["ip", "link", "del", f"port{number}"])
        command("ip", "link", "set", f"port{number}", "up")
        command("ip", "link", "set", f"far{number}", "up")
        command("rdma", "link", "add", f"rxe{number}", "type", "rxe", "netdev", f"port{number}")
        wait_until(lambda number=number: "ACTIVE" in read(f"/sys/class/infiniband/rxe{number}/ports/1/state"),
                   "the port is up")
    pid = guest.rank().pid
    before = guest.reads_well(pid)
    check("rxe" not in str(before.json["verdict"]) + str(before.notes), before)
    command("ip", "link", "set", "port1", "down")
    wait_until(lambda: "DOWN" in read("/sys/class/infiniband/rxe1/ports/1/state"), "the port is down")
    run = guest.reads_well(pid)
    said = [text for text in texts_of(run.json) if "rxe" in text]
    counters = command("sh", "-c", "cd /sys/class/infiniband/rxe1/ports/1; grep . state phys_state */link_down* 2>&1")
    check(said and all("rxe1 port 1" in text and "rxe0" not in text for text in said), said, counters)
    return said[0]


CASES = (soft_roce,)
