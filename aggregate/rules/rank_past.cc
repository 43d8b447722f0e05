#include "aggregate/rules/rank_past.h"

#include <algorithm>
#include <string_view>

#include "aggregate/words/wait_words.h"
#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {

RankPast::RankPast(const JobView& view) : view_(view) {
  const auto& log = view.capture().collectives.log;
  const bool any_ended = std::ranges::any_of(
      log, [](const snapshot::LogLine& line) { return line.kind == snapshot::LogKind::kTaskEnd; });
  for (const RankView& rank : view.ranks()) {
    if (rank.process == nullptr) {
      continue;
    }
    tasks_are_ranks_ = tasks_are_ranks_ || (any_ended && shows_that_tasks_are_ranks(rank));
    if (rank.presence != Presence::kRead) {
      continue;
    }
    for (const snapshot::ProcessGroup& group : rank.process->groups) {
      if (group.is_default && group.size > came_ && contains(view.text(group.backend), "gloo")) {
        came_ = group.size;
      }
    }
  }
}

// The rank is the task of its own number, the step has a task for each rank, and no earlier step or
// attempt can have written into the same file.
bool RankPast::shows_that_tasks_are_ranks(const RankView& rank) const {
  const auto number = [this, &rank](std::string_view name) {
    const auto text = snapshot::variable_of(view_.capture().tables, *rank.process, name);
    return parse_number<std::int32_t>(text.value_or("")).value_or(-1);
  };
  return number("SLURM_PROCID") == rank.rank &&
         number("SLURM_STEP_NUM_TASKS") == static_cast<std::int32_t>(view_.expected()) &&
         number("SLURM_STEP_ID") == 0 && number("SLURM_RESTART_COUNT") <= 0;
}

bool RankPast::was_there(const RankView& rank) const {
  return rank.presence == Presence::kAbsent && rank.rank < came_;
}

std::string RankPast::ended_by_step(const RankView& rank) const {
  constexpr std::int64_t kMaxStatus = 0xffff;
  // Another step, which is not in the report, may have a task of that number on another node.
  if (rank.presence != Presence::kAbsent || !rank.launched) {
    return {};
  }
  const auto& nodes = view_.capture().nodes;
  for (const snapshot::LogLine& line : view_.capture().collectives.log) {
    if (line.kind == snapshot::LogKind::kTaskStatus && line.rank == rank.rank &&
        line.node < nodes.size() && printable(nodes[line.node].host) == rank.host &&
        line.sequence >= 0 && line.sequence <= kMaxStatus) {
      return "has ended: " + exit_words(static_cast<std::int32_t>(line.sequence)) + ", says SLURM";
    }
  }
  return {};
}

std::string RankPast::ended_by_srun(const RankView& rank) const {
  const snapshot::LogLine* last = nullptr;
  for (const snapshot::LogLine& line : view_.capture().collectives.log) {
    const auto& tasks = line.behind;
    if (line.kind == snapshot::LogKind::kTaskEnd &&
        std::ranges::find(tasks, rank.rank) != tasks.end()) {
      last = &line;
    }
  }
  if (last == nullptr || !tasks_are_ranks_) {
    return {};
  }
  const std::string_view text = view_.text(last->text);
  return "has ended: \"" + printable(text.substr(text.rfind(": ") + 2), 80) + "\", says srun";
}

}  // namespace oddrank::aggregate
