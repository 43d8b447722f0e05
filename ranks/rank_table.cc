#include "ranks/rank_table.h"

#include <algorithm>
#include <string>
#include <utility>

#include "attach/permission.h"
#include "base/printable.h"
#include "base/secrets/mask_secrets.h"
#include "ranks/process_label.h"

namespace oddrank::ranks {

using snapshot::Capture;
using snapshot::ProcessCapture;

RankTable::RankTable(const std::vector<ProcessFacts>& all_facts, const DiscoverOptions& wanted)
    : facts(all_facts),
      options(wanted),
      tree(all_facts, !wanted.slurm_job.empty()),
      choice(choose_ranks(tree, wanted)),
      row_of(all_facts.size(), kNoProcess) {}

bool RankTable::is_excluded(std::size_t process) const {
  return std::find(options.exclude.begin(), options.exclude.end(), stat(process).pid) !=
         options.exclude.end();
}

std::size_t RankTable::starter_of(std::size_t process) const {
  const std::size_t parent = tree[process].parent;
  return parent == kNoProcess || !choice.is_wrapper(parent)
             ? parent
             : tree.ancestor(process, [this](std::size_t at) { return !choice.is_wrapper(at); });
}

std::set<std::size_t> RankTable::starters() const {
  std::set<std::size_t> found;
  for (const RankRow& row : rows) {
    tree.ancestor(row.process, [&found](std::size_t above) {
      found.insert(above);
      return false;
    });
  }
  return found;
}

RankRow& RankTable::add_row(std::size_t process, bool is_rank, pid_t owner) {
  RankRow row;
  row.process = process;
  row.is_rank = is_rank;
  row.owner = owner;
  row_of[process] = rows.size();
  rows.push_back(std::move(row));
  return rows.back();
}

void RankTable::add_rank(std::size_t process) {
  const RankIdentity& identity = *tree[process].identity;
  RankRow& row = add_row(process, true, stat(process).pid);
  number_as(identity, row);
  owner_of.emplace(JobRank(identity.job, identity.rank), rows.size() - 1);
}

void RankTable::add_given_process(std::size_t process) {
  RankRow& row = add_row(process, true, stat(process).pid);
  const auto& identity = tree[process].identity;
  if (identity && tree[process].role == ProcessRole::kProgram) {
    number_as(*identity, row);
  }
}

namespace {

constexpr std::size_t kMaxLabel = 60;

std::string refusal_words(const Error& error) {
  return error.hint.empty() ? error.what : error.what + " (" + error.hint + ")";
}

}  // namespace

void append_row(const ProcessFacts& facts, const RankRow& row, Capture& capture) {
  ProcessCapture process;
  process.pid = facts.stat.pid;
  process.parent = facts.stat.parent;
  process.is_rank = row.is_rank;
  process.owner = row.owner;
  process.outlives_rank = row.outlives_rank;
  process.role = row.role;
  process.rank = row.rank;
  process.local_rank = row.local_rank;
  process.world_size = row.world_size;
  process.replica = capture.tables.string(row.replica);
  process.replica_rank = row.replica.empty() ? -1 : row.rank;
  process.job_key = capture.tables.string(row.job);
  process.name = capture.tables.string(facts.stat.name);
  process.executable = capture.tables.string(facts.executable);
  process.label = capture.tables.string(
      printable(label_of(facts.arguments, facts.executable, facts.stat.name), kMaxLabel));
  process.command = capture.tables.string(mask_command(facts.arguments));
  process.communicates = facts.loaded || facts.activity.communicates || facts.reported.has_rank();
  process.state = facts.stat.state;
  process.start_us = facts.stat.start_us;
  std::string why = row.why;
  if (facts.stat.state == 'Z') {
    process.exit_code = attach::exit_code_of(facts.stat);
    why = join_clauses(why, "it has ended, and its parent has not noticed yet (zombie)");
  } else if (facts.read == FactsRead::kRefused) {
    why = join_clauses(why, refusal_words(attach::why_unreadable(facts.stat.pid)));
  } else if (facts.read == FactsRead::kBlocked) {
    why = join_clauses(why,
                       "it does not let its environment be read: something holds its memory map");
  }
  process.why = capture.tables.string(why);
  for (const auto& [name, value] : facts.environment.entries()) {
    process.environment.emplace_back(capture.tables.string(name), capture.tables.string(value));
  }
  capture.processes.push_back(std::move(process));
}

}  // namespace oddrank::ranks
