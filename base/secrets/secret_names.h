// The list of words in names of secrets: variables of programs and environments, options, fields of
// JSON and YAML, parameters of URLs, headers.
#pragma once

#include <cstddef>
#include <string_view>

namespace oddrank {

// Returns whether a value under this name is a secret. Names are compared word by word, in any of
// the usual spellings: "api-key", "HF_TOKEN", "dbPassword", "userpass" -> true. Names that only
// look like it are not: "tokenizer", "pad_token_id", "num_key_value_heads", "bypass",
// "password_file".
bool names_secret(std::string_view name);

// Returns whether the value cannot be a secret: a boolean, null, a small number (unless the name
// says PIN or password).
bool is_innocent_value(std::string_view name, std::string_view value);

// Returns the length of the summary of a Python object at the beginning of the text ("<dict of 3>",
// "<Tensor (2, 3) float32 cpu>"); 0 if there is none. A summary shows a type and sizes, so it
// cannot be a secret.
std::size_t object_summary(std::string_view text);
// Returns whether the whole text is such a summary.
inline bool is_object_summary(std::string_view text) {
  return !text.empty() && object_summary(text) == text.size();
}

}  // namespace oddrank
