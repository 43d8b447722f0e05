#include "report/report_json.h"

#include <set>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "aggregate/view/rank_set.h"
#include "base/version.h"
#include "report/coverage_words.h"
#include "report/json_values.h"
#include "report/listed_objects.h"
#include "report/rank_json.h"
#include "report/verdict_json.h"
#include "snapshot/alike_threads.h"

namespace oddrank::report {

using snapshot::Capture;
using snapshot::ProcessCapture;

namespace {

std::string_view source_name(snapshot::JobSource source) {
  switch (source) {
    case snapshot::JobSource::kSlurm:
      return "slurm";
    case snapshot::JobSource::kHosts:
      return "hosts";
    case snapshot::JobSource::kCore:
      return "core";
    case snapshot::JobSource::kReport:
      return "report";
    default:
      return "node";
  }
}

Json job_json(const Capture& capture, const aggregate::Diagnosis& report) {
  std::set<std::string> hosts;
  for (const std::string& host : capture.job.hosts) {
    hosts.insert(printable(host));
  }
  for (const auto& node : capture.nodes) {
    hosts.insert(printable(node.host));
  }
  Json job;
  job["id"] = or_null(capture.job.id);
  job["source"] = source_name(capture.job.source);
  job["world_size"] = capture.job.world_size > 0     ? Json(capture.job.world_size)
                      : report.coverage.expected > 0 ? Json(report.coverage.expected)
                                                     : Json(nullptr);
  job["hosts"] = hosts;
  job["name"] = or_null(capture.job.name);
  job["user"] = or_null(capture.job.user);
  job["state"] = or_null(capture.job.state);
  job["output"] = or_null(capture.job.output_path);
  job["elapsed_s"] = or_null_if<std::int64_t>(capture.job.elapsed_s, -1);
  job["time_left_s"] = or_null_if<std::int64_t>(capture.job.time_left_s, -1);
  return job;
}

Json coverage_json(const aggregate::Coverage& coverage) {
  Json unread = Json::array();
  for (const aggregate::Unread& row : coverage.unread) {
    for (std::size_t i = 0; i < row.ranks.size(); ++i) {
      unread.push_back({{"rank", or_null_if(row.ranks[i], -1)},
                        {"pid", or_null_if(i < row.pids.size() ? row.pids[i] : 0, 0)},
                        {"host", or_null(row.host)},
                        {"why", row.why},
                        {"partial", row.partial}});
    }
  }
  Json result;
  result["expected"] = coverage.expected;
  result["read"] = coverage.read;
  result["partial"] = coverage.partial;
  result["unread"] = std::move(unread);
  result["captured_at"] = or_null(utc_words(coverage.began_us));
  result["capture_skew_ms"] = (coverage.skew_us + 999) / 1000;
  result["nodes_expected"] = coverage.nodes_expected;
  result["nodes_answered"] = coverage.nodes_answered;
  return result;
}

Json difference_json(const aggregate::LocalDifference& difference) {
  Json json;
  json["name"] = difference.name;
  json["function"] = difference.function;
  json["place"] = difference.place;
  json["behind"] = aggregate::format_ranks(difference.behind);
  json["values"] = Json::array();
  for (const aggregate::LocalValue& value : difference.values) {
    json["values"].push_back(
        {{"value", value.value}, {"ranks", aggregate::format_ranks(value.ranks)}});
  }
  return json;
}

Json frames_json(const aggregate::FoldedStack& stack) {
  Json frames = Json::array();
  for (const aggregate::ShownFrame& frame : stack.frames) {
    frames.push_back(frame.place().empty() ? frame.name
                                           : fmt::format("{} ({})", frame.name, frame.place()));
  }
  return frames;
}

Json group_json(const aggregate::ReportedGroup& group) {
  Json row;
  row["ranks"] = aggregate::format_ranks(group.ranks);
  row["count"] = group.count;
  row["phase"] = group.phase;
  row["frames"] = frames_json(group.stack);
  if (!group.main_stack.frames.empty()) {
    row["main_thread_frames"] = frames_json(group.main_stack);
  }
  row["hosts"] = or_null(group.hosts);
  row["state"] = group.state;
  if (group.quiet.tells()) {
    row["quiet_s"] = {{"least", seconds(group.quiet.least_ms())},
                      {"most", seconds(group.quiet.most_ms())}};
  }
  row["culprit"] = group.culprit;
  row["hidden_frames"] = group.stack.hidden;
  for (const aggregate::LocalDifference& difference : group.differences) {
    row["locals_differ"].push_back(difference_json(difference));
  }
  return row;
}

Json groups_json(const aggregate::Diagnosis& report) {
  Json groups = Json::array();
  for (const aggregate::ReportedGroup& group : report.groups) {
    groups.push_back(group_json(group));
  }
  return groups;
}

// Returns the text that replaces several groups in reports for people.
Json folded_groups_json(const aggregate::Diagnosis& report) {
  Json groups = Json::array();
  for (const aggregate::ShownGroup& row : report.shown) {
    if (row.is_folded()) {
      groups.push_back(group_json(*row.whole));
      groups.back()["groups"] = row.parts;
    }
  }
  return groups;
}

Json collectives_json(const aggregate::Diagnosis& report) {
  Json rows = Json::array();
  for (const aggregate::ReportedSlot& slot : report.slots) {
    Json row;
    row["group"] = or_null(slot.group);
    row["op"] = or_null(slot.op);
    row["sequence"] = or_null_if<std::int64_t>(slot.sequence, -1);
    row["inside"] = aggregate::format_ranks(slot.inside);
    row["absent"] = slot.members_known ? Json(aggregate::format_ranks(slot.absent)) : Json(nullptr);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json stores_json(const aggregate::Diagnosis& report) {
  Json rows = Json::array();
  for (const aggregate::StoreTable& store : report.stores) {
    Json awaited = Json::array();
    for (const aggregate::AwaitedKey& key : store.awaited) {
      awaited.push_back({{"key", key.key},
                         {"clients", key.clients},
                         {"waiters", aggregate::format_ranks(key.waiters)},
                         {"owner", key.owner ? Json(*key.owner) : Json(nullptr)}});
    }
    rows.push_back({{"of", store.of},
                    {"keys", store.set},
                    {"awaited", std::move(awaited)},
                    {"more", store.more}});
  }
  return rows;
}

Json sources_json(const aggregate::Diagnosis& report) {
  Json rows = Json::array();
  for (const aggregate::SourceFinding& source : report.sources) {
    rows.push_back({{"source", source.source},
                    {"text", source.text},
                    {"ranks", aggregate::format_ranks(source.ranks)},
                    {"agrees", source.agrees ? Json(*source.agrees) : Json(nullptr)}});
  }
  return rows;
}

Json since_json(const aggregate::Comparison& since) {
  Json json;
  json["apart_s"] = static_cast<double>(since.apart_us) / 1e6;
  json["changes"] = Json::array();
  for (const aggregate::ChangedRanks& row : since.changes) {
    json["changes"].push_back({{"change", aggregate::change_name(row.change)},
                               {"ranks", aggregate::format_ranks(row.ranks)},
                               {"count", row.count},
                               {"words", row.words}});
  }
  return json;
}

struct Listing {
  bool with_threads = false;
  bool indented = false;
  std::size_t objects = 0;
};

Listing listing_of(const aggregate::JobView& view) {
  Listing listing;
  for (const ProcessCapture& process : view.capture().processes) {
    listing.objects += listed_objects(view, process);
  }
  listing.with_threads = snapshot::count_threads(view.capture()) <= kMaxListedThreads &&
                         listing.objects <= kMaxListedObjects;
  listing.indented = listing.with_threads && listing.objects <= kMaxIndentedObjects;
  return listing;
}

// Returns a value as written inside an object indented by two.
std::string indented(const Json& json) {
  const std::string text = json_text(json, 2);
  std::string result;
  for (const char letter : text) {
    result += letter;
    result += letter == '\n' ? "  " : "";
  }
  return result;
}

// Writes row by row: a tree of all rows of a large job would take many times the memory of the
// text.
void add_ranks(const aggregate::Diagnosis& report,
               const aggregate::JobView& view,
               std::string& text) {
  constexpr std::size_t kUsualRow = 800;     // without threads
  constexpr std::size_t kUsualObject = 420;  // in one line
  const Listing listing = listing_of(view);
  if (listing.with_threads && !listing.indented) {
    // A text that grows by copying would take twice as much for a moment.
    text.reserve(text.size() + view.ranks().size() * kUsualRow + listing.objects * kUsualObject);
  }
  const std::size_t begin = text.size();
  for (const aggregate::RankView& rank : view.ranks()) {
    if (rank.process == nullptr) {
      continue;
    }
    const Json row =
        rank_json(view, rank, aggregate::step_of(report.steps, rank.rank), listing.with_threads);
    text += text.size() == begin ? "[\n    " : ",\n    ";
    if (listing.indented) {
      text += indented(Json::array({row})).substr(6);
      text.resize(text.size() - 4);  // the end of that array
    } else {
      text += json_text(row);
    }
  }
  text += text.size() == begin ? "[]" : "\n  ]";
}

}  // namespace

std::string report_json(const aggregate::Diagnosis& report, const Capture& capture) {
  aggregate::FrameModel model(capture.tables);
  return report_json(report, aggregate::JobView(capture, model));
}

std::string report_json(const aggregate::Diagnosis& report, const aggregate::JobView& view) {
  const Capture& capture = view.capture();
  std::string text = "{";
  const auto add = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{}\n  \"{}\": {}", text.size() > 1 ? "," : "", name, value);
  };
  add("oddrank", indented({{"version", kVersion}, {"format", kJsonFormat}}));
  add("job", indented(job_json(capture, report)));
  add("coverage", indented(coverage_json(report.coverage)));
  add("verdict", indented(verdict_json(report.verdict)));
  add("groups", indented(groups_json(report)));
  if (const Json folded = folded_groups_json(report); !folded.empty()) {
    add("folded_groups", indented(folded));
  }
  text += ",\n  \"ranks\": ";
  add_ranks(report, view, text);
  add("collectives", indented(collectives_json(report)));
  if (!report.stores.empty()) {
    add("stores", indented(stores_json(report)));
  }
  add("notes", indented(report.notes));
  if (!report.sources.empty()) {
    add("sources", indented(sources_json(report)));
  }
  if (report.explanation) {
    add("explanation", indented(explain_json(*report.explanation)));
  }
  if (report.since) {
    add("since", indented(since_json(*report.since)));
  }
  text += "\n}\n";
  return text;
}

}  // namespace oddrank::report
