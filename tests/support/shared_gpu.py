"""Several ranks of NCCL on one GPU."""


def variables(job, rank):
    """Returns the variables of a rank. NCCL refuses two ranks of one host on one GPU; with these, each
    rank says that it is on a host of its own, and they meet on the loopback device. Seen with NCCL 2.28."""
    return {"NCCL_HOSTID": f"{job}-{rank}", "NCCL_SOCKET_IFNAME": "lo", "NCCL_IB_DISABLE": "1",
            "GLOO_SOCKET_IFNAME": "lo"}
