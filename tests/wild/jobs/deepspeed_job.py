"""A script below deepspeed's launcher."""
import deepspeed
import torch.distributed as dist

import place

deepspeed.init_distributed(dist_backend="gloo")
place.train(dist, dist.get_rank())
