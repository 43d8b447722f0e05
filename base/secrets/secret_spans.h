// The places of secrets in a text. Each finder knows one form of secrets; the masker
// (mask_secrets.h) joins the results. Spans may overlap, and lie within the text. Private to
// base/secrets/.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace oddrank {

struct SecretSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

// The text in place of a secret.
inline constexpr std::string_view kSecretMask = "***";

using SecretSpans = std::vector<SecretSpan>;

// Finds values after a secret's name: "--api-key=x", "TOKEN=x", "\"password\": \"x\"",
// "Authorization: x",
// "?sig=x". A value in quotes ends with them, any other with the text, or in a `script` with the
// shell's word.
void find_named_values(std::string_view text, bool script, SecretSpans& spans);

// Finds "scheme://user:password@host", "https://token@host", and "user:password@host" without a
// scheme.
void find_url_secrets(std::string_view text, SecretSpans& spans);

// Finds texts that look like secrets: tokens with a known beginning, JSON web tokens, private keys,
// words after "Bearer" and "Basic", and runs of characters that are too random for a name.
void find_secret_shapes(std::string_view text, SecretSpans& spans);

}  // namespace oddrank
