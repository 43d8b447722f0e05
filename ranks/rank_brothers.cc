#include "ranks/rank_brothers.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace oddrank::ranks {
namespace {

// Adds siblings that torch.multiprocessing has started with the ranks, and that have not got as
// far as them: it numbers its children, and these numbers follow those of the ranks.
void add_numbered_brothers(RankTable& table,
                           std::size_t parent,
                           const std::vector<std::size_t>& rows) {
  const auto first = std::find_if(rows.begin(), rows.end(), [&table](std::size_t row) {
    return table.facts[table.rows[row].process].told.index >= 0;
  });
  if (first == rows.end()) {
    return;
  }
  const RankRow known = table.rows[*first];
  const std::int32_t base = known.rank - table.facts[known.process].told.index;
  for (const std::size_t row : rows) {
    const std::int32_t index = table.facts[table.rows[row].process].told.index;
    if (index >= 0 && table.rows[row].rank - index != base) {
      return;  // these numbers mean something else
    }
  }
  for (const std::size_t child : table.tree[parent].children) {
    const std::int32_t index = table.facts[child].told.index;
    const bool late =
        index >= 0 && table.row_of[child] == kNoProcess && !table.tree[child].identity;
    if (!late || base + index < 0 || base + index >= known.world_size ||
        table.owner_of.count(JobRank(known.job, base + index)) != 0) {
      continue;
    }
    RankRow& row = table.add_row(child, true, table.stat(child).pid);
    row.job = known.job;
    row.world_size = known.world_size;
    row.rank = base + index;
    row.local_rank = index;
    table.owner_of.emplace(JobRank(row.job, row.rank), table.rows.size() - 1);
  }
}

bool is_unidentified(const RankTable& table, std::size_t i, const std::vector<std::size_t>& rows) {
  const ProcessFacts& facts = table.facts[i];
  const bool silent = facts.stat.state == 'Z' || facts.read == FactsRead::kRefused ||
                      facts.read == FactsRead::kBlocked;
  if (!silent || table.row_of[i] != kNoProcess || table.tree[i].role != ProcessRole::kProgram) {
    return false;
  }
  // A rank runs the same program as its siblings; PyTorch renames it to pt_main_thread.
  const std::string& name = facts.stat.name;
  return name == "pt_main_thread" || name.substr(0, 6) == "python" ||
         std::any_of(rows.begin(), rows.end(), [&](std::size_t row) {
           return table.stat(table.rows[row].process).name == name;
         });
}

// Adds zombies, and processes that may not be read. Their rank follows from the others if the
// launcher numbers its ranks without gaps.
void add_brothers(RankTable& table, std::size_t parent, const std::vector<std::size_t>& rows) {
  const RankRow first = table.rows[rows.front()];
  std::set<std::int32_t> missing;
  for (const std::size_t row : rows) {
    if (table.rows[row].job != first.job) {
      return;  // siblings of several jobs: the zombie may belong to any of them
    }
    const auto& listed = table.tree[table.rows[row].process].identity->node_ranks;
    missing.insert(listed.begin(), listed.end());
  }
  for (const RankRow& row : table.rows) {
    if (row.job == first.job) {
      missing.erase(row.rank);
    }
  }
  std::vector<std::size_t> silent;
  for (const std::size_t child : table.tree[parent].children) {
    if (is_unidentified(table, child, rows)) {
      silent.push_back(child);
    }
  }
  std::sort(silent.begin(), silent.end(), [&table](std::size_t a, std::size_t b) {
    return std::pair(table.stat(a).start_us, table.stat(a).pid) <
           std::pair(table.stat(b).start_us, table.stat(b).pid);
  });
  const bool told = silent.size() == missing.size();
  auto number = missing.begin();
  for (const std::size_t child : silent) {
    RankRow& row = table.add_row(child, true, table.stat(child).pid);
    row.job = first.job;
    row.world_size = first.world_size;
    if (told) {
      row.rank = *number++;
      row.why = "its rank follows from those of its brothers";
    } else {
      row.why = "a process of the job whose rank is unknown";
    }
    table.owner_of.emplace(JobRank(row.job, row.rank), table.rows.size() - 1);
  }
}

}  // namespace

void add_unidentified(RankTable& table) {
  const std::size_t ranks = table.rows.size();
  std::map<std::size_t, std::vector<std::size_t>> brothers;  // parent -> rows
  for (std::size_t row = 0; row < ranks; ++row) {
    const std::size_t parent = table.starter_of(table.rows[row].process);
    if (parent != kNoProcess && table.row_of[parent] == kNoProcess) {
      brothers[parent].push_back(row);
    }
  }
  for (const auto& [parent, rows] : brothers) {
    add_numbered_brothers(table, parent, rows);
    // Init adopts all orphans: a zombie there has no siblings.
    if (table.stat(parent).pid > 1 || table.tree[parent].role == ProcessRole::kRankLauncher) {
      add_brothers(table, parent, rows);
    }
  }
}

}  // namespace oddrank::ranks
