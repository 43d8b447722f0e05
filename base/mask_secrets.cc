#include "base/mask_secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/ascii.h"

namespace oddrank {
namespace {

constexpr std::string_view kMask = "***";
// Longer text is cut before it is searched: a command line may have megabytes.
constexpr std::size_t kMaxText = 65536;

constexpr std::array<std::string_view, 14> kSecretWords = {
    "token",   "password", "passwd", "passphrase", "pass",        "pwd",           "secret",
    "secrets", "key",      "apikey", "credential", "credentials", "authorization", "auth"};
// Words written without a separator: "hftoken", "dbpassword".
constexpr std::array<std::string_view, 5> kSecretEnds = {"token", "password", "passwd", "secret",
                                                         "apikey"};
constexpr std::array<std::string_view, 11> kTokenBeginnings = {
    "hf_",    "sk-",  "ghp_", "gho_",  "ghs_", "github_pat_",
    "glpat-", "AKIA", "ASIA", "xoxb-", "xoxp-"};
constexpr std::size_t kMinToken = 16;  // without its beginning

bool is_name_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_' ||
         character == '-' || character == '.';
}

bool is_secret_word(std::string_view word) {
  if (std::find(kSecretWords.begin(), kSecretWords.end(), word) != kSecretWords.end()) {
    return true;
  }
  return std::any_of(kSecretEnds.begin(), kSecretEnds.end(), [word](std::string_view end) {
    return word.size() > end.size() && word.substr(word.size() - end.size()) == end;
  });
}

bool is_token(std::string_view word) {
  return std::any_of(kTokenBeginnings.begin(), kTokenBeginnings.end(), [word](auto beginning) {
    if (word.substr(0, beginning.size()) != beginning ||
        word.size() < beginning.size() + kMinToken) {
      return false;
    }
    return std::all_of(word.begin() + static_cast<std::ptrdiff_t>(beginning.size()), word.end(),
                       [](char character) {
                         return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
                                character == '_' || character == '-';
                       });
  });
}

bool ends_value(char character) {
  return std::isspace(static_cast<unsigned char>(character)) != 0 || character == ';' ||
         character == ',' || character == '&' || character == '}' || character == '"' ||
         character == '\'';
}

// Returns where the value begins after a name that ends at `at`: after '=' or ':', quotes and
// blanks. nullopt if no value follows.
std::optional<std::size_t> value_after(std::string_view text, std::size_t at) {
  const auto skip = [&](std::string_view characters) {
    while (at < text.size() && characters.find(text[at]) != std::string_view::npos) {
      ++at;
    }
  };
  skip("\"'");
  const std::size_t before = at;
  skip(" \t");
  if (at < text.size() && (text[at] == '=' || text[at] == ':')) {
    ++at;
    skip(" \t\"'");
    return at;
  }
  return before == at ? std::nullopt : std::optional(at);
}

// Returns the end of the value; a word after "Bearer" and the like belongs to it.
std::size_t value_end(std::string_view text, std::size_t start) {
  std::size_t end = start;
  while (end < text.size() && !ends_value(text[end])) {
    ++end;
  }
  const std::string_view word = text.substr(start, end - start);
  if ((word == "Bearer" || word == "Basic" || word == "Token") && end < text.size() &&
      text[end] == ' ') {
    return value_end(text, end + 1);
  }
  return end;
}

// Returns begin and end of the password in "scheme://user:password@host", if there is one; `at` is
// the place of "://".
std::optional<std::pair<std::size_t, std::size_t>> password_of_url(std::string_view text,
                                                                   std::size_t at) {
  const std::size_t start = at + 3;
  std::size_t end = start;
  while (end < text.size() && !ends_value(text[end]) && text[end] != '/') {
    ++end;
  }
  const std::string_view host = text.substr(start, end - start);
  const auto at_sign = host.rfind('@');
  const auto colon = host.find(':');
  if (at_sign == std::string_view::npos || colon == std::string_view::npos || colon > at_sign) {
    return std::nullopt;
  }
  return std::pair(start + colon + 1, start + at_sign);
}

// Returns whether a name that sounds secret has a value: as an option ("--token x"), or before '='
// or ':'. A word in prose ("the key to") has none.
bool takes_value(std::string_view text, std::size_t name_end, std::string_view name) {
  if (name.substr(0, 1) == "-") {
    return true;
  }
  const auto mark = text.find_first_not_of(" \t\"'", name_end);
  return mark != std::string_view::npos && (text[mark] == '=' || text[mark] == ':');
}

}  // namespace

bool names_secret(std::string_view name) {
  const std::string text = lower_case(name);
  std::string_view rest = text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find_first_of("-_."), rest.size());
    if (is_secret_word(rest.substr(0, end))) {
      return true;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string mask_text(std::string_view text) {
  text = text.substr(0, kMaxText);
  std::string masked;
  std::size_t at = 0;
  while (at < text.size()) {
    if (!is_name_character(text[at])) {
      const auto url = text.substr(at, 3) == "://" ? password_of_url(text, at) : std::nullopt;
      const std::size_t next = url ? url->second : at + 1;
      masked += text.substr(at, (url ? url->first : next) - at);
      masked += url ? kMask : "";
      at = next;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_name_character(text[end])) {
      ++end;
    }
    const std::string_view name = text.substr(at, end - at);
    masked += is_token(name) ? kMask : name;
    at = end;
    if (!names_secret(name) || !takes_value(text, end, name)) {
      continue;
    }
    const auto value = value_after(text, end);
    if (!value || *value >= text.size()) {
      continue;
    }
    masked += text.substr(end, *value - end);
    at = value_end(text, *value);
    masked += at > *value ? kMask : "";
  }
  return masked;
}

std::string mask_command(std::span<const std::string> arguments, std::size_t limit) {
  std::string line;
  bool mask_next = false;
  for (const std::string& argument : arguments) {
    if (line.size() > limit) {
      break;
    }
    line += line.empty() ? "" : " ";
    const bool is_option = argument.substr(0, 1) == "-" && argument.size() > 1;
    if (mask_next && argument.substr(0, 2) != "--") {
      line += kMask;
      mask_next = false;
      continue;
    }
    line += mask_text(argument);
    mask_next = is_option && argument.find_first_of("= \t\n") == std::string::npos &&
                names_secret(argument);
  }
  std::replace_if(line.begin(), line.end(), is_control, ' ');
  if (line.size() > limit) {
    line.resize(limit);
  }
  return line;
}

}  // namespace oddrank
