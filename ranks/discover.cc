#include "ranks/discover.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attach/live_target.h"
#include "attach/permission.h"
#include "base/log.h"
#include "ranks/process_facts.h"
#include "ranks/rank_table.h"
#include "ranks/self_reports.h"

namespace oddrank::ranks {
namespace {

using snapshot::Capture;

// Each round reads the processes that the previous one showed to matter; a wrapper within a
// wrapper, and several jobs, need no more rounds than this.
constexpr int kMaxRounds = 4;
// Enough for a rank below a process with a library that is below another such process.
constexpr int kMaxAskingRounds = 4;

std::string sentence(const Error& error) {
  return error.hint.empty() ? error.what : error.what + " (" + error.hint + ")";
}

void log_row(const ProcessFacts& facts, const RankRow& row) {
  if (!log_enabled(LogLevel::kDebug)) {
    return;
  }
  std::string text = "pid " + std::to_string(facts.stat.pid) + " (" + facts.stat.name + ")";
  if (row.is_rank && row.rank >= 0) {
    const bool by_memory = facts.reported.has_rank() && facts.reported.rank == row.rank;
    text += " is rank " + std::to_string(row.rank) + " of '" + row.job + "', by " +
            (by_memory ? "what is in its memory" : "its variables, or those of its siblings");
  } else {
    text +=
        row.is_rank ? " is read; it has no rank" : " belongs to pid " + std::to_string(row.owner);
  }
  log_line(LogLevel::kDebug, text);
}

// Fails if none of the requested pids can be read; returns why of each that cannot.
Result<std::map<pid_t, std::string>> check_pids(const DiscoverOptions& options) {
  std::map<pid_t, std::string> unread;
  std::optional<Error> first;
  std::size_t readable = 0;
  for (const pid_t pid : options.pids) {
    const auto target = attach::LiveTarget::open(pid);
    if (target) {
      ++readable;
      continue;
    }
    if (!first) {
      first = target.error();
    }
    unread.emplace(pid, sentence(target.error()));
  }
  if (readable == 0 && first) {
    return fail(*first);
  }
  return unread;
}

// Tells what is not read of the requested pids: as a note, or as a row of its own if there is no
// process (the report counts it all the same).
void append_unread(const std::map<pid_t, std::string>& unread,
                   std::vector<std::string>& notes,
                   Capture& capture) {
  for (const auto& [pid, why] : unread) {
    const bool there = std::any_of(capture.processes.begin(), capture.processes.end(),
                                   [pid = pid](const auto& row) { return row.pid == pid; });
    if (there) {
      notes.push_back(why);
      continue;
    }
    snapshot::ProcessCapture& row = capture.processes.emplace_back();
    row.pid = row.owner = pid;
    row.is_rank = true;
    row.why = capture.tables.string(why);
  }
}

}  // namespace

Status discover(const DiscoverOptions& options, Capture& capture) {
  DiscoverOptions known = options;
  known.reader = ::geteuid();
  std::vector<std::string> notes;
  ODDRANK_TRY(const auto unread, check_pids(known));
  ODDRANK_TRY(std::vector<ProcessFacts> facts, read_process_facts(known.pids, known.directly));
  if (known.visit) {
    known.visit(facts);
  }
  for (int round = 0; round < kMaxAskingRounds; ++round) {
    const std::vector<std::size_t> which = processes_to_ask(facts, known);
    if (which.empty()) {
      break;
    }
    ask_processes(which, known.ask, facts);
  }
  for (int round = 0; round < kMaxRounds; ++round) {
    const std::vector<std::size_t> which = conducts_to_read(facts, known);
    if (which.empty()) {
      break;
    }
    read_conducts(which, facts);
  }
  RankDecision decision = decide_ranks(facts, known);
  for (const RankRow& row : decision.rows) {
    append_row(facts[row.process], row, capture);
    log_row(facts[row.process], row);
  }
  append_unread(unread, notes, capture);
  if (!capture.nodes.empty()) {
    auto& node = capture.nodes.front();
    node.expected_ranks = std::move(decision.expected);
    node.why = std::move(decision.obstacle);
    notes.insert(notes.end(), decision.notes.begin(), decision.notes.end());
    node.notes.insert(node.notes.end(), notes.begin(), notes.end());
  }
  return ok();
}

}  // namespace oddrank::ranks
