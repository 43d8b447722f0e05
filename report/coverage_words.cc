#include "report/coverage_words.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"

namespace oddrank::report {

std::string utc_words(std::uint64_t us) {
  constexpr std::uint64_t kLast = 253'402'300'799'000'000;  // of the year 9999: it may be nonsense
  if (us == 0 || us > kLast) {
    return {};
  }
  const auto seconds = static_cast<std::time_t>(us / 1'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &utc)};
}

std::string coverage_words(const aggregate::Diagnosis& report) {
  const aggregate::Coverage& coverage = report.coverage;
  std::string line = fmt::format(
      "{}/{} {} ", coverage.read, coverage.expected,
      coverage.beside > 0
          ? fmt::format("processes ({})", count_of(coverage.expected - coverage.beside, "rank"))
      : coverage.of_ranks      ? "ranks"
      : coverage.expected == 1 ? "process"
                               : "processes");
  line += report.of_cores
              ? "from core files"
              : fmt::format("on {}/{} nodes", coverage.nodes_answered, coverage.nodes_expected);
  if (const std::string began = utc_words(coverage.began_us); !began.empty()) {
    line += ", " + began;
  }
  if (coverage.skew_us > 0) {
    line += fmt::format(" within {} ms", (coverage.skew_us + 999) / 1000);
  }
  if (coverage.partial > 0) {
    line += fmt::format(", {} in part", coverage.partial);
  }
  if (!report.job.empty()) {
    line += ", " + report.job;
  }
  return line;
}

std::string unread_title(const aggregate::Unread& unread, std::size_t columns) {
  const bool ranked = std::any_of(unread.ranks.begin(), unread.ranks.end(),
                                  [](std::int32_t rank) { return rank >= 0; });
  const std::vector<std::int32_t>& numbers = ranked ? unread.ranks : unread.pids;
  return fmt::format("{}{} {}", ranked ? "rank" : "pid", numbers.size() == 1 ? "" : "s",
                     aggregate::format_ranks_within(numbers, columns));
}

bool are_many(std::string_view who) {
  return who.starts_with("ranks ") || who.starts_with("pids ") || who.starts_with("processes ") ||
         who.ends_with(" processes");
}

std::string_view unread_words(const aggregate::Unread& unread) {
  return unread.gone ? "gone" : unread.partial ? "in part" : "not read";
}

}  // namespace oddrank::report
