#include "snapshot/jobs/join_jobs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "snapshot/carrier.h"
#include "snapshot/flight_record.h"
#include "snapshot/jobs/linked_jobs.h"
#include "snapshot/rank_text.h"

namespace oddrank::snapshot {
namespace {

constexpr std::int32_t kMaxMet = 4096;  // members of a group that was made by hand

constexpr auto kMaxJobRanks = static_cast<std::int32_t>(kMaxRanks);

bool has_number(const ProcessCapture& process) {
  return process.rank >= 0 && process.rank < kMaxJobRanks && process.job_key != StringId{};
}

struct JobNumbers {
  std::string key;
  std::int32_t size = 0;
  std::int32_t first = 0;
};

// Returns the jobs of the numbered processes, the largest first; none if no number occurs in two.
std::vector<JobNumbers> jobs_to_number(const Capture& capture) {
  std::map<StringId, std::set<std::int32_t>> ranks;
  std::map<StringId, std::int32_t> sizes;
  const auto first = std::ranges::find_if(capture.processes, has_number);
  if (std::all_of(first, capture.processes.end(), [&first](const ProcessCapture& process) {
        return process.job_key == first->job_key || !has_number(process);
      })) {
    return {};  // as nearly always
  }
  for (const ProcessCapture& process : capture.processes) {
    if (has_number(process)) {
      ranks[process.job_key].insert(process.rank);
      std::int32_t& size = sizes[process.job_key];
      size = std::max({size, process.world_size, process.rank + 1});
    }
  }
  std::set<std::int32_t> all;
  std::size_t sum = 0;
  std::vector<JobNumbers> jobs;
  for (const auto& [key, numbers] : ranks) {
    all.insert(numbers.begin(), numbers.end());
    sum += numbers.size();
    jobs.push_back({std::string(capture.tables.text(key)), sizes[key]});
  }
  if (all.size() == sum) {
    return {};
  }
  std::ranges::sort(jobs, [](const JobNumbers& a, const JobNumbers& b) {
    return std::tuple(-a.size, a.key) < std::tuple(-b.size, b.key);
  });
  std::int64_t next = 0;
  for (JobNumbers& job : jobs) {
    job.first = static_cast<std::int32_t>(next);
    next += job.size;
  }
  return next <= std::int64_t{kMaxRanks} ? jobs : std::vector<JobNumbers>();
}

// Drops what names ranks in texts that do not say which job the numbers belong to.
void drop_words_on_ranks(Capture& capture) {
  std::erase_if(capture.collectives.log,
                [](const LogLine& line) { return line.rank >= 0 || !line.behind.empty(); });
  std::erase_if(capture.collectives.flight,
                [](const FlightRecord& record) { return record.pid == 0; });
  for (NodeCapture& node : capture.nodes) {
    node.expected_ranks.clear();
  }
}

class JobJoiner {
 public:
  // Keeps a reference to the capture, and to its records.
  explicit JobJoiner(Capture& capture);
  void number(const std::vector<JobNumbers>& jobs);
  void place_members();

 private:
  // Where members of a group met, without the host, for which each may have another name, and their
  // number.
  using Meeting = std::pair<std::string, std::int32_t>;

  void number(ProcessCapture& process, const JobNumbers& job);
  void take_group(const ProcessGroup& row, const ProcessGroup& before, ProcessCapture& process);
  StringId shifted(StringId members, std::int32_t by);
  StringId all_of(const JobNumbers& job) { return tables_.string(range_text(job.first, job.size)); }
  FlightRecord* record_of(const ProcessCapture& process) const;
  std::optional<Meeting> meeting_of(const ProcessGroup& row) const;

  Capture& capture_;
  Tables& tables_;
  std::map<StringId, std::set<StringId>> labels_of_;  // scripts, and the jobs that run them
  std::map<std::pair<std::uint32_t, pid_t>, FlightRecord*> records_;
  std::map<std::pair<StringId, std::int32_t>, StringId> shifted_;
};

JobJoiner::JobJoiner(Capture& capture) : capture_(capture), tables_(capture.tables) {
  for (FlightRecord& record : capture_.collectives.flight) {
    records_.emplace(std::pair(record.node, record.pid), &record);
  }
}

// Thousands of ranks have the same list.
StringId JobJoiner::shifted(StringId members, std::int32_t by) {
  const auto [at, is_new] = shifted_.try_emplace({members, by});
  std::vector<std::int32_t> ranks =
      is_new ? ranks_of(tables_.text(members)) : std::vector<std::int32_t>();
  const bool known = std::ranges::all_of(ranks, [](auto rank) { return rank < kMaxJobRanks; });
  if (is_new && known) {
    std::ranges::for_each(ranks, [by](std::int32_t& rank) { rank += by; });
    at->second = tables_.string(rank_text(ranks));
  }
  return at->second;
}

FlightRecord* JobJoiner::record_of(const ProcessCapture& process) const {
  const auto at = records_.find({process.node, process.pid});
  return at == records_.end() ? nullptr : at->second;
}

// Moves a process's calls in a group to the group's new row.
void JobJoiner::take_group(const ProcessGroup& row,
                           const ProcessGroup& before,
                           ProcessCapture& process) {
  const auto old = ranks_of(tables_.text(before.members));
  const auto now = ranks_of(tables_.text(row.members));
  const auto take_rank = [&](std::int32_t& rank) {
    const auto at = std::ranges::find(old, rank);
    if (rank >= 0 && !old.empty()) {
      const auto place = static_cast<std::size_t>(at - old.begin());
      rank = place < now.size() ? now[place] : -1;
    }
  };
  for (ThreadCapture& thread : process.threads) {
    if (thread.call && is_group_of(before, *thread.call)) {
      CollectiveCall& call = *thread.call;
      call.whole_world = row.is_default;
      call.group = row.name;
      call.label = row.label;
      call.members = row.members;
      if (before.met_at != StringId{}) {
        take_rank(call.root);
        take_rank(call.peer);
      }
    }
  }
  FlightRecord* record = record_of(process);
  for (std::size_t i = 0; record != nullptr && i < record->groups.size(); ++i) {
    FlightGroup& group = record->groups[i];
    const bool is_it = before.is_default ? tables_.text(group.description) == kDefaultGroup
                                         : group.name == before.name;
    if (is_it) {
      group.name = row.name;
      group.description = before.is_default ? StringId{} : group.description;
      group.members = std::ranges::is_sorted(now) ? row.members : StringId{};
    }
  }
}

void JobJoiner::number(ProcessCapture& process, const JobNumbers& job) {
  if (job.first > 0) {
    const bool tells = labels_of_[process.label].size() == 1 && process.label != StringId{};
    const std::string of(tells ? tables_.text(process.label) : job.key);
    process.label = tables_.string("rank " + std::to_string(process.rank) + " of " + of);
  }
  process.first_rank = job.first;
  process.rank += job.first;
  const auto shift = [&job](std::int32_t& rank) {
    rank = rank < 0 || rank >= kMaxJobRanks ? -1 : rank + job.first;
  };
  for (ThreadCapture& thread : process.threads) {
    if (CollectiveCall* call = thread.call ? &*thread.call : nullptr) {
      const ProcessGroup* row = find_group_of(process.groups, *call);
      if (row != nullptr && row->met_at != StringId{}) {
        continue;  // numbers of its own
      }
      shift(call->root);
      shift(call->peer);
      shift(call->wants_window);
      call->peers = shifted(call->peers, job.first);
      call->has_windows = shifted(call->has_windows, job.first);
      if (row == nullptr) {
        call->members = call->whole_world ? all_of(job) : shifted(call->members, job.first);
        call->whole_world = false;
      }
    }
  }
  if (FlightRecord* record = record_of(process)) {
    record->rank = process.rank;
  }
  for (ProcessGroup& row : process.groups) {
    if (row.met_at != StringId{}) {
      continue;
    }
    const ProcessGroup before = row;
    row.members = row.is_default ? all_of(job) : shifted(row.members, job.first);
    const std::string name(row.is_default ? "default" : tables_.text(row.name));
    row.name = tables_.string(job.first == 0 ? name : name + " of " + job.key);
    row.is_default = false;
    take_group(row, before, process);
  }
}

void JobJoiner::number(const std::vector<JobNumbers>& jobs) {
  const std::int32_t total = jobs.back().first + jobs.back().size;
  for (const ProcessCapture& process : capture_.processes) {
    labels_of_[process.label].insert(process.job_key);
  }
  for (ProcessCapture& process : capture_.processes) {
    const auto job = std::ranges::find(jobs, tables_.text(process.job_key), &JobNumbers::key);
    if (has_number(process) && job != jobs.end()) {
      number(process, *job);
      process.world_size = total;
    }
  }
  capture_.job.world_size = total;
  const auto words_of = [](std::int32_t first, std::int32_t size) {
    return (size == 1 ? "rank " : "ranks ") + range_text(first, size);
  };
  std::string words = std::to_string(jobs.size()) + " jobs: ";
  for (const JobNumbers& job : jobs) {
    words += (job.first == 0 ? "" : ", ") + words_of(job.first, job.size) +
             (job.size == 1 ? " is " : " are ") +
             (job.first == 0 ? std::string("of ") : words_of(0, job.size) + " of ") + job.key;
  }
  capture_.job.notes.push_back(words);
}

void JobJoiner::place_members() {
  std::map<Meeting, std::vector<std::int32_t>> met;
  for (const ProcessCapture& process : capture_.processes) {
    for (const ProcessGroup& row : process.groups) {
      if (const auto meeting = meeting_of(row); meeting && row.rank >= 0 && row.rank < row.size) {
        auto& members = met[*meeting];
        members.resize(static_cast<std::size_t>(row.size), -1);
        std::int32_t& place = members[static_cast<std::size_t>(row.rank)];
        // Two that say the same number are not known to be one group.
        place = place == -1 && has_number(process) ? process.rank : -2;
      }
    }
  }
  const auto is_known = [](std::int32_t rank) { return rank >= 0; };
  for (ProcessCapture& process : capture_.processes) {
    for (ProcessGroup& row : process.groups) {
      if (row.met_at == StringId{}) {
        continue;
      }
      const auto meeting = meeting_of(row);
      const auto members = meeting ? met[*meeting] : std::vector<std::int32_t>();
      const ProcessGroup before = row;
      row.members =
          tables_.string(std::ranges::all_of(members, is_known) ? rank_text(members) : "");
      take_group(row, before, process);
      row.met_at = StringId{};
    }
  }
}

// Returns nothing if the program did not make the group by hand, or if it is not known where its
// members met.
std::optional<JobJoiner::Meeting> JobJoiner::meeting_of(const ProcessGroup& row) const {
  const std::string_view place = met_without_host(tables_.text(row.met_at));
  return place.empty() || row.size <= 0 || row.size > kMaxMet
             ? std::nullopt
             : std::optional(Meeting(place, row.size));
}

}  // namespace

OneNumbering::OneNumbering(const Capture& capture) : capture_(capture) {
  const auto jobs = jobs_to_number(capture);
  const bool met = std::ranges::any_of(capture.processes, [](const ProcessCapture& process) {
    return std::ranges::any_of(process.groups,
                               [](const ProcessGroup& row) { return row.met_at != StringId{}; });
  });
  if (!met && jobs.empty()) {
    return;
  }
  Capture& whole = joined_.emplace();
  Carrier carrier(capture.tables, whole.tables);
  static_cast<CaptureRows&>(whole) = carrier.row(static_cast<const CaptureRows&>(capture));
  if (!jobs.empty()) {
    drop_words_on_ranks(whole);
  }
  JobJoiner joiner(whole);
  if (!jobs.empty()) {
    joiner.number(jobs);
  }
  joiner.place_members();
}

}  // namespace oddrank::snapshot
