#include "ranks/rank_siblings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse_number.h"

namespace oddrank::ranks {
namespace {

// Adds siblings that torch.multiprocessing has started together with the ranks and that have not
// yet got as far: it numbers its children, so their numbers follow from the ranks' numbers.
void add_numbered_siblings(RankTable& table,
                           std::size_t parent,
                           const std::vector<std::size_t>& rows) {
  const auto first = std::find_if(rows.begin(), rows.end(), [&table](std::size_t row) {
    return table.facts[table.rows[row].process].reported.index >= 0;
  });
  if (first == rows.end()) {
    return;
  }
  const RankRow known = table.rows[*first];
  const std::int32_t base = known.rank - table.facts[known.process].reported.index;
  for (const std::size_t row : rows) {
    const std::int32_t index = table.facts[table.rows[row].process].reported.index;
    if (index >= 0 && table.rows[row].rank - index != base) {
      return;  // these numbers mean something else
    }
  }
  for (const std::size_t child : table.tree[parent].children) {
    const std::int32_t index = table.facts[child].reported.index;
    const bool late = index >= 0 && table.facts[child].user == table.facts[known.process].user &&
                      table.row_of[child] == kNoProcess && !table.tree[child].identity;
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

bool is_older(const RankTable& table, std::size_t a, std::size_t b) {
  return std::pair(table.stat(a).start_us, table.stat(a).pid) <
         std::pair(table.stat(b).start_us, table.stat(b).pid);
}

bool is_unidentified(const RankTable& table, std::size_t i, const std::vector<std::size_t>& rows) {
  const ProcessFacts& facts = table.facts[i];
  if (facts.user != table.facts[table.rows[rows.front()].process].user) {
    return false;
  }
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

// Returns the ranks that the processes `silent` have, in a job whose processes all have the same
// parent, which has started the ranks in their order; as many must be silent as ranks are missing.
// Empty if that is not so.
std::set<std::int32_t> rest_of_world(const RankTable& table,
                                     const std::vector<std::size_t>& rows,
                                     const std::vector<std::size_t>& silent) {
  std::set<std::int32_t> missing;
  const std::int32_t world = table.rows[rows.front()].world_size;
  std::vector<std::pair<std::size_t, std::int32_t>> all;  // process, its rank or -1
  all.reserve(rows.size() + silent.size());
  for (const std::size_t row : rows) {
    all.emplace_back(table.rows[row].process, table.rows[row].rank);
  }
  for (const std::size_t child : silent) {
    all.emplace_back(child, -1);
  }
  if (world < 0 || all.size() != static_cast<std::size_t>(world)) {
    return missing;
  }
  std::sort(all.begin(), all.end(),
            [&table](const auto& a, const auto& b) { return is_older(table, a.first, b.first); });
  for (std::int32_t at = 0; at < world; ++at) {
    const std::int32_t rank = all[static_cast<std::size_t>(at)].second;
    if (rank >= 0 && rank != at) {
      return {};
    }
    if (rank < 0) {
      missing.insert(at);
    }
  }
  return missing;
}

// Returns the ranks of the job of these rows that have a row.
std::set<std::int32_t> ranks_with_rows(const RankTable& table, const std::string& job) {
  std::set<std::int32_t> ranks;
  for (const RankRow& row : table.rows) {
    if (row.job == job && row.rank >= 0) {
      ranks.insert(row.rank);
    }
  }
  return ranks;
}

// Keeps the processes that are most like the ranks, as many as ranks are missing: a launcher may
// also have started helpers, and the ranks of an earlier run. The ranks of a run are started
// together.
void keep_likely(const RankTable& table,
                 const std::vector<std::size_t>& rows,
                 std::size_t missing,
                 std::vector<std::size_t>& silent) {
  const auto unlike = [&](std::size_t i) {
    bool other_name = true;
    std::uint64_t apart = ~std::uint64_t{0};
    for (const std::size_t row : rows) {
      const attach::ProcStat& rank = table.stat(table.rows[row].process);
      const std::uint64_t start = table.stat(i).start_us;
      other_name = other_name && rank.name != table.stat(i).name;
      apart =
          std::min(apart, start > rank.start_us ? start - rank.start_us : rank.start_us - start);
    }
    return std::pair(other_name, apart);
  };
  std::stable_sort(silent.begin(), silent.end(),
                   [&unlike](std::size_t a, std::size_t b) { return unlike(a) < unlike(b); });
  silent.resize(std::min(silent.size(), missing));
}

// Adds a row for each of these processes, which are the `missing` ranks of the job of `first`;
// which one is which is known if there are as many.
void add_silent(RankTable& table,
                const RankRow& first,
                const std::vector<std::size_t>& silent,
                const std::set<std::int32_t>& missing) {
  const bool as_many = silent.size() == missing.size();
  auto number = missing.begin();
  for (const std::size_t child : silent) {
    RankRow& row = table.add_row(child, true, table.stat(child).pid);
    row.job = first.job;
    row.world_size = first.world_size;
    if (as_many) {
      row.rank = *number++;
      row.why = "its rank follows from those of its siblings";
    } else {
      row.why = "a process of the job whose rank is unknown";
    }
    table.owner_of.emplace(JobRank(row.job, row.rank), table.rows.size() - 1);
  }
}

// Adds zombies, and processes that may not be read. Their rank follows from the others if the
// launcher numbers its ranks without gaps. If none is missing, they are not ranks.
void add_siblings(RankTable& table, std::size_t parent, const std::vector<std::size_t>& rows) {
  const RankRow first = table.rows[rows.front()];
  std::set<std::int32_t> missing;
  for (const std::size_t row : rows) {
    if (table.rows[row].job != first.job) {
      return;  // siblings of several jobs: the zombie may belong to any of them
    }
    const auto& listed = table.tree[table.rows[row].process].identity->node_ranks;
    missing.insert(listed.begin(), listed.end());
  }
  const std::set<std::int32_t> known = ranks_with_rows(table, first.job);
  const bool all_listed = !missing.empty();
  std::erase_if(missing, [&known](std::int32_t rank) { return known.contains(rank); });
  std::vector<std::size_t> silent;
  for (const std::size_t child : table.tree[parent].children) {
    if (is_unidentified(table, child, rows)) {
      silent.push_back(child);
    }
  }
  std::sort(silent.begin(), silent.end(),
            [&table](std::size_t a, std::size_t b) { return is_older(table, a, b); });
  if (missing.empty()) {
    const auto world = static_cast<std::size_t>(std::max(first.world_size, 0));
    if (!silent.empty() && (all_listed || (world > 0 && known.size() >= world))) {
      table.no_ranks.insert(table.no_ranks.end(), silent.begin(), silent.end());
      return;
    }
    missing = rest_of_world(table, rows, silent);
  }
  if (!missing.empty() && silent.size() > missing.size()) {
    std::vector<std::size_t> all = silent;
    keep_likely(table, rows, missing.size(), silent);
    std::copy_if(all.begin(), all.end(), std::back_inserter(table.no_ranks),
                 [&silent](std::size_t i) {
                   return std::find(silent.begin(), silent.end(), i) == silent.end();
                 });
    std::sort(silent.begin(), silent.end(),
              [&table](std::size_t a, std::size_t b) { return is_older(table, a, b); });
  }
  add_silent(table, first, silent, missing);
}

// `other` is an argument of a rank and ends with the rank's number. Returns the number at the end
// of `argument` if both are equal before it; nullopt otherwise.
std::optional<std::int32_t> number_like(std::string_view argument,
                                        std::string_view other,
                                        std::int32_t rank) {
  const std::string number = std::to_string(rank);
  if (!other.ends_with(number)) {
    return std::nullopt;
  }
  const std::string_view before = other.substr(0, other.size() - number.size());
  return argument.starts_with(before) ? parse_number<std::int32_t>(argument.substr(before.size()))
                                      : std::nullopt;
}

// Returns the rank that the process has by its command line, if that is the same as the row's but
// for the number of the rank; nullopt otherwise.
std::optional<std::int32_t> number_by_arguments(const RankTable& table,
                                                std::size_t process,
                                                const RankRow& row) {
  const auto& own = table.facts[process].arguments;
  const auto& other = table.facts[row.process].arguments;
  if (own.size() != other.size()) {
    return std::nullopt;
  }
  std::optional<std::int32_t> rank;
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i] == other[i]) {
      continue;
    }
    const auto number = number_like(own[i], other[i], row.rank);
    if (!number || (rank && *rank != *number)) {
      return std::nullopt;
    }
    rank = number;
  }
  return rank;
}

// The same by the command lines of all rows, if these agree and the number is free.
std::optional<std::int32_t> number_by_arguments(const RankTable& table,
                                                std::size_t process,
                                                const std::vector<std::size_t>& rows) {
  std::optional<std::int32_t> rank;
  for (const std::size_t row : rows) {
    const auto number = number_by_arguments(table, process, table.rows[row]);
    if (!number || (rank && *rank != *number)) {
      return std::nullopt;
    }
    rank = number;
  }
  const RankRow& known = table.rows[rows.front()];
  const bool fits = rank && *rank >= 0 && *rank < known.world_size;
  return fits && table.owner_of.count(JobRank(known.job, *rank)) == 0 ? rank : std::nullopt;
}

// Returns whether a row is below the process: then it has started ranks, and is none.
bool has_started(const RankTable& table, std::size_t process) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const RankRow& row) {
    const auto is_it = [process](std::size_t above) { return above == process; };
    return table.tree.ancestor(row.process, is_it) != kNoProcess;
  });
}

// Returns whether the process runs the same program as the row's, has a communication library, and
// says nothing of itself.
bool runs_same_program(const RankTable& table, std::size_t process, const RankRow& row) {
  const ProcessFacts& facts = table.facts[process];
  const ProcessFacts& other = table.facts[row.process];
  return table.row_of[process] == kNoProcess && facts.user == other.user && facts.asked &&
         facts.loaded && facts.reported.by == ReportedBy::kNothing && !facts.stat.forked &&
         table.tree[process].role == ProcessRole::kProgram && !table.tree[process].identity &&
         !table.is_excluded(process) && facts.executable == other.executable &&
         !script_of(facts.arguments).empty() &&
         script_of(facts.arguments) == script_of(other.arguments);
}

// Adds siblings that run the ranks' own program and have not got so far that they say which rank
// they are. Their command lines may tell; otherwise each of them may be any of the missing ones.
void add_late_siblings(RankTable& table, std::size_t parent, const std::vector<std::size_t>& rows) {
  const RankRow known = table.rows[rows.front()];
  const bool one_job = std::all_of(rows.begin(), rows.end(), [&](std::size_t row) {
    return table.rows[row].job == known.job && table.rows[row].rank >= 0;
  });
  const auto ranks = static_cast<std::int32_t>(std::count_if(
      table.rows.begin(), table.rows.end(),
      [&known](const RankRow& row) { return row.job == known.job && row.rank >= 0; }));
  if (!one_job || known.world_size <= ranks) {
    return;
  }
  for (const std::size_t child : table.tree[parent].children) {
    if (!runs_same_program(table, child, known) || has_started(table, child)) {
      continue;
    }
    const auto rank = number_by_arguments(table, child, rows);
    RankRow& row = table.add_row(child, true, table.stat(child).pid);
    row.job = known.job;
    row.world_size = known.world_size;
    if (rank) {
      row.rank = *rank;
      table.owner_of.emplace(JobRank(row.job, row.rank), table.rows.size() - 1);
    } else {
      row.why = "a process of the job whose rank is unknown";
    }
  }
}

}  // namespace

void add_unidentified(RankTable& table) {
  const std::size_t ranks = table.rows.size();
  std::map<std::size_t, std::vector<std::size_t>> siblings;  // parent -> rows
  for (std::size_t row = 0; row < ranks; ++row) {
    const std::size_t parent = table.starter_of(table.rows[row].process);
    if (parent != kNoProcess && table.row_of[parent] == kNoProcess) {
      siblings[parent].push_back(row);
    }
  }
  for (const auto& [parent, rows] : siblings) {
    add_numbered_siblings(table, parent, rows);
    // Init adopts all orphans: a zombie there has no siblings.
    if (table.stat(parent).pid > 1 || table.tree[parent].role == ProcessRole::kRankLauncher) {
      add_siblings(table, parent, rows);
    }
    add_late_siblings(table, parent, rows);
  }
}

}  // namespace oddrank::ranks
