#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/ascii.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_spans.h"

namespace oddrank {
namespace {

bool is_part_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

std::size_t skip(std::string_view text, std::size_t at, bool (*is_skipped)(char)) {
  while (at < text.size() && is_skipped(text[at])) {
    ++at;
  }
  return at;
}

// A name that sounds like a secret's, and the characters around it.
struct Name {
  std::size_t begin = 0;
  std::size_t end = 0;
  char quote = '\0';  // that it stands in
};

// Returns where the value begins; nullopt if none follows the name, as in prose ("the key to").
std::optional<std::size_t> value_after(std::string_view text, const Name& name) {
  std::size_t at = name.end;
  bool quoted = false;
  // The quote after the name, escaped if the text is JSON within a string.
  while (at < text.size() && (is_quote(text[at]) || text[at] == '\\')) {
    quoted = true;
    ++at;
  }
  if (quoted && at < text.size() && text[at] == ']') {
    ++at;  // os.environ["TOKEN"] = "x"
  }
  const std::size_t blank = at;
  at = skip(text, at, is_blank);
  if (at >= text.size()) {
    return std::nullopt;
  }
  // <password>x</password>
  if (text[at] == '>' && name.begin > 0 && text[name.begin - 1] == '<') {
    return at + 1;
  }
  // ['--password', 'x'] and ('password', 'x'): a list of arguments, or a pair.
  const bool option = text[name.begin] == '-';
  const bool pair = name.quote != '\0' && name.begin > 1 && text[name.begin - 2] == '(';
  const bool header = lower_case(text.substr(name.begin, name.end - name.begin)) == "authorization";
  if (quoted && text[at] == ',' && (option || pair || header)) {
    return skip(text, at + 1, is_blank);
  }
  const bool arrow = text.substr(at, 2) == "=>" || text.substr(at, 2) == ":=";
  if (arrow || text[at] == '=' || text[at] == ':') {
    at += arrow ? 2 : 1;
    // "token: str", "password::tests" and "==" are code.
    if (at < text.size() && (text[at] == '=' || text[at] == ':')) {
      return std::nullopt;
    }
    return skip(text, at, is_blank);
  }
  return option && at > blank ? std::optional(at) : std::nullopt;
}

// Returns the end of a string that begins with a quote at `at`, behind its closing quote; nullopt
// if it does not end, or if more of the value follows, as in 'a'b.
std::optional<std::size_t> end_of_quoted(std::string_view text, std::size_t at) {
  const char quote = text[at];
  for (std::size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      const std::size_t next = i + 1;
      const bool ends = next == text.size() || is_blank(text[next]) ||
                        contains(",;}])&|\n", text.substr(next, 1));
      return ends ? std::optional(next) : std::nullopt;
    }
  }
  return std::nullopt;
}

// Returns the end of a word of a shell script, with the quoted parts in it.
std::size_t end_of_shell_word(std::string_view text, std::size_t at) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && quote != '\'') {
      ++at;
    } else if (quote != '\0') {
      quote = c == quote ? '\0' : quote;
    } else if (is_quote(c)) {
      quote = c;
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == ';' || c == '&' ||
               c == '|' || c == ')') {
      break;
    }
  }
  return std::min(at, text.size());
}

// Returns whether there is already a mask here, so that masking twice changes nothing. The summary
// of an object (of a local variable) needs no mask.
bool is_mask(std::string_view value) {
  const std::size_t mask =
      value.starts_with(kSecretMask) ? kSecretMask.size() : object_summary(value);
  return mask > 0 && (value.size() == mask || contains(" \t\"',;&})]<", value.substr(mask, 1)));
}

SecretSpan value_span(std::string_view text, std::size_t at, bool script, char quote) {
  if (at < text.size() && is_quote(text[at])) {
    if (const auto end = end_of_quoted(text, at)) {
      return {at + 1, *end - 1};
    }
  }
  if (script && quote == '\0') {
    return {at, end_of_shell_word(text, at)};
  }
  // A quoted "name=value" or header ends with its quote.
  if (quote != '\0' && !(at < text.size() && is_quote(text[at]))) {
    const auto end = text.find(quote, at);
    if (end != std::string_view::npos && text.find(quote, end + 1) == std::string_view::npos) {
      return {at, end};
    }
  }
  if (at > 0 && text[at - 1] == '>') {
    return {at, std::min(text.find('<', at), text.size())};
  }
  return {at, text.size()};
}

// Returns whether the value can be no secret: "null", and `null, "lr": 1` with further fields
// behind it; but not "no, really not".
bool is_innocent_span(std::string_view name, std::string_view value) {
  if (is_innocent_value(name, value)) {
    return true;
  }
  const std::size_t end = value.find_first_of(" \t\n,;&})]");
  if (end == 0 || end == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = value.substr(end);
  const bool fields = rest.find_first_of("=:") != std::string_view::npos ||
                      rest.find_first_not_of(" \t\n,;&})]") == std::string_view::npos;
  return fields && is_innocent_value(name, value.substr(0, end));
}

}  // namespace

void find_named_values(std::string_view text, bool script, SecretSpans& spans) {
  for (std::size_t at = 0; at < text.size();) {
    if (!is_part_of_name(text[at])) {
      ++at;
      continue;
    }
    Name name{at, skip(text, at, is_part_of_name), '\0'};
    name.quote = at > 0 && is_quote(text[at - 1]) ? text[at - 1] : '\0';
    at = name.end;
    const std::string_view word = text.substr(name.begin, name.end - name.begin);
    if (!names_secret(word)) {
      continue;
    }
    const auto value = value_after(text, name);
    if (!value || *value >= text.size() || is_mask(text.substr(*value))) {
      continue;
    }
    const SecretSpan span = value_span(text, *value, script, name.quote);
    if (span.begin < span.end &&
        !is_innocent_span(word, text.substr(span.begin, span.end - span.begin))) {
      spans.push_back(span);
      at = span.end;
    }
  }
}

}  // namespace oddrank
