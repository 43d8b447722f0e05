#include "aggregate/hostlist.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <map>
#include <utility>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::aggregate {
namespace {

// A number with more digits than this is part of the name (and would not fit).
constexpr std::size_t kMaxDigits = 9;

struct Number {
  std::string digits;
  std::uint32_t value = 0;

  bool padded() const { return digits.size() > 1 && digits.front() == '0'; }
};

bool is_digit(char letter) {
  return std::isdigit(static_cast<unsigned char>(letter)) != 0;
}

// Splits "node07.cluster" into {"node", ".cluster"} and 07; returns false if there is no number to
// fold.
bool take_apart(const std::string& host,
                std::pair<std::string, std::string>& around,
                Number& number) {
  std::size_t end = host.size();
  while (end > 0 && !is_digit(host[end - 1])) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && is_digit(host[begin - 1])) {
    --begin;
  }
  if (begin == end || end - begin > kMaxDigits) {
    return false;
  }
  number.digits = host.substr(begin, end - begin);
  number.value = *parse_number<std::uint32_t>(number.digits);
  around = {host.substr(0, begin), host.substr(end)};
  return true;
}

bool follows(const Number& first, const Number& second) {
  return second.value == first.value + 1 &&
         (first.digits.size() == second.digits.size() || (!first.padded() && !second.padded()));
}

std::string fold_numbers(std::vector<Number>& numbers) {
  std::sort(numbers.begin(), numbers.end(), [](const Number& a, const Number& b) {
    return std::pair(a.value, a.digits.size()) < std::pair(b.value, b.digits.size());
  });
  std::string text;
  for (std::size_t at = 0; at < numbers.size();) {
    std::size_t last = at;
    while (last + 1 < numbers.size() && follows(numbers[last], numbers[last + 1])) {
      ++last;
    }
    text += (text.empty() ? "" : ",") + numbers[at].digits;
    if (last > at) {
      text += '-' + numbers[last].digits;
    }
    at = last + 1;
  }
  return text;
}

// Returns the pieces between commas outside of brackets.
Result<std::vector<std::string_view>> top_level_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  bool inside = false;
  for (std::size_t at = 0; at <= text.size(); ++at) {
    const char letter = at < text.size() ? text[at] : ',';
    if ((letter == '[' && inside) || (letter == ']' && !inside)) {
      return fail(Errc::kBadData, "brackets do not match in host list");
    }
    if (letter == '[' || letter == ']') {
      inside = letter == '[';
    } else if (letter == ',' && (!inside || at == text.size())) {
      if (inside) {
        return fail(Errc::kBadData, "brackets do not match in host list");
      }
      pieces.push_back(trim(text.substr(start, at - start)));
      start = at + 1;
    }
  }
  return pieces;
}

Status add_range(std::string_view prefix,
                 std::string_view range,
                 std::string_view suffix,
                 std::size_t limit,
                 std::vector<std::string>& hosts) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const auto first = parse_number<std::uint32_t>(low);
  const auto last =
      dash == std::string_view::npos ? first : parse_number<std::uint32_t>(range.substr(dash + 1));
  if (!first || !last || *last < *first || low.size() > kMaxDigits) {
    return fail(Errc::kBadData, "not a range of hosts: '" + std::string(range.substr(0, 80)) + "'");
  }
  for (std::uint64_t value = *first; value <= *last; ++value) {
    if (hosts.size() >= limit) {
      return fail(Errc::kBadData, "more than " + std::to_string(limit) + " hosts in a list");
    }
    std::string digits = std::to_string(value);
    if (digits.size() < low.size()) {
      digits.insert(0, low.size() - digits.size(), '0');
    }
    hosts.push_back(std::string(prefix) + digits + std::string(suffix));
  }
  return ok();
}

// Takes nothing, one name, or one name with brackets (balanced, by top_level_pieces).
Status add_piece(std::string_view piece, std::size_t limit, std::vector<std::string>& hosts) {
  const std::size_t open = piece.find('[');
  if (open == std::string_view::npos) {
    hosts.insert(hosts.end(), piece.empty() ? 0 : 1, std::string(piece));
    return ok();
  }
  const std::size_t close = piece.find(']', open);
  if (piece.find('[', close) != std::string_view::npos) {
    return fail(Errc::kBadData, "more than one pair of brackets in a host name");
  }
  for (const std::string_view range : split(piece.substr(open + 1, close - open - 1), ',')) {
    ODDRANK_TRY_STATUS(
        add_range(piece.substr(0, open), range, piece.substr(close + 1), limit, hosts));
  }
  return ok();
}

}  // namespace

std::string compress_hosts(std::vector<std::string> hosts) {
  std::sort(hosts.begin(), hosts.end());
  hosts.erase(std::unique(hosts.begin(), hosts.end()), hosts.end());
  std::map<std::pair<std::string, std::string>, std::vector<Number>> families;
  std::vector<std::string> plain;
  for (const std::string& host : hosts) {
    std::pair<std::string, std::string> around;
    Number number;
    if (take_apart(host, around, number)) {
      families[around].push_back(number);
    } else {
      plain.push_back(host);
    }
  }
  std::string text;
  for (auto& [around, numbers] : families) {
    const bool single = numbers.size() == 1;
    const std::string folded = fold_numbers(numbers);
    text += (text.empty() ? "" : ",") + around.first;
    text += single ? folded : '[' + folded + ']';
    text += around.second;
  }
  for (const std::string& host : plain) {
    text += (text.empty() ? "" : ",") + host;
  }
  return text;
}

Result<std::vector<std::string>> expand_hosts(std::string_view text, std::size_t limit) {
  ODDRANK_TRY(const auto pieces, top_level_pieces(text));
  std::vector<std::string> hosts;
  for (const std::string_view piece : pieces) {
    ODDRANK_TRY_STATUS(add_piece(piece, limit, hosts));
  }
  if (hosts.size() > limit) {
    return fail(Errc::kBadData, "more than " + std::to_string(limit) + " hosts in a list");
  }
  return hosts;
}

}  // namespace oddrank::aggregate
