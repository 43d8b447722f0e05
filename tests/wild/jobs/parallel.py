"""Four ranks of gloo that share one model: parallel.py NAME

RANK, WORLD_SIZE and MASTER_* come from the environment. In a hung job, rank 1 stands for good in the
middle of its part, leaves out a send, or comes to a call that is not the others' turn.
"""
import os
import sys

import torch
import torch.distributed as dist

import place

NAME = sys.argv[1]
RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])
STEPS = 5
step = 0  # pylint: disable=invalid-name


def stand_here():
    if step == STEPS and place.errs(RANK, "order"):
        dist.barrier()
    elif step == STEPS and not place.errs(RANK, "no_send"):
        place.stop(RANK)


def megatron(batched, tensor=1):
    """A pipeline; each of its stages is shared by so many ranks."""
    from megatron.core import ModelParallelConfig, parallel_state  # pylint: disable=import-outside-toplevel
    from megatron.core.enums import ModelType  # pylint: disable=import-outside-toplevel
    from megatron.core.pipeline_parallel import get_forward_backward_func  # pylint: disable=import-outside-toplevel
    torch.cuda.current_device = lambda: torch.device("cpu")
    torch.cuda.synchronize = lambda *_: None
    zeros = torch.zeros
    torch.zeros = lambda *size, device=None, **more: zeros(*size, **more)  # it asks for "cuda"
    stages = WORLD // tensor
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=tensor,
                                             pipeline_model_parallel_size=stages)
    config = ModelParallelConfig(pipeline_model_parallel_size=stages, pipeline_dtype=torch.float32,
                                 batch_p2p_comm=batched, batch_p2p_sync=False)
    config.hidden_size, config.fine_grained_activation_offloading = 8, False

    class Stage(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config, self.model_type = config, ModelType.encoder_or_decoder
            self.linear = torch.nn.Linear(8, 8)
            self.given = None

        def set_input_tensor(self, given):
            self.given = given[0] if isinstance(given, list) else given

        def forward(self):
            stand_here()
            value = self.linear(torch.ones(4, 1, 8) if self.given is None else self.given)
            if tensor > 1:
                dist.all_reduce(value.detach(), group=parallel_state.get_tensor_model_parallel_group())
            return value

    stage = Stage()

    def forward(_, model):
        return model(), lambda value: (value.mean(), {"loss": value.mean()})
    schedule = get_forward_backward_func()
    if place.errs(RANK, "no_send"):
        place.leave_out_a_send(dist, lambda: step == STEPS, batched)
    return lambda: schedule(forward_step_func=forward, data_iterator=None, model=stage,
                            num_microbatches=2 * WORLD, seq_length=4, micro_batch_size=1,
                            forward_only=False)


def fsdp_tp():
    """Two by two: parameters are shared by the rows, layers by the columns."""
    from torch.distributed.fsdp import fully_shard  # pylint: disable=import-outside-toplevel
    from torch.distributed.tensor import parallel  # pylint: disable=import-outside-toplevel
    mesh = dist.init_device_mesh("cpu", (2, WORLD // 2), mesh_dim_names=("dp", "tp"))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    model = parallel.parallelize_module(model, mesh["tp"], {
        "0": parallel.ColwiseParallel(), "2": parallel.RowwiseParallel()})
    fully_shard(model, mesh=mesh["dp"])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def train():
        loss = model(torch.randn(4, 8)).sum()
        stand_here()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return train


FORMS = {"megatron": lambda: megatron(False), "megatron_batched": lambda: megatron(True),
         "megatron_tp": lambda: megatron(False, 2), "fsdp_tp": fsdp_tp}


def main():
    global step  # pylint: disable=global-statement
    dist.init_process_group("gloo")
    run = FORMS[NAME]()
    while True:
        if step == STEPS - 1:
            place.say(RANK)
        step += 1
        run()


if __name__ == "__main__":
    main()
