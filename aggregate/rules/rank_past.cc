#include "aggregate/rules/rank_past.h"

#include <algorithm>
#include <string_view>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {
namespace {

// Returns whether what srun says of a task is about the rank of that number: a rank that is left is
// the task of its own number, the step has a task for each rank, and no earlier step or attempt can
// have written into the same file.
bool tasks_are_ranks(const JobView& view) {
  return std::any_of(view.ranks().begin(), view.ranks().end(), [&view](const RankView& rank) {
    const auto number = [&](std::string_view name) {
      const auto text = snapshot::variable_of(view.capture().tables, *rank.process, name);
      return parse_number<std::int32_t>(text.value_or("")).value_or(-1);
    };
    return rank.process != nullptr && number("SLURM_PROCID") == rank.rank &&
           number("SLURM_STEP_NUM_TASKS") == static_cast<std::int32_t>(view.expected()) &&
           number("SLURM_STEP_ID") == 0 && number("SLURM_RESTART_COUNT") <= 0;
  });
}

}  // namespace

bool was_there(const JobView& view, const RankView& rank) {
  if (rank.presence != Presence::kAbsent) {
    return false;
  }
  return std::any_of(view.ranks().begin(), view.ranks().end(), [&](const RankView& other) {
    return other.process != nullptr && other.presence == Presence::kRead &&
           std::any_of(other.process->groups.begin(), other.process->groups.end(),
                       [&](const snapshot::ProcessGroup& group) {
                         return group.is_default && group.size > rank.rank &&
                                contains(view.text(group.backend), "gloo");
                       });
  });
}

std::string ended_by_srun(const JobView& view, const RankView& rank) {
  const snapshot::LogLine* last = nullptr;
  for (const snapshot::LogLine& line : view.capture().collectives.log) {
    const auto& tasks = line.behind;
    if (line.kind == snapshot::LogKind::kTaskEnd &&
        std::find(tasks.begin(), tasks.end(), rank.rank) != tasks.end()) {
      last = &line;
    }
  }
  if (last == nullptr || !tasks_are_ranks(view)) {
    return {};
  }
  const std::string_view text = view.text(last->text);
  return "has ended: \"" + printable(text.substr(text.rfind(": ") + 2), 80) + "\", says srun";
}

}  // namespace oddrank::aggregate
