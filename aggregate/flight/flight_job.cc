#include "aggregate/flight/flight_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "snapshot/rank_text.h"

namespace oddrank::aggregate {
namespace {

using snapshot::FlightGroup;
using snapshot::StringId;

class FlightJobBuilder {
 public:
  explicit FlightJobBuilder(const Tables& texts) { job_.texts = &texts; }

  FlightJob run(const std::vector<FlightRecord>& records);

 private:
  using Key = std::tuple<StringId, StringId, StringId>;  // name, members, backend

  void take_records(const std::vector<FlightRecord>& records);

  std::string text(StringId id) const { return std::string(job_.texts->text(id)); }

  std::size_t group_index(const Key& key, const FlightGroup& group);
  const std::vector<std::int32_t>& ranks_of(StringId members);

  // Returns the group with this name that the rank is in, among the groups whose members other
  // ranks recorded; none if several match.
  StringId known_members(StringId name, std::int32_t rank);

  void name_groups();
  void add_tracks(std::size_t at);

  // Records come by rank: the track is the last one, or a new one.
  static FlightTrack& track_of(FlightMembers& group, const FlightRecord& record);

  // Sorts by number: a ring is written in order, but a damaged file need not be. If several have
  // one number, keeps the last: calls that are coalesced into one, or a group that was made anew.
  static void order_calls(std::vector<const FlightEntry*>& calls);

  void complete(FlightMembers& group);
  void count(FlightMembers& group) const;
  void sort_groups();

  FlightJob job_;
  std::map<Key, std::size_t> by_key_;
  std::set<std::pair<StringId, StringId>> told_;  // name, members
  std::set<StringId> shared_;  // names of groups whose backends count apart in some process
  snapshot::RankLists ranks_of_;
  std::size_t room_ = snapshot::kMaxListedRanks;  // for the lists of all rows
};

FlightJob FlightJobBuilder::run(const std::vector<FlightRecord>& records) {
  take_records(records);
  name_groups();
  for (std::size_t i = 0; i < job_.records.size(); ++i) {
    add_tracks(i);
  }
  for (FlightMembers& group : job_.groups) {
    complete(group);
  }
  sort_groups();
  return std::move(job_);
}

void FlightJobBuilder::take_records(const std::vector<FlightRecord>& records) {
  std::map<std::int32_t, const FlightRecord*> by_rank;
  for (const FlightRecord& record : records) {
    if (record.rank < 0) {
      job_.notes.push_back(fmt::format("{}: there is no rank in its name; it is left out",
                                       printable(text(record.source))));
      continue;
    }
    const FlightRecord*& kept = by_rank[record.rank];
    const bool newer = kept == nullptr || record.written_us > kept->written_us;
    if (kept != nullptr) {
      job_.notes.push_back(fmt::format("{}: an{} dump of rank {}; it is left out",
                                       printable(text((newer ? kept : &record)->source)),
                                       newer ? " older" : "other", record.rank));
    }
    kept = newer ? &record : kept;
  }
  for (const auto& [rank, record] : by_rank) {
    job_.records.push_back(record);
    if (record->cut) {
      job_.notes.push_back(fmt::format("{} ends early: {} entries were read",
                                       printable(text(record->source)), record->entries.size()));
    }
  }
}

std::size_t FlightJobBuilder::group_index(const Key& key, const FlightGroup& group) {
  const auto [at, is_new] = by_key_.try_emplace(key, job_.groups.size());
  if (is_new) {
    FlightMembers& row = job_.groups.emplace_back();
    row.name = text(group.name);
    row.description = text(group.description);
    row.is_default = row.description == snapshot::kDefaultGroup;
    // Groups of different names may have the same members, but each row has its own list.
    if (const auto& ranks = ranks_of(std::get<1>(key)); ranks.size() <= room_) {
      room_ -= ranks.size();
      row.ranks = ranks;
    }
    row.ranks_known = !row.ranks.empty();
    row.ranks_recorded = row.ranks_known;
  }
  return at->second;
}

const std::vector<std::int32_t>& FlightJobBuilder::ranks_of(StringId members) {
  return ranks_of_.of(members, job_.texts->text(members));
}

StringId FlightJobBuilder::known_members(StringId name, std::int32_t rank) {
  StringId found{};
  for (auto at = told_.lower_bound({name, StringId{}}); at != told_.end() && at->first == name;
       ++at) {
    const std::vector<std::int32_t>& ranks = ranks_of(at->second);
    if (std::ranges::binary_search(ranks, rank)) {
      if (found != StringId{}) {
        return StringId{};
      }
      found = at->second;
    }
  }
  return found;
}

void FlightJobBuilder::name_groups() {
  for (const FlightRecord* record : job_.records) {
    std::set<StringId> names;
    for (const FlightGroup& group : record->groups) {
      if (group.members != StringId{}) {
        told_.emplace(group.name, group.members);
      }
      if (!names.insert(group.name).second && group.backend != StringId{}) {
        shared_.insert(group.name);
      }
    }
  }
  for (const FlightRecord* record : job_.records) {
    std::vector<std::size_t>& of_record = job_.group_of.emplace_back();
    for (const FlightGroup& group : record->groups) {
      const StringId members =
          group.members != StringId{} ? group.members : known_members(group.name, record->rank);
      const StringId backend = shared_.contains(group.name) ? group.backend : StringId{};
      of_record.push_back(group_index({group.name, members, backend}, group));
    }
  }
}

void FlightJobBuilder::add_tracks(std::size_t at) {
  const FlightRecord& record = *job_.records[at];
  const std::vector<std::size_t>& of_record = job_.group_of[at];
  std::vector<FlightTrack*> tracks(of_record.size(), nullptr);
  for (const FlightEntry& entry : record.entries) {
    if (entry.is_p2p || entry.group >= of_record.size()) {
      continue;
    }
    FlightTrack*& track = tracks[entry.group];
    if (track == nullptr) {
      track = &track_of(job_.groups[of_record[entry.group]], record);
    }
    track->calls.push_back(&entry);
  }
}

FlightTrack& FlightJobBuilder::track_of(FlightMembers& group, const FlightRecord& record) {
  if (group.tracks.empty() || group.tracks.back().rank != record.rank) {
    FlightTrack& track = group.tracks.emplace_back();
    track.rank = record.rank;
    track.record = &record;
  }
  return group.tracks.back();
}

void FlightJobBuilder::order_calls(std::vector<const FlightEntry*>& calls) {
  std::ranges::stable_sort(calls,
                           [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
  const auto kept = std::unique(calls.rbegin(), calls.rend(), [](const auto* a, const auto* b) {
    return a->sequence == b->sequence;
  });
  calls.erase(calls.begin(), kept.base());
}

void FlightJobBuilder::complete(FlightMembers& group) {
  if (group.is_default && !group.ranks_known) {
    for (const FlightRecord* record : job_.records) {
      group.ranks.push_back(record->rank);
    }
    group.ranks_known = true;
  }
  std::set<std::int32_t> members(group.ranks.begin(), group.ranks.end());
  for (const FlightTrack& track : group.tracks) {
    members.insert(track.rank);
  }
  group.ranks.assign(members.begin(), members.end());
  for (const std::int32_t rank : group.ranks) {
    const FlightRecord* record = job_.record(rank);
    if (record == nullptr) {
      group.no_dump.push_back(rank);
    } else if (group.track(rank) == nullptr) {
      FlightTrack track;
      track.rank = rank;
      track.record = record;
      const auto after =
          std::ranges::find_if(group.tracks, [rank](const auto& one) { return one.rank > rank; });
      group.tracks.insert(after, std::move(track));
    }
  }
  count(group);
}

void FlightJobBuilder::count(FlightMembers& group) const {
  bool any = false;
  for (FlightTrack& track : group.tracks) {
    order_calls(track.calls);
    if (track.calls.empty()) {
      continue;
    }
    group.first =
        any ? std::min(group.first, track.calls.front()->sequence) : track.calls.front()->sequence;
    any = true;
  }
  for (FlightTrack& track : group.tracks) {
    if (!track.calls.empty()) {
      track.enqueued = track.calls.back()->sequence;
    } else if (is_whole(*track.record)) {
      track.enqueued = group.first - 1;
    }
    const auto open = std::ranges::find_if(
        track.calls, [this](const auto* call) { return !has_ended(*call, *job_.texts); });
    track.pending = open == track.calls.end() ? -1 : (*open)->sequence;
    group.enqueued = std::max(group.enqueued, track.enqueued);
  }
}

void FlightJobBuilder::sort_groups() {
  std::vector<std::size_t> order(job_.groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, [this](std::size_t a, std::size_t b) {
    const FlightMembers& left = job_.groups[a];
    const FlightMembers& right = job_.groups[b];
    return left.ranks.size() != right.ranks.size() ? left.ranks.size() > right.ranks.size()
                                                   : left.name < right.name;
  });
  std::vector<std::size_t> position(order.size());
  std::vector<FlightMembers> sorted;
  for (const std::size_t index : order) {
    position[index] = sorted.size();
    sorted.push_back(std::move(job_.groups[index]));
  }
  job_.groups = std::move(sorted);
  for (auto& of_record : job_.group_of) {
    for (std::size_t& index : of_record) {
      index = position[index];
    }
  }
}

}  // namespace

bool FlightTrack::is_before(std::int64_t sequence) const {
  return enqueued >= 0 && enqueued < sequence && !record->cut;
}

const FlightEntry* FlightTrack::at(std::int64_t sequence) const {
  const auto found = std::ranges::lower_bound(calls, sequence, {}, &FlightEntry::sequence);
  return found == calls.end() || (*found)->sequence != sequence ? nullptr : *found;
}

const FlightTrack* FlightMembers::track(std::int32_t rank) const {
  const auto found = std::ranges::lower_bound(tracks, rank, {}, &FlightTrack::rank);
  return found == tracks.end() || found->rank != rank ? nullptr : &*found;
}

std::string FlightMembers::words() const {
  if (is_default) {
    return "default group";
  }
  constexpr std::size_t kWidth = 40;
  const bool described = !description.empty() && description != "undefined";
  return fmt::format("group {}{} {{{}{}}}", described ? printable(description, 40) + " " : "",
                     described ? "(" + printable(name, 40) + ")" : printable(name, 40),
                     format_ranks_within(ranks, kWidth), ranks_known ? "" : ", perhaps more");
}

std::size_t FlightJob::index_of(std::int32_t rank) const {
  const auto found = std::ranges::lower_bound(records, rank, {}, &FlightRecord::rank);
  const bool known = found != records.end() && (*found)->rank == rank;
  return static_cast<std::size_t>((known ? found : records.end()) - records.begin());
}

const FlightRecord* FlightJob::record(std::int32_t rank) const {
  const std::size_t at = index_of(rank);
  return at == records.size() ? nullptr : records[at];
}

bool FlightJob::has_calls() const {
  return std::ranges::any_of(records, [](const auto* record) { return !record->entries.empty(); });
}

std::size_t FlightJob::group_at(std::size_t record, const FlightEntry& entry) const {
  const std::vector<std::size_t>& of_record = group_of[record];
  return entry.group < of_record.size() ? of_record[entry.group] : kNoGroup;
}

std::int32_t FlightJob::peer_in(std::size_t group, const FlightEntry& entry) const {
  if (!entry.is_p2p || entry.peer < 0 || group == kNoGroup || !groups[group].ranks_known) {
    return kNoPeer;
  }
  const auto peer = static_cast<std::size_t>(entry.peer);
  return peer < groups[group].ranks.size() ? groups[group].ranks[peer] : kNoPeer;
}

bool is_whole(const FlightRecord& record) {
  return record.has_entries && !record.cut && !record.shortened &&
         (record.entries.empty() || record.entries.front().record == 0);
}

FlightJob make_flight_job(const std::vector<FlightRecord>& records, const Tables& texts) {
  return FlightJobBuilder(texts).run(records);
}

}  // namespace oddrank::aggregate
