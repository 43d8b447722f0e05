#include "aggregate/view/coordinates.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/printable.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::aggregate {
namespace {

constexpr std::size_t kMaxNames = 8;
constexpr std::size_t kNameColumns = 20;

// Orders names by what people look for first: the dimensions that cut a model, then those that copy
// it.
std::size_t order_of(const std::string& name) {
  constexpr std::array<std::string_view, 5> kOrder = {"tp", "pp", "cp", "ep", "dp"};
  return static_cast<std::size_t>(std::ranges::find(kOrder, name) - kOrder.begin());
}

}  // namespace

Coordinates coordinates_of(const JobView& view, const RankView& rank) {
  if (rank.process == nullptr || rank.rank < 0) {
    return {};
  }
  std::map<std::string, std::optional<std::size_t>> places;
  for (const snapshot::ProcessGroup& group : rank.process->groups) {
    const std::string_view label = view.text(group.label);
    const bool is_default = group.is_default || label == snapshot::kDefaultOfReplica;
    const std::vector<std::int32_t>& members = view.ranks_of(group.members);
    // In a dimension of one all ranks are alike. The default group has all ranks of a large job.
    if (label.empty() || is_default || members.size() < 2) {
      continue;
    }
    const auto at = std::ranges::find(members, rank.rank);
    if (at == members.end()) {
      continue;
    }
    const auto place = static_cast<std::size_t>(at - members.begin());
    const auto [known, is_new] = places.try_emplace(printable(label, kNameColumns), place);
    if (!is_new && known->second != place) {
      known->second.reset();
    }
  }
  Coordinates coordinates;
  for (const auto& [name, place] : places) {
    if (place) {
      coordinates.emplace_back(name, *place);
    }
  }
  std::ranges::stable_sort(coordinates, [](const auto& a, const auto& b) {
    return order_of(a.first) < order_of(b.first);
  });
  coordinates.resize(std::min(coordinates.size(), kMaxNames));
  return coordinates;
}

std::string coordinate_words(const Coordinates& coordinates) {
  std::string words;
  for (const auto& [name, place] : coordinates) {
    // A name that ends in a digit would run into the number: "tp1", but "stage2:1".
    const bool apart = name.back() >= '0' && name.back() <= '9';
    words += fmt::format("{}{}{}{}", words.empty() ? "" : " ", name, apart ? ":" : "", place);
  }
  return words;
}

}  // namespace oddrank::aggregate
