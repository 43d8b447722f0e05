"""A rank whose launcher sets RANK, WORLD_SIZE and MASTER_*: torchrun, accelerate, DeepSpeed."""
import os
import sys

import torch.distributed as dist

import place

if len(sys.argv) > 1 and sys.argv[1] == "title":
    import setproctitle
    setproctitle.setproctitle("trainer: " + "x" * 3000)
if len(sys.argv) > 1 and sys.argv[1] in ("mpi", "slurm"):
    os.environ.update(RANK=os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["SLURM_PROCID"],
                      WORLD_SIZE="2")
dist.init_process_group("gloo")
place.train(dist, dist.get_rank())
