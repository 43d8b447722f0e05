#include "aggregate/flight_job.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "aggregate/printable.h"
#include "aggregate/rank_set.h"

namespace oddrank::aggregate {
namespace {

using snapshot::FlightGroup;

constexpr std::string_view kDefaultDescription = "default_pg";

class Builder {
 public:
  explicit Builder(const FlightTexts& texts) { job_.texts = &texts; }

  FlightJob run(const std::vector<FlightRecord>& records) {
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

 private:
  using Key = std::pair<std::string, std::vector<std::int32_t>>;

  void take_records(const std::vector<FlightRecord>& records) {
    std::map<std::int32_t, const FlightRecord*> by_rank;
    for (const FlightRecord& record : records) {
      if (record.rank < 0) {
        job_.notes.push_back(fmt::format("{}: there is no rank in its name; it is left out",
                                         printable(record.source)));
      } else if (!by_rank.emplace(record.rank, &record).second) {
        job_.notes.push_back(fmt::format("{}: a second dump of rank {}; it is left out",
                                         printable(record.source), record.rank));
      }
    }
    for (const auto& [rank, record] : by_rank) {
      job_.records.push_back(record);
      if (record->cut) {
        job_.notes.push_back(fmt::format("{} ends early: {} entries were read",
                                         printable(record->source), record->entries.size()));
      }
    }
  }

  std::string text(snapshot::TextId id) const { return std::string(job_.texts->text(id)); }

  std::size_t group_index(const Key& key, const FlightGroup& group) {
    const auto [at, is_new] = by_key_.try_emplace(key, job_.groups.size());
    if (is_new) {
      FlightMembers& row = job_.groups.emplace_back();
      row.name = text(group.name);
      row.description = text(group.description);
      row.is_default = row.description == kDefaultDescription;
      row.ranks = key.second;
      row.ranks_known = !key.second.empty();
      row.ranks_told = row.ranks_known;
    }
    return at->second;
  }

  // Of the groups that others have told the members of, the one with this name that the rank is in;
  // with several it cannot be told which.
  const std::vector<std::int32_t>* known_members(const std::string& name, std::int32_t rank) const {
    const auto [first, last] = members_.equal_range(name);
    const std::vector<std::int32_t>* found = nullptr;
    for (auto at = first; at != last; ++at) {
      if (std::binary_search(at->second.begin(), at->second.end(), rank)) {
        if (found != nullptr) {
          return nullptr;
        }
        found = &at->second;
      }
    }
    return found;
  }

  void name_groups() {
    std::set<Key> told;
    for (const FlightRecord* record : job_.records) {
      for (const FlightGroup& group : record->groups) {
        Key key{text(group.name), group.ranks};
        if (!group.ranks.empty() && told.insert(key).second) {
          members_.insert(std::move(key));
        }
      }
    }
    for (const FlightRecord* record : job_.records) {
      std::vector<std::size_t>& of_record = job_.group_of.emplace_back();
      for (const FlightGroup& group : record->groups) {
        const auto* members =
            group.ranks.empty() ? known_members(text(group.name), record->rank) : &group.ranks;
        const std::size_t index = group_index(
            {text(group.name), members == nullptr ? std::vector<std::int32_t>() : *members}, group);
        of_record.push_back(index);
      }
    }
  }

  void add_tracks(std::size_t at) {
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
      if (!track->calls.empty() && track->calls.back()->sequence == entry.sequence) {
        track->calls.back() = &entry;
      } else {
        track->calls.push_back(&entry);
      }
    }
  }

  // Records come by rank: a track is the last one, or new.
  static FlightTrack& track_of(FlightMembers& group, const FlightRecord& record) {
    if (group.tracks.empty() || group.tracks.back().rank != record.rank) {
      FlightTrack& track = group.tracks.emplace_back();
      track.rank = record.rank;
      track.record = &record;
    }
    return group.tracks.back();
  }

  void complete(FlightMembers& group) {
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
        const auto after = std::find_if(group.tracks.begin(), group.tracks.end(),
                                        [rank](const auto& one) { return one.rank > rank; });
        group.tracks.insert(after, std::move(track));
      }
    }
    count(group);
  }

  void count(FlightMembers& group) const {
    bool any = false;
    for (FlightTrack& track : group.tracks) {
      // A ring is written in order; a damaged file need not be.
      std::stable_sort(track.calls.begin(), track.calls.end(),
                       [](const auto* a, const auto* b) { return a->sequence < b->sequence; });
      if (track.calls.empty()) {
        continue;
      }
      group.first = any ? std::min(group.first, track.calls.front()->sequence)
                        : track.calls.front()->sequence;
      any = true;
    }
    for (FlightTrack& track : group.tracks) {
      if (!track.calls.empty()) {
        track.enqueued = track.calls.back()->sequence;
      } else if (is_whole(*track.record)) {
        track.enqueued = group.first - 1;
      }
      const auto open =
          std::find_if(track.calls.begin(), track.calls.end(),
                       [this](const auto* call) { return !has_ended(*call, *job_.texts); });
      track.pending = open == track.calls.end() ? -1 : (*open)->sequence;
      group.enqueued = std::max(group.enqueued, track.enqueued);
    }
  }

  void sort_groups() {
    std::vector<std::size_t> order(job_.groups.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
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

  FlightJob job_;
  std::map<Key, std::size_t> by_key_;
  std::multimap<std::string, std::vector<std::int32_t>> members_;
};

}  // namespace

const FlightEntry* FlightTrack::at(std::int64_t sequence) const {
  const auto found = std::lower_bound(
      calls.begin(), calls.end(), sequence,
      [](const auto* call, std::int64_t wanted) { return call->sequence < wanted; });
  return found == calls.end() || (*found)->sequence != sequence ? nullptr : *found;
}

const FlightTrack* FlightMembers::track(std::int32_t rank) const {
  const auto found = std::lower_bound(
      tracks.begin(), tracks.end(), rank,
      [](const FlightTrack& one, std::int32_t wanted) { return one.rank < wanted; });
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

const FlightRecord* FlightJob::record(std::int32_t rank) const {
  const auto found = std::lower_bound(
      records.begin(), records.end(), rank,
      [](const FlightRecord* one, std::int32_t wanted) { return one->rank < wanted; });
  return found == records.end() || (*found)->rank != rank ? nullptr : *found;
}

bool has_ended(const FlightEntry& entry, const FlightTexts& texts) {
  const std::string_view backend = texts.text(entry.backend);
  const bool has_no_events = backend == "gloo" || backend == "c10d" || backend == "mpi";
  return entry.state == snapshot::FlightState::kCompleted || (has_no_events && entry.retired);
}

bool is_whole(const FlightRecord& record) {
  return record.has_entries && !record.cut &&
         (record.entries.empty() || record.entries.front().record == 0);
}

FlightJob make_flight_job(const std::vector<FlightRecord>& records, const FlightTexts& texts) {
  return Builder(texts).run(records);
}

}  // namespace oddrank::aggregate
