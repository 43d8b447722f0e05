#include "cli/likely_meant.h"

#include <algorithm>

#include "base/parse_number.h"
#include "base/printable.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxOption = 64;  // bytes of a word that is compared

// Returns how many letters must be inserted, removed, replaced or swapped with the next to make `b`
// of `a` (the optimal string alignment distance).
std::size_t distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * width);
  const auto at = [&table, width](std::size_t i, std::size_t j) -> std::size_t& {
    return table[i * width + j];
  };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      const std::size_t replaced = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({replaced, at(i - 1, j) + 1, at(i, j - 1) + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(a.size(), b.size());
}

bool contains_word(const std::vector<std::string>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_pid(std::string_view word) {
  const auto number = parse_number<int>(word);
  return number && *number > 0;
}

}  // namespace

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  constexpr std::size_t kMaxSlips = 2;
  constexpr std::size_t kMinBeginning = 4;  // "--fo"
  std::string nearest;
  std::size_t least = kMaxSlips + 1;
  bool unique = false;
  for (const std::string& one : known) {
    if (word.size() > kMaxOption) {
      break;
    }
    const bool begins = word.size() >= kMinBeginning && one.starts_with(word);
    // In a short word, two changed letters are too many.
    const std::size_t slips = begins ? 1 : distance(word, one);
    if (slips < least && slips * 3 <= one.size()) {
      nearest = one;
      least = slips;
      unique = true;
    } else if (slips == least) {
      unique = false;
    }
  }
  return unique ? nearest : std::string();
}

std::optional<Mistake> find_mistake(std::span<char* const> words, const KnownOptions& known) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    const std::string_view name = word.substr(0, word.find('='));
    if (word == "--") {
      break;
    }
    if (name == "-p" || name == "--pid" || (name.starts_with("-p") && is_pid(name.substr(2)))) {
      const std::string_view value = name == word && name.size() > 2 && name[1] == 'p'
                                         ? name.substr(2)
                                     : name != word         ? word.substr(name.size() + 1)
                                     : i + 1 < words.size() ? std::string_view(words[i + 1])
                                                            : std::string_view();
      return Mistake{"there is no option " + std::string(name.substr(0, name[1] == 'p' ? 2 : 5)),
                     "a pid stands alone: oddrank node " +
                         (is_pid(value) ? std::string(value) : std::string("PID"))};
    }
    if (name.size() <= 2 || !name.starts_with("--") || contains_word(known.shown, name) ||
        contains_word(known.hidden, name)) {
      continue;
    }
    const std::string nearest = nearest_word(name, known.shown);
    return Mistake{"there is no option " + printable(name, kMaxOption),
                   nearest.empty() ? "oddrank COMMAND --help lists the options"
                                   : "did you mean " + nearest + "?"};
  }
  return std::nullopt;
}

std::string hint_for_number(std::string_view word) {
  if (!is_pid(word)) {
    return {};
  }
  const std::string number(word);
  return "oddrank node " + number + " shows the stacks of that process, oddrank job " + number +
         " diagnoses the SLURM job of that number";
}

}  // namespace oddrank::cli
