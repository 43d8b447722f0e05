// The decisions: which processes of a node are ranks, and which belong to one (rank_tree.h).
// rank_siblings.h and rank_notes.h fill parts of it.
//
// Writes the facts about a process into a capture.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <map>
#include <set>
#include <vector>

#include "ranks/process_facts.h"
#include "ranks/process_tree.h"
#include "ranks/rank_choice.h"
#include "ranks/rank_tree.h"
#include "snapshot/capture.h"

namespace oddrank::ranks {

struct RankTable {
  // The facts and the options must outlive the table.
  RankTable(const std::vector<ProcessFacts>& all_facts, const DiscoverOptions& wanted);

  const attach::ProcStat& stat(std::size_t process) const { return facts[process].stat; }
  bool is_excluded(std::size_t process) const;
  // Returns the nearest parent that is not a wrapper; kNoProcess if unknown.
  std::size_t starter_of(std::size_t process) const;

  // Returns the processes below which a row stands.
  std::set<std::size_t> starters() const;

  // The references hold until the next row is added.
  RankRow& add_row(std::size_t process, bool is_rank, pid_t owner);
  void add_rank(std::size_t process);           // precondition: it has an identity
  void add_given_process(std::size_t process);  // given by the user

  const std::vector<ProcessFacts>& facts;
  const DiscoverOptions& options;
  ProcessTree tree;
  RankChoice choice;
  std::vector<RankRow> rows;
  std::vector<std::size_t> row_of;          // process -> row, or kNoProcess
  std::vector<std::size_t> no_ranks;        // zombies and unread processes beside complete ranks
  std::map<JobRank, std::size_t> owner_of;  // (job, rank) -> row of its own process
};

// Gives a row the number, world and job of `other`: an identity, or another row.
template <typename Numbered>
void number_as(const Numbered& other, RankRow& row) {
  row.rank = other.rank;
  row.local_rank = other.local_rank;
  row.world_size = other.world_size;
  row.job = other.job;
}

// Appends the process to the capture, as not yet read, and without the secrets in its command.
void append_row(const ProcessFacts& facts, const RankRow& row, snapshot::Capture& capture);

}  // namespace oddrank::ranks
