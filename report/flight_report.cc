#include "report/flight_report.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "base/version.h"
#include "report/json_values.h"
#include "report/report_json.h"
#include "report/verdict_json.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kMaxFlightGroups = 24;  // in a text
constexpr std::size_t kMaxWaits = 16;
constexpr std::size_t kWidth = 60;

std::size_t entries_of(const aggregate::FlightFacts& facts) {
  std::size_t entries = 0;
  for (const snapshot::FlightRecord* record : facts.job.records) {
    entries += record->entries.size();
  }
  return entries;
}

std::string versions_of(const aggregate::FlightFacts& facts) {
  std::set<std::string> versions;
  for (const snapshot::FlightRecord* record : facts.job.records) {
    versions.insert(record->version == snapshot::StringId{}
                        ? "unknown"
                        : printable(facts.job.texts->text(record->version)));
  }
  std::string text;
  for (const std::string& version : versions) {
    text += (text.empty() ? "" : ", ") + version;
  }
  return text;
}

// Lists the first few, each in words made from its number and its ranks.
template <typename Ranks, typename Words>
std::string list_words(const Ranks& by_number, Words words) {
  constexpr std::size_t kMaxShown = 4;
  std::string text;
  std::size_t shown = 0;
  for (const auto& [number, ranks] : by_number) {
    if (++shown > kMaxShown) {
      return fmt::format("{}, and {} more", text, by_number.size() - kMaxShown);
    }
    text += (text.empty() ? "" : ", ") + words(number, ranks);
  }
  return text;
}

// Returns "called #12 on 4,6-7, #11 on 5"; the highest number first.
std::string progress_words(const aggregate::FlightMembers& group) {
  std::map<std::int64_t, std::vector<std::int32_t>, std::greater<>> by_number;
  for (const aggregate::FlightTrack& track : group.tracks) {
    by_number[track.enqueued].push_back(track.rank);
  }
  const bool on_all = by_number.size() == 1 && group.no_dump.empty();
  std::string text = list_words(by_number, [&](std::int64_t number, const auto& ranks) {
    const std::string called = number < 0             ? "unknown"
                               : number < group.first ? "nothing"
                                                      : fmt::format("#{}", number);
    return called + (on_all ? " on all" : " on " + aggregate::format_ranks_within(ranks, kWidth));
  });
  if (!group.no_dump.empty()) {
    text += fmt::format("; no dump of {}", aggregate::format_ranks_within(group.no_dump, kWidth));
  }
  return text;
}

std::string open_words(const aggregate::FlightMembers& group) {
  std::map<std::int64_t, std::vector<std::int32_t>> by_number;
  for (const aggregate::FlightTrack& track : group.tracks) {
    if (track.pending >= 0) {
      by_number[track.pending].push_back(track.rank);
    }
  }
  return list_words(by_number, [](std::int64_t number, const auto& ranks) {
    return fmt::format("#{} on {}", number, aggregate::format_ranks_within(ranks, kWidth));
  });
}

std::string groups_text(const aggregate::FlightFacts& facts) {
  std::string text = "Groups\n";
  std::size_t shown = 0;
  for (const aggregate::FlightMembers& group : facts.job.groups) {
    if (group.enqueued < 0) {
      continue;  // sends and receives only, or nothing at all
    }
    if (++shown > kMaxFlightGroups) {
      continue;
    }
    text += fmt::format("  {}: called {}", group.words(), progress_words(group));
    const std::string open = open_words(group);
    text += open.empty() ? "; all have ended\n" : fmt::format("; not ended: {}\n", open);
  }
  return shown <= kMaxFlightGroups
             ? text
             : fmt::format("{}  ... {}\n", text, count_of(shown - kMaxFlightGroups, "more group"));
}

std::string waits_text(const aggregate::FlightFacts& facts) {
  std::string text;
  std::size_t shown = 0;
  for (const aggregate::FlightWait& wait : facts.waits) {
    if (++shown > kMaxWaits) {
      text += fmt::format("  ... {}\n", count_of(facts.waits.size() - kMaxWaits, "more wait"));
      break;
    }
    text += fmt::format("  {} in {}", aggregate::ranks_in_short(wait.waiters), wait.on);
    if (!wait.absent.empty()) {
      text += fmt::format(", without {}", aggregate::format_ranks_within(wait.absent, kWidth));
    }
    if (!wait.unknown.empty()) {
      text += fmt::format(", unknown of {}", aggregate::format_ranks_within(wait.unknown, kWidth));
    }
    text += wait.evidence.empty() ? "\n" : fmt::format(" ({})\n", wait.evidence);
  }
  return text.empty() ? text : "Waits\n" + text;
}

Json ranks_json(const std::vector<std::int32_t>& ranks) {
  return Json(aggregate::format_ranks(ranks));
}

Json flight_groups_json(const aggregate::FlightFacts& facts) {
  Json rows = Json::array();
  for (const aggregate::FlightMembers& group : facts.job.groups) {
    Json tracks = Json::array();
    for (const aggregate::FlightTrack& track : group.tracks) {
      const auto number = [](std::int64_t value) {
        return value < 0 ? Json(nullptr) : Json(value);
      };
      tracks.push_back(
          {{"rank", track.rank},
           {"lowest", track.calls.empty() ? Json(nullptr) : Json(track.calls.front()->sequence)},
           {"enqueued", number(track.enqueued)},
           {"open", number(track.pending)}});
    }
    rows.push_back({{"name", printable(group.name)},
                    {"description", printable(group.description)},
                    {"members", ranks_json(group.ranks)},
                    {"members_known", group.ranks_known},
                    {"no_dump", ranks_json(group.no_dump)},
                    {"ranks", std::move(tracks)}});
  }
  return rows;
}

Json mismatches_json(const aggregate::FlightFacts& facts) {
  Json rows = Json::array();
  for (const aggregate::FlightMismatch& mismatch : facts.mismatches) {
    Json sides = Json::array();
    for (const aggregate::FlightSide& side : mismatch.sides) {
      sides.push_back({{"ranks", ranks_json(side.ranks)},
                       {"call", side.call},
                       {"place", side.place.empty() ? Json(nullptr) : Json(side.place)}});
    }
    rows.push_back({{"group", facts.job.groups[mismatch.group].words()},
                    {"sequence", mismatch.sequence},
                    {"what", mismatch.what},
                    {"tie", mismatch.tie},
                    {"sides", std::move(sides)}});
  }
  return rows;
}

Json flight_collectives_json(const aggregate::FlightFacts& facts) {
  Json rows = Json::array();
  for (const aggregate::FlightWait& wait : facts.waits) {
    rows.push_back({{"group", facts.job.groups[wait.group].words()},
                    {"op", wait.on},
                    {"sequence", wait.sequence < 0 ? Json(nullptr) : Json(wait.sequence)},
                    {"inside", ranks_json(wait.waiters)},
                    {"absent", ranks_json(wait.absent)},
                    {"unknown", ranks_json(wait.unknown)}});
  }
  return rows;
}

}  // namespace

std::string flight_report_text(const FlightReport& report) {
  const aggregate::Verdict& verdict = report.verdict;
  std::string text = fmt::format(
      "Flight recorder: {} dump{} (format {}), {} calls in {} groups\n",
      report.facts.job.records.size(), report.facts.job.records.size() == 1 ? "" : "s",
      versions_of(report.facts), entries_of(report.facts), report.facts.job.groups.size());
  if (const auto missing = aggregate::ranks_without_dump(report.facts); !missing.empty()) {
    text += fmt::format("No dump of {}\n", aggregate::ranks_in_short(missing));
  }
  for (const UnreadDump& dump : report.unread) {
    text += fmt::format("Not read: {}: {}\n", printable(dump.source), printable(dump.why, 200));
  }
  text += fmt::format("\n{}: {}\n", kind_words(verdict.kind, verdict.confidence), verdict.summary);
  for (const aggregate::ChainLink& link : verdict.chain) {
    text += fmt::format("  {} -> {}: {}{}\n", link.waiters, link.waits_for, link.on,
                        link.evidence.empty() ? "" : " (" + link.evidence + ")");
  }
  text += "\n" + groups_text(report.facts);
  text += waits_text(report.facts);
  for (const std::string& advice : advice_words(verdict.advice)) {
    text += fmt::format("Next: {}\n", advice);
  }
  for (const aggregate::OtherStory& other : verdict.also) {
    text += fmt::format("Also: {}: {}\n", kind_words(other.kind, other.confidence), other.summary);
  }
  for (const aggregate::Alternative& other : verdict.alternatives) {
    text += fmt::format("Also: {}: {}\n", aggregate::kind_name(other.kind), other.summary);
  }
  for (const std::string& note : report.facts.job.notes) {
    text += fmt::format("Note: {}\n", note);
  }
  return text;
}

std::string flight_report_json(const FlightReport& report) {
  Json json;
  json["oddrank"] = {{"version", kVersion}, {"format", kJsonFormat}};
  const auto missing = aggregate::ranks_without_dump(report.facts);
  Json unread = Json::array();
  for (const std::int32_t rank : missing) {
    unread.push_back({{"rank", rank}, {"host", nullptr}, {"why", "no dump"}});
  }
  for (const UnreadDump& dump : report.unread) {
    unread.push_back({{"rank", nullptr},
                      {"host", nullptr},
                      {"why", printable(dump.source + ": " + dump.why, 300)}});
  }
  json["coverage"] = {{"expected", report.facts.job.records.size() + missing.size()},
                      {"read", report.facts.job.records.size()},
                      {"unread", std::move(unread)}};
  json["verdict"] = verdict_json(report.verdict);
  json["collectives"] = flight_collectives_json(report.facts);
  json["mismatches"] = mismatches_json(report.facts);
  json["process_groups"] = flight_groups_json(report.facts);
  json["notes"] = report.facts.job.notes;
  return json_text(json, 2) + '\n';
}

}  // namespace oddrank::report
