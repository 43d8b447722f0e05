#include "node/collect/count_launches.h"

#include "attach/live_target.h"
#include "node/collect/read_communicators.h"

namespace oddrank::node {
std::optional<std::uint64_t> count_launches(pid_t pid) {
  const auto target = attach::LiveTarget::open(pid);
  const auto variables = target ? find_nccl_variables(**target) : fail(target.error());
  const auto read = variables ? read_communicators(**target, *variables) : fail(variables.error());
  if (!read) {
    return std::nullopt;
  }
  std::uint64_t launches = 0;
  for (const collectives::RasGroup& group : read->groups) {
    for (const collectives::RasMember& member : group.members) {
      for (const std::int64_t count : member.counts) {
        launches += count > 0 ? static_cast<std::uint64_t>(count) : 0;  // -1: unknown
      }
    }
  }
  return launches;
}

}  // namespace oddrank::node
