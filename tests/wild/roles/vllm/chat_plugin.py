"""Our model and our serving extensions for vLLM."""
import os

import run_folder


def register():
    from vllm import ModelRegistry  # pylint: disable=import-outside-toplevel
    if "ChatForCausalLM" not in ModelRegistry.get_supported_archs():
        ModelRegistry.register_model("ChatForCausalLM", "chat_model:ChatForCausalLM")


def read_table(name):
    """Returns the numbers that an operator may have put there."""
    if not os.path.exists(os.path.join(run_folder.FOLDER, name)):
        return None
    return [float(word) for word in run_folder.read(name).split()]


def balance(weights):
    """Scales the weights until they sum to one."""
    while abs(sum(weights) - 1.0) > 1e-9:
        total = sum(weights) or 1.0
        weights = [weight / total for weight in weights]
    return weights


class AuditMiddleware:
    """Exports a line for each request."""

    def __init__(self, app):
        self.app = app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http" and scope["path"].startswith("/v1/comp"):
            run_folder.export("audit", scope["path"])
        await self.app(scope, receive, send)
