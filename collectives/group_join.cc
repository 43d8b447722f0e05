#include "collectives/group_join.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parse_number.h"
#include "collectives/collect_groups.h"
#include "collectives/group_evidence.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::ProcessGroup;

constexpr std::string_view kP2p = "<P2POp op=";

// Removes the text up to the next blank or '>' and returns it.
std::string_view take_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find_first_of(" >"));
  text.remove_prefix(word.size());
  return word;
}

std::optional<P2pOperation> p2p_operation(std::string_view text) {
  if (!text.starts_with(kP2p) || !text.ends_with('>')) {
    return std::nullopt;
  }
  text.remove_prefix(kP2p.size());
  text.remove_suffix(1);
  P2pOperation operation;
  const std::string_view function = take_word(text);
  operation.receives = function == "irecv";
  if (!operation.receives && function != "isend") {
    return std::nullopt;
  }
  constexpr std::string_view kPeer = " peer=";
  constexpr std::string_view kGroup = " group=";
  if (!text.starts_with(kPeer)) {
    return std::nullopt;
  }
  text.remove_prefix(kPeer.size());
  const auto peer = parse_number<std::int32_t>(take_word(text));
  if (!peer || *peer < 0) {
    return std::nullopt;
  }
  operation.peer = *peer;
  if (text.starts_with(kGroup)) {
    operation.group = text.substr(kGroup.size());
  }
  return operation;
}

}  // namespace

std::vector<P2pOperation> p2p_operations(std::string_view text) {
  std::vector<P2pOperation> operations;
  if (const auto one = p2p_operation(text)) {
    operations.push_back(*one);
    return operations;
  }
  for (const std::string_view value : all_values(text)) {
    const auto operation = p2p_operation(value);
    if (!operation) {
      return {};
    }
    operations.push_back(*operation);
  }
  return operations;
}

const ProcessGroup* GroupJoin::of_object(std::string_view text) const {
  const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const ProcessGroup& group) {
    return text == group_text(tables_.text(group.name));
  });
  return at == groups_.end() ? nullptr : &*at;
}

const ProcessGroup* GroupJoin::of_name(std::string_view text) const {
  const auto at = std::find_if(groups_.begin(), groups_.end(), [&](const ProcessGroup& group) {
    return text == "'" + std::string(tables_.text(group.name)) + "'";
  });
  return at == groups_.end() ? nullptr : &*at;
}

const ProcessGroup* GroupJoin::only() const {
  return groups_.size() == 1 ? &groups_.front() : nullptr;
}

std::vector<std::int32_t> GroupJoin::common_members() const {
  std::vector<std::int32_t> common;
  for (const ProcessGroup& group : groups_) {
    if (group.size == 1) {
      continue;
    }
    std::vector<std::int32_t> members = snapshot::ranks_of(tables_.text(group.members));
    const std::int32_t size = std::clamp<std::int32_t>(group.size, 0, snapshot::kMaxRanks);
    if (group.is_default) {
      members.resize(static_cast<std::size_t>(size));
      std::iota(members.begin(), members.end(), 0);
    }
    std::ranges::sort(members);
    if (members.empty() || (!common.empty() && members != common)) {
      return {};
    }
    common = std::move(members);
  }
  return common;
}

void GroupJoin::fill(const ProcessGroup& group, snapshot::CollectiveCall& call) const {
  call.whole_world = group.is_default;
  call.group = group.is_default ? snapshot::StringId{} : group.name;
  call.label = group.is_default ? snapshot::StringId{} : group.label;
  call.members = group.is_default ? snapshot::StringId{} : group.members;
}

std::int32_t GroupJoin::global_rank(const ProcessGroup& group, std::int32_t within) const {
  if (within < 0 || group.is_default) {
    return within;
  }
  const auto members = snapshot::ranks_of(tables_.text(group.members));
  return static_cast<std::size_t>(within) < members.size()
             ? members[static_cast<std::size_t>(within)]
             : -1;
}

}  // namespace oddrank::collectives
