// The corpus of secret and innocent lines (corpus.txt): no secret is seen, and at most 2 % of the
// innocent lines change.
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/secrets/mask_secrets.h"
#include "base/secrets/secret_names.h"
#include "base/secrets/secret_spans.h"
#include "base/split.h"
#include "tests/support/catch.h"

namespace {

constexpr std::string_view kOpen = "\u00ab";
constexpr std::string_view kClose = "\u00bb";

struct CorpusLine {
  std::string kind;
  std::string text;
  std::vector<std::string> secrets;
};

std::string with_line_ends(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool end = text.substr(i, 2) == "\\n";
    result += end ? '\n' : text[i];
    i += end ? 1 : 0;
  }
  return result;
}

// Takes the marks out of the text, and what stands between them as secrets.
CorpusLine parse_line(const std::string& line) {
  CorpusLine result;
  const auto tab = line.find('\t');
  result.kind = line.substr(0, tab);
  std::string rest = line.substr(tab + 1);
  if (result.kind == "text") {
    rest = with_line_ends(rest);
  }
  while (true) {
    const auto open = rest.find(kOpen);
    const auto close = rest.find(kClose, open);
    result.text += rest.substr(0, open);
    if (open == std::string::npos || close == std::string::npos) {
      return result;
    }
    const auto start = open + kOpen.size();
    result.secrets.push_back(rest.substr(start, close - start));
    result.text += result.secrets.back();
    rest = rest.substr(close + kClose.size());
  }
}

std::string masked(const CorpusLine& line) {
  if (line.kind == "text") {
    return oddrank::mask_text(line.text);
  }
  if (line.kind == "cmd") {
    std::vector<std::string> arguments;
    for (const std::string_view argument : oddrank::split(line.text, '\t')) {
      arguments.emplace_back(argument);
    }
    return oddrank::mask_command(arguments);
  }
  const auto equals = line.text.find('=');
  const std::string name = line.text.substr(0, equals);
  const std::string value = line.text.substr(equals + 1);
  const bool all = oddrank::names_secret(name) && !oddrank::is_innocent_value(name, value);
  return name + '=' + (all ? std::string(oddrank::kSecretMask) : oddrank::mask_text(value));
}

std::string unmasked(const CorpusLine& line) {
  std::string text = line.text;
  for (char& c : text) {
    c = line.kind == "cmd" && c == '\t' ? ' ' : c;
  }
  return text;
}

// Returns whether five characters in a row of a secret are seen, or all of a shorter one.
bool leaks(const CorpusLine& line, const std::string& shown) {
  constexpr std::size_t kWindow = 5;
  for (const std::string& secret : line.secrets) {
    const std::size_t window = std::min(kWindow, secret.size());
    for (std::size_t at = 0; at + window <= secret.size(); ++at) {
      if (shown.find(secret.substr(at, window)) != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

std::vector<CorpusLine> read_corpus() {
  std::ifstream file(ODDRANK_SECRETS_CORPUS);
  std::vector<CorpusLine> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.front() != '#') {
      lines.push_back(parse_line(line));
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("no secret of the corpus is seen, and innocent lines stay") {
  std::size_t secret = 0;
  std::size_t innocent = 0;
  std::size_t changed = 0;
  for (const CorpusLine& line : read_corpus()) {
    const std::string shown = masked(line);
    INFO(line.kind << " " << unmasked(line) << "\n  became " << shown);
    if (line.secrets.empty()) {
      ++innocent;
      changed += shown == unmasked(line) ? 0 : 1;
      CHECK_NOFAIL(shown == unmasked(line));
    } else {
      ++secret;
      CHECK_FALSE(leaks(line, shown));
    }
  }
  CHECK(secret >= 150);
  CHECK(innocent >= 150);
  CHECK(changed * 50 <= innocent);
}
