#include "aggregate/verdict.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "aggregate/words/word_of.h"
#include "base/shell_words.h"

namespace oddrank::aggregate {
namespace {

constexpr std::array<std::string_view, 4> kConfidenceNames = {"none", "possible", "likely",
                                                              "certain"};

constexpr std::array<std::string_view, 17> kWaitNames = {
    "unknown",    "collective", "peer",     "child",  "thread", "lock",
    "gil",        "file_lock",  "file",     "pipe",   "socket", "device",
    "rendezvous", "input",      "debugger", "signal", "nothing"};
static_assert(static_cast<std::size_t>(snapshot::WaitOn::kNothing) + 1 == kWaitNames.size());

}  // namespace

std::string Advice::words() const {
  return host.empty() ? text : "on " + shell_quoted(host) + ": " + text;
}

std::vector<std::string> advice_words(const std::vector<Advice>& advice) {
  std::vector<std::string> words;
  words.reserve(advice.size());
  for (const Advice& one : advice) {
    words.push_back(one.words());
  }
  return words;
}

std::string_view confidence_name(Confidence confidence) {
  return word_of(kConfidenceNames, confidence);
}

std::string kind_words(Kind kind, Confidence confidence) {
  const bool tells = confidence != Confidence::kNone && confidence != Confidence::kCertain;
  return std::string(kind_name(kind)) +
         (tells ? " (" + std::string(confidence_name(confidence)) + ")" : "");
}

std::string_view wait_name(snapshot::WaitOn what) {
  return word_of(kWaitNames, what);
}

bool is_named(const RankView& rank, const std::vector<Culprit>& culprits) {
  return std::ranges::any_of(culprits, [&rank](const Culprit& culprit) {
    return culprit.rank == rank.rank && culprit.pid == rank.pid() && culprit.host == rank.host;
  });
}

std::vector<std::int32_t> numbers_of(const std::vector<Culprit>& culprits) {
  std::vector<std::int32_t> numbers;
  numbers.reserve(culprits.size());
  for (const Culprit& culprit : culprits) {
    numbers.push_back(culprit.rank);
  }
  return numbers;
}

}  // namespace oddrank::aggregate
