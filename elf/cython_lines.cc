#include "elf/cython_lines.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::elf {
namespace {

constexpr std::size_t kMaxStatements = std::size_t{1} << 20;
constexpr std::size_t kMaxFiles = 256;  // a module includes a few
constexpr std::size_t kMaxName = 4096;

// Returns the place of `  /* "cyx.pyx":4`.
std::optional<CythonPlace> place_in(std::string_view line) {
  constexpr std::string_view kBegin = "/* \"";
  constexpr std::string_view kMiddle = "\":";
  const std::string_view text = trim(line);
  const std::size_t middle = text.rfind(kMiddle);
  if (!text.starts_with(kBegin) || middle == std::string_view::npos || middle <= kBegin.size()) {
    return std::nullopt;
  }
  const std::string_view name = text.substr(kBegin.size(), middle - kBegin.size());
  const auto number = parse_number<std::uint32_t>(text.substr(middle + kMiddle.size()));
  return number && name.size() <= kMaxName ? std::optional(CythonPlace{std::string(name), *number})
                                           : std::nullopt;
}

}  // namespace

CythonLines::CythonLines(std::string_view code) {
  std::uint32_t number = 0;
  for (const std::string_view line : split(code, '\n')) {
    ++number;
    const auto place = statements_.size() < kMaxStatements ? place_in(line) : std::nullopt;
    if (!place) {
      continue;
    }
    const auto known = std::find(files_.begin(), files_.end(), place->file);
    const auto file = static_cast<std::uint32_t>(known - files_.begin());
    if (known == files_.end()) {
      if (files_.size() == kMaxFiles) {
        continue;
      }
      files_.push_back(place->file);
    }
    statements_.push_back({number, file, place->line});
  }
}

std::optional<CythonPlace> CythonLines::at(std::uint32_t line) const {
  const auto after =
      std::upper_bound(statements_.begin(), statements_.end(), line,
                       [](std::uint32_t a, const Statement& b) { return a < b.below; });
  if (after == statements_.begin()) {
    return std::nullopt;
  }
  const Statement& statement = *std::prev(after);
  return CythonPlace{files_[statement.file], statement.line};
}

}  // namespace oddrank::elf
