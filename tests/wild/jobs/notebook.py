"""accelerate's launcher for notebooks."""
import accelerate


def work():
    import torch.distributed as dist  # pylint: disable=import-outside-toplevel
    import place  # pylint: disable=import-outside-toplevel
    accelerator = accelerate.Accelerator(cpu=True)
    place.train(dist, accelerator.process_index)


if __name__ == "__main__":
    accelerate.debug_launcher(work, num_processes=2)
