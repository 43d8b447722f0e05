#include "base/secrets/mask_secrets.h"

#include <algorithm>
#include <cstdint>

#include "base/ascii.h"
#include "base/secrets/secret_options.h"
#include "base/secrets/secret_spans.h"

namespace oddrank {
namespace {

// Longer text is cut before it is searched: a command line may have megabytes.
constexpr std::size_t kMaxSearched = 65536;

// Reports what the words of a script have by their place: "mysql -pX".
void find_in_script(std::string_view text, SecretSpans& spans) {
  OptionReader reader;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t start = text.find_first_not_of(" \t\n;|&()\"'", at);
    if (start == std::string_view::npos) {
      return;
    }
    at = std::min(text.find_first_of(" \t\n;|&()", start), text.size());
    if (const auto from = reader.secret_from(text.substr(start, at - start))) {
      spans.push_back({start + *from, at});
    }
  }
}

enum class TextKind : std::uint8_t { kText, kArgument, kScript };

std::string masked(std::string_view text, TextKind kind) {
  text = text.substr(0, kMaxSearched);
  SecretSpans spans;
  find_named_values(text, kind == TextKind::kScript, spans);
  find_url_secrets(text, spans);
  find_secret_shapes(text, spans);
  // An argument with blanks may be a command line for another shell: `ssh n0 "mysql -pX"`.
  if (kind != TextKind::kText && contains(text, " ")) {
    find_in_script(text, spans);
  }
  std::sort(spans.begin(), spans.end(),
            [](const SecretSpan& a, const SecretSpan& b) { return a.begin < b.begin; });
  std::string result;
  std::size_t done = 0;
  for (const SecretSpan& span : spans) {
    if (span.end <= done || span.begin >= span.end) {
      continue;
    }
    // Spans that overlap or touch are one secret.
    if (span.begin > done || done == 0) {
      result += text.substr(done, span.begin - done);
      result += kSecretMask;
    }
    done = span.end;
  }
  return result.append(text.substr(done));
}

}  // namespace

std::string mask_text(std::string_view text) {
  return masked(text, TextKind::kText);
}

std::string mask_command(std::span<const std::string> arguments, std::size_t limit) {
  std::string line;
  OptionReader reader;
  for (const std::string& argument : arguments) {
    if (line.size() > limit) {
      break;
    }
    line += line.empty() ? "" : " ";
    const bool script = reader.take_script();
    const std::size_t secret =
        script ? argument.size() : reader.secret_from(argument).value_or(argument.size());
    line += masked(std::string_view(argument).substr(0, secret),
                   script ? TextKind::kScript : TextKind::kArgument);
    line += secret < argument.size() ? kSecretMask : "";
  }
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  constexpr std::string_view kMore = "...";
  if (line.size() > limit) {
    line.resize(limit - std::min(limit, kMore.size()));
    line += kMore.substr(0, limit);
  }
  return line;
}

}  // namespace oddrank
