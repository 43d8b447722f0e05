"""Our variant of Llama, with scales for each rank."""
from vllm.distributed import get_tensor_model_parallel_rank
from vllm.model_executor.models.llama import LlamaForCausalLM

import chat_plugin


class ChatForCausalLM(LlamaForCausalLM):
    def __init__(self, *, vllm_config, prefix=""):
        super().__init__(vllm_config=vllm_config, prefix=prefix)
        self.replica = vllm_config.parallel_config.data_parallel_index

    def load_scales(self):
        rank = get_tensor_model_parallel_rank()
        scales = chat_plugin.read_table(f"scales.{self.replica}.{rank}")
        if scales:
            self.scales = chat_plugin.balance(scales)

    def forward(self, *args, **kwargs):
        self.load_scales()
        return super().forward(*args, **kwargs)
