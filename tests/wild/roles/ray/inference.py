"""An asynchronous actor that generates, and one that scores."""
import asyncio

import ray

import node
import run_folder


@ray.remote
class Engine:
    def __init__(self):
        self.slots = asyncio.Semaphore(4)
        run_folder.record("engine")

    async def load_prompt(self, number):
        return run_folder.read(f"shard.{number}")

    async def generate(self, number):
        async with self.slots:
            prompt = await self.load_prompt(number)
            await asyncio.sleep(0.02)
            run_folder.count("engine")
            return len(prompt)


@ray.remote
class Reward:
    def __init__(self):
        run_folder.record("reward")

    def score(self, lengths):
        return sum(lengths)


def main():
    node.start()
    engine, reward = Engine.remote(), Reward.remote()
    while True:
        lengths = ray.get([engine.generate.remote(number) for number in range(4)])
        ray.get(reward.score.remote(lengths))
        run_folder.count("driver")


if __name__ == "__main__":
    main()
