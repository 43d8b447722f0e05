#include "tests/unit/aggregate/solver/judge_solution.h"

#include <algorithm>
#include <vector>

namespace oddrank::aggregate {
namespace {

class NetComparison {
 public:
  NetComparison(const WaitNet& net, const Tried& tried, const Solution& solution)
      : net_(net), tried_(tried), solution_(solution) {}
  std::string first_error();

 private:
  std::string error_of_causes();
  std::string error_at(std::size_t node, const TriedCause& cause, CauseId id) const;
  bool tells_choices() const;
  bool has_choices() const;
  bool knows_circle(std::size_t node) const;
  Rivals rivals_of(const TriedCause& cause) const;

  const WaitNet& net_;
  const Tried& tried_;
  const Solution& solution_;
  std::vector<CauseId> ids_;  // by place in tried_.causes
};

std::string NetComparison::error_of_causes() {
  for (const TriedCause& cause : tried_.causes) {
    const auto at =
        std::find_if(solution_.causes.begin(), solution_.causes.end(), [&](const Cause& it) {
          NodeSet nodes = 0;
          for (const std::uint32_t node : it.nodes) {
            nodes |= bit_of(node);
          }
          return it.circle == cause.circle && nodes == cause.nodes;
        });
    if (at == solution_.causes.end()) {
      return "a cause is missing";
    }
    const auto id = static_cast<CauseId>(at - solution_.causes.begin());
    if (at->certain != cause.certain || (!cause.circle && at->unknown != cause.unknown)) {
      return "how certain it is: cause " + std::to_string(id);
    }
    if (!cause.circle && at->rivals != rivals_of(cause)) {
      return "who else it may be: cause " + std::to_string(id);
    }
    ids_.push_back(id);
  }
  return tried_.causes.size() == solution_.causes.size() ? "" : "there is a cause too many";
}

// Returns whether what is not unclear is the same in all worlds: unknown holders are not looked at,
// nor the choices on a way round.
bool NetComparison::tells_choices() const {
  return !tried_.has_way_round &&
         std::all_of(net_.nodes.begin(), net_.nodes.end(),
                     [](const WaitNet::Node& it) { return it.unknown == Unknown::kNobody; });
}

bool NetComparison::has_choices() const {
  return std::any_of(net_.nodes.begin(), net_.nodes.end(), [](const WaitNet::Node& it) {
    return it.join != Join::kAll || it.unknown != Unknown::kNobody || it.loose;
  });
}

std::string NetComparison::error_at(std::size_t node, const TriedCause& cause, CauseId id) const {
  const auto is_in = [&](NodeSet nodes) { return (nodes & bit_of(node)) != 0; };
  const bool sure = solution_.is_sure(node, id);
  const bool may = solution_.is_possible(node, id);
  if (sure && !is_in(cause.always)) {
    return "sure, but not needed in every world";
  }
  if (sure != (cause.certain && is_in(cause.plainly))) {
    return sure ? "sure, but not plainly needed" : "plainly needed, but not sure";
  }
  if (!may && is_in(cause.ever)) {
    return "needed in some world, but not possible";
  }
  if (may && !is_in(cause.behind)) {
    return "possible, but no path leads to it";
  }
  const bool told = tells_choices() || !cause.certain;
  if (!solution_.unclear[node] && told && is_in(cause.ever) != is_in(cause.always)) {
    return "needed in some worlds only, but not unclear";
  }
  if (solution_.unclear[node] && !has_choices()) {
    return "unclear, but there is one world only";
  }
  return "";
}

bool NetComparison::knows_circle(std::size_t node) const {
  const std::vector<CauseId>& may = solution_.sets.of(solution_.may[node]);
  return std::any_of(may.begin(), may.end(),
                     [&](CauseId id) { return solution_.causes[id].circle; });
}

Rivals NetComparison::rivals_of(const TriedCause& cause) const {
  NodeSet open = 0;
  for (const TriedCause& other : tried_.causes) {
    open |= !other.circle && other.unknown == Unknown::kAnybody ? other.nodes : 0;
  }
  Rivals rivals = Rivals::kNone;
  if (cause.unknown != Unknown::kAnybody) {
    return rivals;
  }
  for (std::size_t node = 0; node < net_.nodes.size(); ++node) {
    if (net_.nodes[node].able && ((cause.nodes | cause.plainly) & bit_of(node)) == 0) {
      rivals = std::max(rivals, (open & bit_of(node)) != 0 ? Rivals::kOpen : Rivals::kFree);
    }
  }
  return rivals;
}

std::string NetComparison::first_error() {
  std::string error = error_of_causes();
  for (std::size_t node = 0; error.empty() && node < net_.nodes.size(); ++node) {
    if ((tried_.ever_circular & bit_of(node)) != 0 && !knows_circle(node)) {
      error = "no possible circle, node " + std::to_string(node);
    }
    for (std::size_t i = 0; error.empty() && i < ids_.size(); ++i) {
      error = error_at(node, tried_.causes[i], ids_[i]);
      if (!error.empty()) {
        error += ": cause " + std::to_string(ids_[i]) + ", node " + std::to_string(node);
      }
    }
  }
  return error;
}

}  // namespace

std::string first_error(const WaitNet& net, const Tried& tried, const Solution& solution) {
  return NetComparison(net, tried, solution).first_error();
}

std::string words_of(const WaitNet& net) {
  constexpr const char* kJoins[] = {"all", "any", "one"};
  constexpr const char* kUnknown[] = {"", " unknown inside", " unknown anybody"};
  std::string words;
  for (std::size_t node = 0; node < net.nodes.size(); ++node) {
    const WaitNet::Node& it = net.nodes[node];
    words += "\n" + std::to_string(node) + ": " + kJoins[static_cast<std::size_t>(it.join)] + " of";
    for (const std::uint32_t to : net.out[node]) {
      words += " " + std::to_string(to);
    }
    words += kUnknown[static_cast<std::size_t>(it.unknown)];
    words += std::string(it.able ? " able" : "") + (it.loose ? " loose" : "");
    words += it.owner == node ? "" : " owner " + std::to_string(it.owner);
  }
  return words;
}

}  // namespace oddrank::aggregate
