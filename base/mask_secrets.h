// Masks likely passwords and tokens in command lines, since reports are passed around.
//
// Heuristic: secret-sounding names (--api-key, HF_TOKEN=, "password": ...), tokens of well-known
// shape (hf_..., ghp_...), and passwords in URLs. "--tokenizer" and "--max-tokens" do not count.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace oddrank {

// "api-key", "HF_TOKEN", "wandb_password" -> true; "tokenizer", "max_tokens", "monkey" -> false.
bool names_secret(std::string_view name);

// Replaces the values of secrets in a piece of text ("export KEY=abc; run") by "***".
std::string mask_text(std::string_view text);

// Returns the arguments as one line: masked, control characters replaced, cut at `limit` bytes.
std::string mask_command(std::span<const std::string> arguments, std::size_t limit = 4096);

}  // namespace oddrank
