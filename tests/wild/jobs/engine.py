"""As vLLM's engine: a front that waits for answers, an engine below it, and workers below that, which
have the group; all with titles."""
import multiprocessing
import sys

import setproctitle

import place


def worker(rank, port, queue):
    setproctitle.setproctitle(f"VLLM::Worker_TP{rank}")
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    queue.put("ready")
    place.train(dist, rank)


def engine(port, queue):
    setproctitle.setproctitle("VLLM::EngineCore")
    import torch  # pylint: disable=import-outside-toplevel,unused-import
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    for rank in range(2):
        context.Process(target=worker, args=(rank, port, answers)).start()
    while True:
        queue.put(answers.get())


if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    replies = spawn.Queue()
    spawn.Process(target=engine, args=(sys.argv[1], replies)).start()
    while True:
        replies.get()
