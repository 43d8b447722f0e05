#include "ranks/job_families.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ranks/process_label.h"
#include "ranks/process_role.h"
#include "ranks/replicas.h"

namespace oddrank::ranks {

using snapshot::JobRole;

namespace {

bool is_titled(const RankTable& table, std::size_t i) {
  return has_title(table.facts[i].arguments);
}

// Returns whether the process may be a part of a job: one that was asked for its rank, since it has
// a library of ranks, or one with a title.
bool may_take_part(const RankTable& table, std::size_t i) {
  return (table.facts[i].asked || is_titled(table, i)) &&
         table.tree[i].role == ProcessRole::kProgram && !table.is_excluded(i) &&
         matches(table.facts[i], table.options);
}

// Returns whether it runs what a framework has brought along, for itself: Ray's agents, monitors
// and daemons, and workers that have never been given work.
bool is_infrastructure(const ProcessFacts& facts) {
  constexpr std::array<std::string_view, 3> kTitles = {"DashboardAgent", "RuntimeEnvAgent", "IDLE"};
  if (has_title(facts.arguments)) {
    const std::string title = label_of(facts.arguments, facts.executable);
    return std::find(kTitles.begin(), kTitles.end(), title) != kTitles.end();
  }
  const bool python = is_python(facts.arguments);
  const std::string_view program =
      python
          ? script_of(facts.arguments)
          : std::string_view(facts.arguments.empty() ? facts.executable : facts.arguments.front());
  return program.find("/site-packages/") != program.npos ||
         program.find("/dist-packages/") != program.npos;
}

// Makes services parts of the process that has started them, or else of the first one that is no
// service: they are read, and judged only if a wait leads there.
void give_services_away(RankTable& table) {
  const auto is_own = [](const RankRow& row) {
    return row.is_rank && row.role != JobRole::kService;
  };
  const auto first = std::find_if(table.rows.begin(), table.rows.end(), is_own);
  if (first == table.rows.end()) {
    return;
  }
  const pid_t any = table.stat(first->process).pid;
  for (RankRow& row : table.rows) {
    if (row.is_rank && row.role == JobRole::kService) {
      const std::size_t above = table.tree.ancestor(row.process, [&](std::size_t at) {
        return table.row_of[at] != kNoProcess && is_own(table.rows[table.row_of[at]]);
      });
      row.owner = above == kNoProcess ? any : table.stat(above).pid;
      row.is_rank = false;
    }
  }
}

// Returns the outermost process of its family: the process itself if it has none.
std::size_t head_of(const RankTable& table, std::size_t i) {
  std::size_t head = i;
  table.tree.ancestor(i, [&](std::size_t above) {
    if (table.row_of[above] != kNoProcess || may_take_part(table, above)) {
      head = above;
    }
    return false;
  });
  return head;
}

// Returns the families by their heads: all that may take part and have no row.
std::map<std::size_t, std::vector<std::size_t>> families_of(const RankTable& table) {
  std::map<std::size_t, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (may_take_part(table, i) && table.row_of[i] == kNoProcess) {
      families[head_of(table, i)].push_back(i);
    }
  }
  return families;
}

// Returns the key of a job without ranks.
std::string job_of_family(const RankTable& table, std::size_t head) {
  return "family " + std::to_string(table.stat(head).pid);
}

// Returns those of the family that have a part of their own in the job: its head has.
std::vector<std::size_t> parts_of(const RankTable& table,
                                  std::size_t head,
                                  const std::vector<std::size_t>& family) {
  std::vector<std::size_t> parts;
  std::copy_if(family.begin(), family.end(), std::back_inserter(parts),
               [&](std::size_t i) { return i == head || has_own_part(table, i); });
  return parts;
}

void add_parts(RankTable& table, const std::vector<std::size_t>& parts, const std::string& job) {
  for (const std::size_t i : parts) {
    table.add_row(i, true, table.stat(i).pid).job = job;
  }
}

// Adds the parts of jobs that have rows: of the family of each.
void add_beside_rows(RankTable& table) {
  const auto families = families_of(table);
  const std::vector<RankRow> rows = table.rows;
  std::set<std::size_t> done;
  for (const bool numbered : {true, false}) {
    for (const RankRow& row : rows) {
      const std::size_t head = head_of(table, row.process);
      const auto family = families.find(head);
      if ((row.rank >= 0) != numbered || family == families.end() || !done.insert(head).second) {
        continue;
      }
      const auto titled = [&table](std::size_t i) { return is_titled(table, i); };
      if (titled(row.process) || std::ranges::any_of(family->second, titled)) {
        add_parts(table, parts_of(table, head, family->second), row.job);
      }
    }
  }
}

}  // namespace

void forget_lone_numbers(RankTable& table) {
  for (RankRow& row : table.rows) {
    if (row.world_size == 1 && is_titled(table, row.process)) {
      number_as(RankRow(), row);
      row.job = job_of_family(table, head_of(table, row.process));
    }
  }
}

bool has_own_part(const RankTable& table, std::size_t process) {
  const ProcessFacts& facts = table.facts[process];
  return !is_infrastructure(facts) &&
         (is_titled(table, process) ||
          (!facts.stat.forked && !is_multiprocessing_child(facts.arguments) &&
           !label_of(facts.arguments, facts.executable).empty()));
}

void add_roles(RankTable& table) {
  const std::set<std::size_t> starters = table.starters();
  for (RankRow& row : table.rows) {
    if (!row.is_rank) {
      continue;
    }
    const ProcessFacts& facts = table.facts[row.process];
    const bool service = row.rank < 0 && (table.tree[row.process].role == ProcessRole::kUtility ||
                                          is_infrastructure(facts));
    row.role = service ? JobRole::kService : role_of_title(facts.arguments);
    if (row.rank < 0 && is_lighthouse(facts.arguments)) {
      row.role = JobRole::kServer;
    }
    if (row.rank < 0 && row.role == JobRole::kUnknown && starters.contains(row.process)) {
      row.role = JobRole::kController;
    }
  }
  give_services_away(table);
}

void add_families(RankTable& table) {
  forget_lone_numbers(table);
  if (!table.rows.empty()) {
    add_beside_rows(table);
    return;
  }
  for (const auto& [head, family] : families_of(table)) {
    const std::vector<std::size_t> parts = parts_of(table, head, family);
    if (parts.size() > 1) {
      add_parts(table, parts, job_of_family(table, head));
    }
  }
}

}  // namespace oddrank::ranks
