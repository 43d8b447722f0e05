#include "aggregate/evidence/store_keys.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::aggregate {
namespace {

// A key around one of its numbers.
struct AroundNumber {
  std::string_view before;
  std::string_view number;
  std::string_view after;
};

std::vector<AroundNumber> numbers_in(std::string_view key) {
  std::vector<AroundNumber> found;
  for (std::size_t begin = 0; begin < key.size(); ++begin) {
    if (!is_digit(key[begin])) {
      continue;
    }
    std::size_t end = begin;
    while (end < key.size() && is_digit(key[end])) {
      ++end;
    }
    found.push_back({key.substr(0, begin), key.substr(begin, end - begin), key.substr(end)});
    begin = end;
  }
  return found;
}

// Returns the prefix and the number of a key that otherwise equals the asked one.
std::optional<std::pair<std::string_view, std::int32_t>> member_of(const AroundNumber& asked,
                                                                   std::string_view key) {
  if (!key.ends_with(asked.after)) {
    return std::nullopt;
  }
  key.remove_suffix(asked.after.size());
  std::size_t begin = key.size();
  while (begin > 0 && is_digit(key[begin - 1])) {
    --begin;
  }
  const std::string_view digits = key.substr(begin);
  const auto number = parse_number<std::int32_t>(digits);
  const std::string_view before = key.substr(0, begin);
  // "02" differs from "2", but "02" and "11" have the same form.
  const bool padded = digits.size() > 1 && digits.front() == '0';
  const bool asked_padded = asked.number.size() > 1 && asked.number.front() == '0';
  const bool same_form = digits.size() == asked.number.size() || (!padded && !asked_padded);
  if (!number || !same_form || !before.ends_with(asked.before)) {
    return std::nullopt;
  }
  const std::string_view prefix = before.substr(0, before.size() - asked.before.size());
  // PrefixStore writes '/' behind a prefix.
  return prefix.empty() || prefix.ends_with('/') ? std::optional(std::pair(prefix, *number))
                                                 : std::nullopt;
}

}  // namespace

StoreKeys::StoreKeys(const JobView& view) : view_(view) {
  const bool of_several = std::ranges::any_of(
      view.capture().processes, [](const auto& process) { return process.first_rank > 0; });
  if (of_several) {
    return;  // whose ranks a key numbers is not known
  }
  for (const snapshot::ProcessCapture& process : view.capture().processes) {
    for (const snapshot::StoreKey& key : process.store) {
      if (key.waiting == 0) {
        set_.push_back(view.text(key.name));
      }
    }
  }
}

std::optional<KeyOwner> StoreKeys::owner_of(const std::string& keys) {
  if (set_.empty()) {
    return std::nullopt;
  }
  const auto [at, is_new] = known_.try_emplace(keys);
  if (is_new) {
    std::vector<KeyOwner> owners;
    for (std::string_view key : split(keys, ',')) {
      key.remove_prefix(key.starts_with(' ') ? 1 : 0);
      if (auto owner = find_owner(key)) {
        owners.push_back(*std::move(owner));
      }
    }
    if (owners.size() == 1) {
      at->second = std::move(owners.front());
    }
  }
  return at->second;
}

std::optional<KeyOwner> StoreKeys::find_owner(std::string_view key) const {
  std::vector<KeyOwner> owners;
  for (const AroundNumber& asked : numbers_in(key)) {
    const auto number = parse_number<std::int32_t>(asked.number);
    const std::size_t owner = number ? view_.index_of(*number) : JobView::kNone;
    if (owner == JobView::kNone) {
      continue;
    }
    std::map<std::string_view, std::set<std::int32_t>> families;  // by prefix
    for (const std::string_view one : set_) {
      if (const auto member = member_of(asked, one)) {
        families[member->first].insert(member->second);
      }
    }
    for (const auto& [prefix, set] : families) {
      const bool of_ranks = std::ranges::all_of(
          set, [this](std::int32_t rank) { return view_.index_of(rank) != JobView::kNone; });
      if (of_ranks && !set.contains(*number) && *set.rbegin() > *number &&
          set.size() * 2 >= view_.ranks().size()) {
        owners.push_back({owner, {set.begin(), set.end()}});
      }
    }
  }
  return owners.size() == 1 ? std::optional(std::move(owners.front())) : std::nullopt;
}

}  // namespace oddrank::aggregate
