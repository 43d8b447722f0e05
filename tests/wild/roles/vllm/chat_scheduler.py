"""A scheduler that reads its quota before each step."""
from vllm.v1.core.sched.async_scheduler import AsyncScheduler

import chat_plugin


class QuotaScheduler(AsyncScheduler):
    def schedule(self, *args, **kwargs):
        if self.requests:
            self.load_quota()
        return super().schedule(*args, **kwargs)

    def load_quota(self):
        rank = self.vllm_config.parallel_config.data_parallel_index
        self.quota = chat_plugin.read_table(f"quota.{rank}")
