"""A script below accelerate launch."""
import accelerate
import torch.distributed as dist

import place

place.train(dist, accelerate.Accelerator(cpu=True).process_index)
