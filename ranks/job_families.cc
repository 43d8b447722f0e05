#include "ranks/job_families.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
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
    const std::string title = label_of(facts.arguments, facts.executable, facts.stat.name);
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

// Makes services that the user has not given parts of the process that has started them, or else of
// the first one that is no service: they are read, but judged only if a wait leads to them.
void give_services_away(RankTable& table) {
  const auto is_own = [&table](const RankRow& row) {
    return row.is_rank && (row.role != JobRole::kService || !table.options.pids.empty());
  };
  const auto first = std::find_if(table.rows.begin(), table.rows.end(), is_own);
  if (first == table.rows.end()) {
    return;
  }
  const pid_t any = table.stat(first->process).pid;
  for (RankRow& row : table.rows) {
    if (row.is_rank && !is_own(row)) {
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

// Families that are parts of one Ray cluster. The daemon that starts a node's actors is a child of
// the driver only if the driver has started it; not if it was started for a second node, or by `ray
// start`.
class RayClusters {
 public:
  explicit RayClusters(const RankTable& table);

  // Returns the head that stands for all families of this family's cluster; `head` itself if the
  // family belongs to no cluster.
  std::size_t leader_of(std::size_t head) const;

 private:
  // Returns the name of the cluster's session, which has the time of its start; "" if it belongs to
  // none.
  std::string_view session_of(std::size_t head) const;
  bool leads_better(std::size_t head, std::size_t other) const;

  const RankTable& table_;
  std::map<std::size_t, std::string_view> started_;  // head of a driver -> session that is below it
  std::map<std::string_view, std::string_view> by_address_;  // session, by its address; "": several
  std::map<std::string_view, std::size_t> leaders_;          // by session
};

// Returns the value of an argument "--name=value"; "" if there is none.
std::string_view argument(const ProcessFacts& facts, std::string_view name) {
  const auto at = std::ranges::find_if(
      facts.arguments, [name](const std::string& word) { return word.starts_with(name); });
  return at == facts.arguments.end() ? std::string_view()
                                     : std::string_view(*at).substr(name.size());
}

std::string_view session_in(const ProcessFacts& facts) {
  return argument(facts, "--session-name=");
}

// Returns whether it is a daemon of Ray that no process of the job has started.
bool is_lone_daemon(const RankTable& table, std::size_t i) {
  return !session_in(table.facts[i]).empty() && head_of(table, i) == i && !table.is_excluded(i) &&
         matches(table.facts[i], table.options);
}

RayClusters::RayClusters(const RankTable& table) : table_(table) {
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const std::string_view session = session_in(table.facts[i]);
    const std::string_view address = argument(table.facts[i], "--gcs-address=");
    if (session.empty()) {
      continue;
    }
    if (const std::size_t head = head_of(table, i); head != i) {
      started_.try_emplace(head, session);
    }
    if (!address.empty()) {
      const auto [at, is_new] = by_address_.try_emplace(address, session);
      at->second = is_new || at->second == session ? session : std::string_view();
    }
  }
  if (started_.empty() && by_address_.empty()) {
    return;
  }
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    if (table.row_of[i] == kNoProcess && !may_take_part(table, i)) {
      continue;
    }
    const std::size_t head = head_of(table, i);
    const std::string_view session = session_of(head);
    if (!session.empty()) {
      const auto [at, is_new] = leaders_.try_emplace(session, head);
      at->second = !is_new && leads_better(head, at->second) ? head : at->second;
    }
  }
}

std::string_view RayClusters::session_of(std::size_t head) const {
  if (const auto at = started_.find(head); at != started_.end()) {
    return at->second;
  }
  std::string_view session = session_in(table_.facts[head]);
  session = session.empty() ? table_.facts[head].ray_session : session;
  table_.tree.ancestor(head, [&](std::size_t above) {
    session = session.empty() ? session_in(table_.facts[above]) : session;
    return !session.empty();
  });
  if (!session.empty()) {
    return session;
  }
  const auto by = by_address_.find(table_.facts[head].environment.get("RAY_ADDRESS"));
  return by == by_address_.end() ? std::string_view() : by->second;
}

// A driver goes before actors, and these before services.
bool RayClusters::leads_better(std::size_t head, std::size_t other) const {
  const auto worth = [this](std::size_t at) {
    return !has_own_part(table_, at) ? 0 : is_titled(table_, at) ? 1 : 2;
  };
  return worth(head) > worth(other);
}

std::size_t RayClusters::leader_of(std::size_t head) const {
  const auto at = leaders_.find(session_of(head));
  return at == leaders_.end() || at->first.empty() ? head : at->second;
}

// Returns, by the heads of the families, all processes that may take part and have no row.
std::map<std::size_t, std::vector<std::size_t>> families_of(const RankTable& table,
                                                            const RayClusters& clusters) {
  std::map<std::size_t, std::vector<std::size_t>> families;
  for (std::size_t i = 0; i < table.tree.size(); ++i) {
    const bool counts = may_take_part(table, i) || is_lone_daemon(table, i);
    if (counts && table.row_of[i] == kNoProcess) {
      families[clusters.leader_of(head_of(table, i))].push_back(i);
    }
  }
  return families;
}

// Returns the key of a job without ranks.
std::string job_of_family(const RankTable& table, std::size_t head) {
  return "family " + std::to_string(table.stat(head).pid);
}

// Returns the processes of the family with their own part in the job: the head always has one.
std::vector<std::size_t> parts_of(const RankTable& table,
                                  std::size_t head,
                                  const std::vector<std::size_t>& family) {
  std::vector<std::size_t> parts;
  std::copy_if(family.begin(), family.end(), std::back_inserter(parts),
               [&](std::size_t i) { return i == head || has_own_part(table, i); });
  return parts;
}

// Adds the parts, and the daemons of their family, which become services (add_roles).
void add_parts(RankTable& table,
               std::vector<std::size_t> parts,
               const std::vector<std::size_t>& family,
               const std::string& job) {
  std::ranges::copy_if(family, std::back_inserter(parts), [&](std::size_t i) {
    return is_lone_daemon(table, i) && std::ranges::find(parts, i) == parts.end();
  });
  for (const std::size_t i : parts) {
    table.add_row(i, true, table.stat(i).pid).job = job;
  }
}

// Adds the parts of jobs that have rows: of the family of each.
void add_beside_rows(RankTable& table) {
  const RayClusters clusters(table);
  const auto families = families_of(table, clusters);
  const std::vector<RankRow> rows = table.rows;
  std::set<std::size_t> done;
  for (const bool numbered : {true, false}) {
    for (const RankRow& row : rows) {
      const std::size_t head = clusters.leader_of(head_of(table, row.process));
      const auto family = families.find(head);
      if ((row.rank >= 0) != numbered || family == families.end() || !done.insert(head).second) {
        continue;
      }
      const auto titled = [&table](std::size_t i) { return is_titled(table, i); };
      if (titled(row.process) || std::ranges::any_of(family->second, titled)) {
        add_parts(table, parts_of(table, head, family->second), family->second, row.job);
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
           !label_of(facts.arguments, facts.executable, facts.stat.name).empty()));
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

void join_engines(RankTable& table) {
  std::vector<RankRow*> titled;
  for (RankRow& row : table.rows) {
    if (row.is_rank && row.rank >= 0 && row.replica.empty() && is_titled(table, row.process)) {
      titled.push_back(&row);
    }
  }
  if (titled.size() < 2) {
    return;  // as on most nodes
  }
  const RayClusters clusters(table);
  std::map<std::size_t, std::vector<RankRow*>> families;  // by their heads
  for (RankRow* row : titled) {
    families[clusters.leader_of(head_of(table, row->process))].push_back(row);
  }
  for (const auto& [head, rows] : families) {
    const std::string first = rows.front()->job;
    const bool one_job =
        std::ranges::all_of(rows, [&first](const RankRow* row) { return row->job == first; });
    if (one_job) {
      continue;
    }
    for (RankRow* row : rows) {
      row->replica = std::exchange(row->job, job_of_family(table, head));
    }
  }
}

void add_families(RankTable& table) {
  if (!table.rows.empty()) {
    add_beside_rows(table);
    return;
  }
  for (const auto& [head, family] : families_of(table, RayClusters(table))) {
    const std::vector<std::size_t> parts = parts_of(table, head, family);
    if (parts.size() > 1) {
      add_parts(table, parts, family, job_of_family(table, head));
    }
  }
}

}  // namespace oddrank::ranks
