"""Generates text without a server: offline.py MODEL"""
import sys

from vllm import LLM, SamplingParams

import run_folder


def main():
    run_folder.record("script")
    llm = LLM(model=sys.argv[1], tensor_parallel_size=2, load_format="dummy", max_model_len=4096,
              distributed_executor_backend="mp", max_num_seqs=4, enforce_eager=True)
    params = SamplingParams(max_tokens=32, ignore_eos=True)
    while True:
        llm.generate([{"prompt_token_ids": [5, 6, 7]}], params, use_tqdm=False)
        run_folder.count("script")


if __name__ == "__main__":
    main()
