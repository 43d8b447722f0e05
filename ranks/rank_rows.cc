#include "ranks/rank_rows.h"

#include <string>
#include <utility>

#include "attach/permission.h"
#include "base/printable.h"
#include "base/secrets/mask_secrets.h"
#include "ranks/process_label.h"

namespace oddrank::ranks {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

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
