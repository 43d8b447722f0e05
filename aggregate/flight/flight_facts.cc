#include "aggregate/flight/flight_facts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "base/printable.h"
#include "snapshot/flight_record.h"

namespace oddrank::aggregate {

namespace {

bool written_together(const FlightFacts& facts) {
  constexpr std::uint64_t kApartUs = 120'000'000;
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
  for (const FlightRecord* record : facts.job.records) {
    first = std::min(first, record->written_us);
    last = std::max(last, record->written_us);
  }
  const bool of_cores = last == 0 && is_from_memory(facts);
  return of_cores || (first != 0 && last - std::min(first, last) <= kApartUs);
}

}  // namespace

std::optional<FlightFacts> flight_facts(const snapshot::Capture& capture) {
  if (capture.collectives.flight.empty()) {
    return std::nullopt;
  }
  FlightFacts facts;
  facts.job = make_flight_job(capture.collectives.flight, capture.tables);
  facts.waits = find_flight_waits(facts.job);
  facts.mismatches = find_mismatches(facts.job);
  return facts;
}

std::vector<std::int32_t> ranks_without_dump(const FlightFacts& facts) {
  std::set<std::int32_t> missing;
  for (const FlightMembers& group : facts.job.groups) {
    missing.insert(group.no_dump.begin(), group.no_dump.end());
  }
  return {missing.begin(), missing.end()};
}

bool is_current(const JobView& view) {
  if (view.flight() == nullptr || view.only_recorded()) {
    return view.only_recorded();
  }
  const FlightFacts& facts = *view.flight();
  if (!written_together(facts)) {
    return false;
  }
  const bool of_cores = view.capture().job.source == snapshot::JobSource::kCore;
  return std::ranges::any_of(facts.job.records, [&](const FlightRecord* record) {
    const std::size_t at = view.index_of(record->rank);
    // A core file has one sample; its calls are of the same moment.
    const bool still =
        at != JobView::kNone && view.rank(at).process != nullptr &&
        (view.rank(at).motion.still() || (of_cores && !view.rank(at).motion.measured));
    return still && std::ranges::any_of(record->entries, [&](const FlightEntry& entry) {
             return !has_ended(entry, *facts.job.texts) &&
                    snapshot::stood_still(entry, *record, view.rank(at).process->read_us);
           });
  });
}

bool is_from_memory(const FlightFacts& facts) {
  const auto& records = facts.job.records;
  return !records.empty() &&
         std::ranges::all_of(records, [](const auto* record) { return record->from_memory; });
}

namespace {

// Transfers in one direction between two ranks of a group.
struct Transfers {
  std::vector<const FlightEntry*> sends;
  std::vector<const FlightEntry*> receives;
};

class Finder {
 public:
  explicit Finder(const FlightJob& job) : job_(job) {}

  std::vector<FlightWait> run();

 private:
  void add_collectives(std::size_t index);

  // Matches the n-th send with the n-th receive between two ranks, counted from the beginning. Only
  // whole rings have the beginning.
  void add_transfers();

  void add_one_side(std::size_t index,
                    std::int32_t rank,
                    std::int32_t peer,
                    const std::vector<const FlightEntry*>& mine,
                    std::size_t theirs);

  const FlightJob& job_;
  std::vector<FlightWait> waits_;
};

std::vector<FlightWait> Finder::run() {
  for (std::size_t index = 0; index < job_.groups.size(); ++index) {
    add_collectives(index);
  }
  add_transfers();
  std::ranges::stable_sort(waits_, [](const FlightWait& a, const FlightWait& b) {
    return a.waiters.size() > b.waiters.size();
  });
  return std::move(waits_);
}

void Finder::add_collectives(std::size_t index) {
  const FlightMembers& group = job_.groups[index];
  std::map<std::int64_t, FlightWait> by_sequence;
  for (const FlightTrack& track : group.tracks) {
    if (track.pending >= 0) {
      by_sequence[track.pending].waiters.push_back(track.rank);
    }
  }
  for (auto& [sequence, wait] : by_sequence) {
    wait.group = index;
    wait.sequence = sequence;
    wait.unknown = group.no_dump;
    const FlightEntry* call = group.track(wait.waiters.front())->at(sequence);
    wait.op = printable(job_.texts->text(call->op), 60);
    wait.on = fmt::format("{} #{} in {}", wait.op, sequence, group.words());
    std::int64_t last = -1;
    for (const FlightTrack& track : group.tracks) {
      if (track.is_before(sequence)) {
        wait.absent.push_back(track.rank);
        last = std::max(last, track.enqueued);
      } else if (track.enqueued < sequence) {
        wait.unknown.push_back(track.rank);
      }
    }
    if (!wait.absent.empty()) {
      wait.evidence = last < group.first
                          ? "they have called nothing in this group"
                          : fmt::format("the last that they called in this group is #{}", last);
    } else if (wait.unknown.empty()) {
      wait.evidence = group.ranks_recorded ? "every member has called it"
                                           : "every rank that is known to be in it has called it";
    }
    waits_.push_back(std::move(wait));
  }
}

void Finder::add_transfers() {
  std::map<std::tuple<std::size_t, std::int32_t, std::int32_t>, Transfers> all;
  for (std::size_t at = 0; at < job_.records.size(); ++at) {
    const FlightRecord& record = *job_.records[at];
    for (const FlightEntry& entry : record.entries) {
      const std::size_t index = job_.group_at(at, entry);
      const std::int32_t peer = job_.peer_in(index, entry);
      if (peer == FlightJob::kNoPeer) {
        continue;
      }
      if (job_.texts->text(entry.op) == "send") {
        all[{index, record.rank, peer}].sends.push_back(&entry);
      } else {
        all[{index, peer, record.rank}].receives.push_back(&entry);
      }
    }
  }
  for (const auto& [key, transfers] : all) {
    const auto& [index, from, to] = key;
    add_one_side(index, from, to, transfers.sends, transfers.receives.size());
    add_one_side(index, to, from, transfers.receives, transfers.sends.size());
  }
}

void Finder::add_one_side(std::size_t index,
                          std::int32_t rank,
                          std::int32_t peer,
                          const std::vector<const FlightEntry*>& mine,
                          std::size_t theirs) {
  const auto open = std::ranges::find_if(
      mine, [this](const FlightEntry* entry) { return !has_ended(*entry, *job_.texts); });
  if (open == mine.end()) {
    return;
  }
  FlightWait wait;
  wait.group = index;
  wait.waiters = {rank};
  const bool sends = job_.texts->text((*open)->op) == "send";
  wait.kind = sends ? snapshot::CallKind::kSend : snapshot::CallKind::kRecv;
  wait.op = sends ? "send" : "recv";
  wait.on = fmt::format("{} rank {} in {}", sends ? "send to" : "recv from", peer,
                        job_.groups[index].words());
  const auto number = static_cast<std::size_t>(open - mine.begin());
  const FlightRecord* record = job_.record(rank);
  const FlightRecord* other = job_.record(peer);
  if (other == nullptr || !is_whole(*other) || !is_whole(*record)) {
    wait.unknown = {peer};
  } else if (theirs <= number) {
    wait.absent = {peer};
    wait.evidence = fmt::format("it is number {} between the two, rank {} has called {}",
                                number + 1, peer, theirs);
  } else {
    wait.evidence = "both sides have called it";
  }
  waits_.push_back(std::move(wait));
}

}  // namespace

std::vector<FlightWait> find_flight_waits(const FlightJob& job) {
  return Finder(job).run();
}

}  // namespace oddrank::aggregate
