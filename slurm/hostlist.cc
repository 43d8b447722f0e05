#include "slurm/hostlist.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::slurm {
namespace {

constexpr std::size_t kMaxDigits = 9;

// The hosts of one prefix and one width of number.
struct Family {
  std::string prefix;
  std::size_t width = 0;  // of the number as written; 0 = name without a number
  std::vector<std::uint32_t> numbers;
};

std::string padded(std::uint32_t number, std::size_t width) {
  std::string text = std::to_string(number);
  return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

// "n07" -> "n", 7, width 2. Numbers without leading zeros share the width 1, whatever their length.
std::pair<Family, std::uint32_t> take_apart(const std::string& host) {
  std::size_t digits = 0;
  while (digits < std::min(host.size(), kMaxDigits) &&
         std::isdigit(static_cast<unsigned char>(host[host.size() - 1 - digits])) != 0) {
    ++digits;
  }
  const std::string_view number = std::string_view(host).substr(host.size() - digits);
  Family family{host.substr(0, host.size() - digits), 0, {}};
  if (digits > 0) {
    family.width = number.size() > 1 && number.front() == '0' ? number.size() : 1;
  }
  return {family, parse_number<std::uint32_t>(number).value_or(0)};
}

std::string ranges(const Family& family) {
  std::string text;
  for (std::size_t i = 0; i < family.numbers.size();) {
    std::size_t last = i;
    while (last + 1 < family.numbers.size() &&
           family.numbers[last + 1] == family.numbers[last] + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + padded(family.numbers[i], family.width);
    if (last > i) {
      text += "-" + padded(family.numbers[last], family.width);
    }
    i = last + 1;
  }
  return text;
}

std::string to_text(Family& family) {
  if (family.width == 0) {
    return family.prefix;
  }
  std::sort(family.numbers.begin(), family.numbers.end());
  family.numbers.erase(std::unique(family.numbers.begin(), family.numbers.end()),
                       family.numbers.end());
  const std::string text = ranges(family);
  return family.numbers.size() == 1 ? family.prefix + text : family.prefix + "[" + text + "]";
}

// Cuts at commas outside of brackets.
std::vector<std::string_view> split_names(std::string_view list) {
  std::vector<std::string_view> names;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && !inside)) {
      if (i > start) {
        names.push_back(list.substr(start, i - start));
      }
      start = i + 1;
    } else {
      inside = list[i] == '[' || (inside && list[i] != ']');
    }
  }
  return names;
}

struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  std::size_t width = 0;
};

std::optional<Range> parse_range(std::string_view text) {
  const auto dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : text.substr(dash + 1);
  const auto first = parse_number<std::uint32_t>(low);
  const auto last = parse_number<std::uint32_t>(high);
  if (!first || !last || *last < *first || low.size() > kMaxDigits || high.size() > kMaxDigits) {
    return std::nullopt;
  }
  return Range{*first, *last, low.size()};
}

// Returns false, and adds nothing, if the name is malformed.
bool expand_name(std::string_view name, std::size_t limit, std::vector<std::string>& hosts) {
  const auto open = name.find('[');
  const auto close = name.find(']', std::min(open, name.size()));
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return false;
  }
  std::vector<Range> all;
  for (const std::string_view part : split(name.substr(open + 1, close - open - 1), ',')) {
    const auto range = parse_range(part);
    if (!range) {
      return false;
    }
    all.push_back(*range);
  }
  const std::string prefix(name.substr(0, open));
  const std::string suffix(name.substr(close + 1));
  for (const Range& range : all) {
    for (std::uint32_t n = range.first; n <= range.last && hosts.size() < limit; ++n) {
      std::string host = prefix;
      host += padded(n, range.width);
      hosts.push_back(host.append(suffix));
    }
  }
  return !all.empty();
}

}  // namespace

std::string compress_hosts(const std::vector<std::string>& hosts) {
  std::vector<Family> families;
  for (const std::string& host : hosts) {
    const auto [family, number] = take_apart(host);
    const Family& wanted = family;
    auto found = std::find_if(families.begin(), families.end(), [&wanted](const Family& other) {
      return other.prefix == wanted.prefix && other.width == wanted.width;
    });
    if (found == families.end()) {
      families.push_back(family);
      found = std::prev(families.end());
    }
    found->numbers.push_back(number);
  }
  std::string text;
  for (Family& family : families) {
    text += (text.empty() ? "" : ",") + to_text(family);
  }
  return text;
}

std::vector<std::string> expand_hosts(std::string_view list, std::size_t limit) {
  std::vector<std::string> hosts;
  for (const std::string_view name : split_names(list)) {
    if (hosts.size() < limit && !expand_name(name, limit, hosts)) {
      hosts.emplace_back(name);
    }
  }
  return hosts;
}

}  // namespace oddrank::slurm
