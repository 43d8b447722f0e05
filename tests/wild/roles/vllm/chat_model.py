"""Our variant of Llama, with scales for each rank."""
from vllm.distributed import get_tensor_model_parallel_rank
from vllm.distributed.parallel_state import get_dp_group
from vllm.model_executor.models.llama import LlamaForCausalLM

import chat_plugin


class ChatForCausalLM(LlamaForCausalLM):
    def load_scales(self):
        replica = get_dp_group().rank_in_group
        scales = chat_plugin.read_table(f"scales.{replica}.{get_tensor_model_parallel_rank()}")
        if scales:
            self.scales = chat_plugin.balance(scales)

    def forward(self, *args, **kwargs):
        self.load_scales()
        return super().forward(*args, **kwargs)
