"""Two ranks train, and rank 0 makes the rollouts with an engine of its own: trainer.py MODEL"""
import os
import sys

import torch
import torch.distributed as dist

import run_folder

OF_THE_GROUP = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "ROLE_RANK",
                "MASTER_ADDR", "MASTER_PORT")


def make_engine():
    for name in list(os.environ):
        if name in OF_THE_GROUP or name.startswith("TORCHELASTIC"):
            del os.environ[name]
    from vllm import LLM  # pylint: disable=import-outside-toplevel
    return LLM(model=sys.argv[1], load_format="dummy", max_model_len=4096, max_num_seqs=4,
               enforce_eager=True, scheduler_cls="chat_scheduler.QuotaScheduler")


def roll_out(engine):
    from vllm import SamplingParams  # pylint: disable=import-outside-toplevel
    answers = engine.generate([{"prompt_token_ids": [5, 6, 7]}],
                              SamplingParams(max_tokens=16, ignore_eos=True), use_tqdm=False)
    return float(len(answers[0].outputs[0].token_ids))


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    run_folder.record(f"trainer{rank}")
    engine = make_engine() if rank == 0 else None
    model = torch.nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    while True:
        reward = torch.zeros(1)
        if rank == 0:
            reward[0] = roll_out(engine)
        dist.all_reduce(reward)
        optimizer.zero_grad()
        (model(torch.ones(4, 8)) * reward).mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        run_folder.count(f"trainer{rank}")


if __name__ == "__main__":
    main()
