#include "base/hostlist.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/split.h"

namespace oddrank {
namespace {

// A number with more digits is part of the name (and might not fit).
constexpr std::size_t kMaxDigits = 18;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxShown = 80;

std::string padded(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  digits.insert(0, width - std::min(width, digits.size()), '0');
  return digits;
}

struct Number {
  std::string digits;
  std::uint64_t value = 0;
  std::size_t width = 0;  // 0: of any number of digits

  bool padded() const { return digits.size() > 1 && digits.front() == '0'; }
};

// Names that differ only in their last number.
struct Family {
  std::string prefix;
  std::string suffix;
  bool numbered = false;  // false: the prefix is the whole name

  bool operator<(const Family& other) const;
};

bool Family::operator<(const Family& other) const {
  return std::tie(prefix, suffix, numbered) < std::tie(other.prefix, other.suffix, other.numbered);
}

// Splits "node07.cluster" into {"node", ".cluster"} and 07.
std::pair<Family, Number> take_apart(const std::string& host) {
  std::size_t end = host.size();
  while (end > 0 && !is_digit(host[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && is_digit(host[begin - 1])) {
    --begin;
  }
  const std::string digits = host.substr(begin, end - begin);
  const auto value = parse_number<std::uint64_t>(digits);
  if (!value || digits.size() > kMaxDigits) {
    return {Family{host, "", false}, Number{}};
  }
  return {Family{host.substr(0, begin), host.substr(end), true}, Number{digits, *value, 0}};
}

// Sets the widths: "10" continues "09" if some name has zeros to two digits; else it continues "9".
void find_widths(std::vector<Number>& numbers) {
  std::array<bool, kMaxDigits + 1> padded_to{};
  for (const Number& number : numbers) {
    padded_to[number.digits.size()] = padded_to[number.digits.size()] || number.padded();
  }
  for (Number& number : numbers) {
    number.width = padded_to[number.digits.size()] ? number.digits.size() : 0;
  }
}

// "0-3,7"
std::string fold(std::vector<Number>& numbers) {
  find_widths(numbers);
  std::sort(numbers.begin(), numbers.end(), [](const Number& a, const Number& b) {
    return std::pair(a.width, a.value) < std::pair(b.width, b.value);
  });
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    std::size_t last = at;
    while (last + 1 < numbers.size() && numbers[last + 1].width == numbers[last].width &&
           numbers[last + 1].value == numbers[last].value + 1) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + numbers[at].digits;
    text += last > at ? '-' + numbers[last].digits : "";
    at = last + 1;
  }
  return text;
}

Error bad_list(std::string_view text, const std::string& why) {
  return Error{Errc::kBadData, "not a list of hosts: '" + printable(text, kMaxShown) + "': " + why,
               "write hosts as n0,n1 or n[0-3,7]"};
}

Error too_many(std::string_view text, std::size_t limit) {
  return bad_list(text, "more than " + std::to_string(limit) + " hosts in one list");
}

// Returns the pieces between commas and blanks outside of brackets; the brackets match.
Result<std::vector<std::string_view>> split_names(std::string_view list) {
  constexpr std::string_view kSeparators = ", \t\r\n";
  std::vector<std::string_view> names;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= list.size(); ++at) {
    const char letter = at < list.size() ? list[at] : ',';
    if ((letter == '[' && inside) || (letter == ']' && !inside) || (inside && at == list.size())) {
      return fail(bad_list(list, "its brackets do not match"));
    }
    if (letter == '[' || letter == ']') {
      inside = letter == '[';
    } else if (!inside && kSeparators.find(letter) != std::string_view::npos) {
      if (at > start) {
        names.push_back(list.substr(start, at - start));
      }
      start = at + 1;
    }
  }
  return names;
}

struct Range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;
};

// "0-3,7" -> 0 to 3, 7 to 7
Result<std::vector<Range>> parse_ranges(std::string_view text) {
  std::vector<Range> ranges;
  for (const std::string_view part : split(text, ',')) {
    const auto dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const std::string_view high = dash == std::string_view::npos ? low : part.substr(dash + 1);
    const auto first = parse_number<std::uint64_t>(low);
    const auto last = parse_number<std::uint64_t>(high);
    if (!first || !last || *last < *first || low.size() > kMaxDigits || high.size() > kMaxDigits) {
      return fail(bad_list(part, "not a range"));
    }
    ranges.push_back({*first, *last, low.size()});
  }
  if (text.empty() || text.back() == ',') {
    return fail(bad_list(text, "not a range"));
  }
  return ranges;
}

// Continues each name with each number of the ranges. Returns nothing if that makes more than
// `limit` names.
std::optional<std::vector<std::string>> continue_names(const std::vector<std::string>& names,
                                                       const std::vector<Range>& ranges,
                                                       std::size_t limit) {
  std::vector<std::string> longer;
  for (const std::string& name : names) {
    for (const Range& range : ranges) {
      if (range.last - range.first >= limit - longer.size()) {
        return std::nullopt;
      }
      for (std::uint64_t number = range.first; number <= range.last; ++number) {
        longer.push_back(name + padded(number, range.width));
      }
    }
  }
  return longer;
}

// Adds the hosts of one name; its brackets match.
Status add_name(std::string_view name, std::size_t limit, std::vector<std::string>& hosts) {
  std::vector<std::string> names{""};
  for (std::string_view rest = name; !rest.empty();) {
    const std::size_t open = std::min(rest.find('['), rest.size());
    if (names.back().size() + open > kMaxNameBytes) {
      return fail(bad_list(name, "longer than " + std::to_string(kMaxNameBytes) + " bytes"));
    }
    for (std::string& made : names) {
      made += rest.substr(0, open);
    }
    rest.remove_prefix(open);
    if (rest.empty()) {
      break;
    }
    const std::size_t close = rest.find(']');
    ODDRANK_TRY(const auto ranges, parse_ranges(rest.substr(1, close - 1)));
    auto longer = continue_names(names, ranges, limit - hosts.size());
    if (!longer) {
      return fail(too_many(name, limit));
    }
    names = *std::move(longer);
    rest.remove_prefix(close + 1);
  }
  if (names.size() > limit - hosts.size()) {
    return fail(too_many(name, limit));
  }
  std::move(names.begin(), names.end(), std::back_inserter(hosts));
  return ok();
}

}  // namespace

std::string compress_hosts(std::vector<std::string> hosts) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::map<Family, std::vector<Number>> families;
  for (const std::string& host : hosts) {
    auto [family, number] = take_apart(host);
    families[std::move(family)].push_back(std::move(number));
  }
  std::string text;
  for (auto& [family, numbers] : families) {
    text += (text.empty() ? "" : ",") + family.prefix;
    if (family.numbered) {
      const std::string folded = fold(numbers);
      text += numbers.size() == 1 ? folded : '[' + folded + ']';
    }
    text += family.suffix;
  }
  return text;
}

Result<std::vector<std::string>> expand_hosts(std::string_view list, std::size_t limit) {
  ODDRANK_TRY(const auto names, split_names(list));
  std::vector<std::string> hosts;
  for (const std::string_view name : names) {
    ODDRANK_TRY_STATUS(add_name(name, limit, hosts));
  }
  return hosts;
}

}  // namespace oddrank
