#include "ranks/self_reports.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "base/base_name.h"
#include "base/isolated.h"
#include "ranks/field_record.h"
#include "ranks/rank_choice.h"

namespace oddrank::ranks {
namespace {

using std::chrono::milliseconds;

// More processes with a communication library, and without variables, than a node has.
constexpr std::size_t kMaxAsked = 512;
constexpr std::size_t kAskedAtOnce = 8;
constexpr milliseconds kAskTimeout{4000};
constexpr std::size_t kMaxAnswer = std::size_t{1} << 20;

bool is_python_process(const ProcessFacts& facts) {
  return is_python(facts.arguments) || base_name(facts.executable).starts_with("python");
}

bool may_be_asked(const TreeNode& node, const DiscoverOptions& options) {
  const ProcessFacts& facts = *node.facts;
  const bool excluded = std::find(options.exclude.begin(), options.exclude.end(), facts.stat.pid) !=
                        options.exclude.end();
  const bool of_other_job = facts.environment.has("SLURM_JOB_ID") && !matches(facts, options);
  return node.role == ProcessRole::kProgram && facts.read == FactsRead::kRead && !excluded &&
         !of_other_job;
}

// Returns whether another process of the same program made it for its own work.
bool is_worker(const ProcessFacts& facts) {
  return facts.stat.forked || is_multiprocessing_child(facts.arguments);
}

// Returns whether the process has a library and no variables, and is not a worker.
bool is_nameless(const ProcessTree& tree, std::size_t index) {
  const TreeNode& node = tree[index];
  if (!node.facts->loaded || (node.identity && !node.identity->outside_step)) {
    return false;
  }
  return !is_worker(*node.facts) || tree.ancestor(index, [&tree](std::size_t above) {
    return tree[above].facts->reported.has_rank();
  }) == kNoProcess;
}

// Returns whether the process carries the number of a task, and may be one of several with it.
bool is_of_task(const TreeNode& node) {
  return node.identity && node.identity->source > RankSource::kRankVariable &&
         node.role == ProcessRole::kProgram && is_python_process(*node.facts);
}

// [index] -> whether a task of several processes needs this one's answer: all processes of the task
// above it have been asked, and none has told its rank.
std::vector<char> needed_of_tasks(const ProcessTree& tree) {
  std::vector<char> needed(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if (!is_of_task(tree[i])) {
      continue;
    }
    std::vector<std::size_t> family = {i};  // from the inside out
    tree.ancestor(i, [&](std::size_t above) {
      const bool same =
          is_of_task(tree[above]) && tree[above].identity->rank == tree[i].identity->rank;
      if (same || tree[above].facts->reported.has_rank()) {
        family.push_back(above);
      }
      return false;
    });
    if (family.size() < 2) {
      continue;
    }
    const bool any_reported = std::any_of(family.begin(), family.end(), [&tree](std::size_t each) {
      return tree[each].facts->reported.has_rank();
    });
    const auto next = std::find_if(family.rbegin(), family.rend(),
                                   [&tree](std::size_t each) { return !tree[each].facts->asked; });
    if (!any_reported && next != family.rend()) {
      needed[*next] = 1;
    }
  }
  return needed;
}

bool carries_number(const TreeNode& node, std::int32_t rank) {
  return node.identity && node.identity->rank == rank && node.role == ProcessRole::kProgram;
}

// Several processes may have one number, if the variables come from an outer launcher (a shell with
// RANK=0 that runs mpirun), or from a run that left processes behind.
class Doubts {
 public:
  explicit Doubts(const ProcessTree& tree) : tree_(tree) {}

  // [index] -> whether others carry its number without being its workers, or its variables
  // contradict each other.
  std::vector<char> find() const;

 private:
  using Key = std::tuple<std::string, std::string, std::int32_t>;

  // Returns whether no other process above it might be the one with the number. A process that has
  // been asked and has no communication library is not.
  bool is_outermost(std::size_t index) const;
  // [index] -> how many programs it has started that carry its number, its workers aside.
  std::vector<std::size_t> count_branches() const;

  const ProcessTree& tree_;
};

bool Doubts::is_outermost(std::size_t index) const {
  return tree_.ancestor(index, [this, index](std::size_t above) {
    return carries_number(tree_[above], tree_[index].identity->rank) &&
           (!tree_[above].facts->asked || tree_[above].facts->loaded);
  }) == kNoProcess;
}

std::vector<std::size_t> Doubts::count_branches() const {
  std::vector<std::size_t> branches(tree_.size(), 0);
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const auto& identity = tree_[i].identity;
    if (!identity || !carries_number(tree_[i], identity->rank) || is_worker(*tree_[i].facts)) {
      continue;
    }
    const std::size_t above = tree_.ancestor(i, [this, &identity](std::size_t outer) {
      return carries_number(tree_[outer], identity->rank);
    });
    if (above != kNoProcess) {
      ++branches[above];
    }
  }
  return branches;
}

std::vector<char> Doubts::find() const {
  const std::vector<std::size_t> branches = count_branches();
  std::map<Key, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const auto& identity = tree_[i].identity;
    if (identity && carries_number(tree_[i], identity->rank) && tree_[i].facts->stat.state != 'Z' &&
        is_outermost(i)) {
      alike[{identity->job, identity->rendezvous, identity->rank}].push_back(i);
    }
  }
  std::vector<char> found(tree_.size(), 0);
  for (const auto& [key, twins] : alike) {
    for (const std::size_t i : twins) {
      found[i] = static_cast<char>(twins.size() > 1 || branches[i] > 1 ||
                                   is_doubtful(tree_[i].facts->environment));
    }
  }
  return found;
}

std::string encode_report(const SelfReport& report) {
  std::string record;
  put_field(record, std::to_string(static_cast<int>(report.world.by)));
  put_field(record, std::to_string(report.world.rank));
  put_field(record, std::to_string(report.world.world_size));
  put_field(record, std::to_string(report.world.index));
  put_field(record, report.world.inherited ? "1" : "0");
  put_field(record, report.communicates ? "1" : "0");
  put_field(record, report.world.address);
  put_field(record, report.ray_session);
  put_environment(record, report.environment);
  return record;
}

std::optional<SelfReport> decode_report(const std::string& bytes) {
  FieldReader reader(bytes);
  const auto by = reader.next_number();
  const auto rank = reader.next_number<std::int32_t>();
  const auto world_size = reader.next_number<std::int32_t>();
  const auto index = reader.next_number<std::int32_t>();
  const auto inherited = reader.next_number();
  const auto communicates = reader.next_number();
  const auto address = reader.next();
  const auto session = reader.next();
  auto environment = reader.next_environment();
  if (!by || *by > static_cast<std::size_t>(ReportedBy::kGroup) || !rank || !world_size || !index ||
      !inherited || !communicates || !address || !session || !environment) {
    return std::nullopt;
  }
  SelfReport report;
  report.world = {static_cast<ReportedBy>(*by), *rank,          *world_size, *index,
                  std::string(*address),        *inherited == 1};
  report.environment = *std::move(environment);
  report.communicates = *communicates == 1;
  report.ray_session = *session;
  return report;
}

// Returns the present variables, and the initial ones that are not among them.
attach::Environment joined(const attach::Environment& now, const attach::Environment& start) {
  std::vector<attach::Environment::Entry> entries = now.entries();
  for (const attach::Environment::Entry& entry : start.entries()) {
    if (!now.has(entry.first)) {
      entries.push_back(entry);
    }
  }
  return attach::Environment(std::move(entries));
}

}  // namespace

std::vector<std::size_t> processes_to_ask(const ProcessTree& tree, const DiscoverOptions& options) {
  std::vector<std::size_t> wanted;
  if (!options.ask) {
    return wanted;
  }
  const std::vector<char> of_tasks = needed_of_tasks(tree);
  const std::vector<char> in_doubt = Doubts(tree).find();
  const auto is_wanted = [&](std::size_t i) {
    return !tree[i].facts->asked && may_be_asked(tree[i], options) &&
           (is_nameless(tree, i) || of_tasks[i] != 0 || in_doubt[i] != 0);
  };
  std::size_t asked = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    asked += tree[i].facts->asked ? 1 : 0;
    // From the outside in: what the outer process says decides about the inner one.
    if (is_wanted(i) && tree.ancestor(i, is_wanted) == kNoProcess) {
      wanted.push_back(i);
    }
  }
  wanted.resize(std::min(wanted.size(), kMaxAsked - std::min(asked, kMaxAsked)));
  return wanted;
}

void ask_processes(const std::vector<std::size_t>& which,
                   const AskProcess& ask,
                   std::vector<ProcessFacts>& all) {
  std::vector<IsolatedTask> tasks;
  for (const std::size_t i : which) {
    const pid_t pid = all[i].stat.pid;
    tasks.push_back(
        {[pid, &ask](int fd) { send_bytes(fd, encode_report(ask(pid))); }, kAskTimeout});
  }
  const std::vector<IsolatedResult> results = run_isolated(tasks, kAskedAtOnce, kMaxAnswer);
  for (std::size_t i = 0; i < results.size(); ++i) {
    ProcessFacts& facts = all[which[i]];
    facts.asked = true;
    if (auto report = decode_report(results[i].bytes)) {
      facts.reported = std::move(report->world);
      facts.ray_session = std::move(report->ray_session);
      facts.loaded = facts.loaded || report->communicates;
      // It was not forked, so it has inherited nothing: its threads just could not be read.
      facts.reported.inherited = facts.reported.inherited && facts.stat.forked;
      facts.environment = joined(report->environment, facts.environment);
    }
  }
}

}  // namespace oddrank::ranks
