#include "report/report_json.h"

#include <set>

#include <fmt/format.h>

#include "aggregate/view/job_view.h"
#include "aggregate/view/rank_set.h"
#include "base/version.h"
#include "report/json_values.h"
#include "report/rank_json.h"

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
    for (const std::int32_t rank : row.ranks) {
      unread.push_back({{"rank", or_null_if(rank, -1)},
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
  result["capture_skew_ms"] = (coverage.skew_us + 999) / 1000;
  result["nodes_expected"] = coverage.nodes_expected;
  result["nodes_answered"] = coverage.nodes_answered;
  return result;
}

Json waits_for_json(const aggregate::WaitsFor& wait) {
  Json json;
  json["what"] = aggregate::wait_name(wait.what);
  json["pid"] = or_null_if(wait.pid, 0);
  json["tid"] = or_null_if(wait.tid, 0);
  json["rank"] = or_null_if(wait.rank, -1);
  json["path"] = or_null(wait.path);
  json["fd"] = or_null_if(wait.fd, -1);
  json["address"] = wait.address == 0 ? Json(nullptr) : Json(fmt::format("{:#x}", wait.address));
  json["group"] = or_null(wait.group);
  json["holder_alive"] = known(wait.holder_alive);
  json["detail"] = or_null(wait.detail);
  return json;
}

Json culprits_json(const std::vector<aggregate::Culprit>& culprits) {
  Json json = Json::array();
  for (const aggregate::Culprit& culprit : culprits) {
    json.push_back({{"rank", or_null_if(culprit.rank, -1)},
                    {"host", or_null(culprit.host)},
                    {"pid", or_null_if(culprit.pid, 0)},
                    {"tid", or_null_if(culprit.tid, 0)},
                    {"waits_for", waits_for_json(culprit.waits_for)}});
  }
  return json;
}

Json verdict_json(const aggregate::Verdict& verdict) {
  Json json;
  json["kind"] = aggregate::kind_name(verdict.kind);
  json["confidence"] = aggregate::confidence_name(verdict.confidence);
  json["summary"] = verdict.summary;
  json["culprits"] = culprits_json(verdict.culprits);
  json["chain"] = Json::array();
  for (const aggregate::ChainLink& link : verdict.chain) {
    json["chain"].push_back({{"waiters", link.waiters},
                             {"waits_for", link.waits_for},
                             {"on", link.on},
                             {"evidence", or_null(link.evidence)}});
  }
  json["advice"] = verdict.advice;
  json["disproves"] = verdict.disproves;
  json["also"] = Json::array();
  for (const aggregate::OtherStory& other : verdict.also) {
    json["also"].push_back({{"kind", aggregate::kind_name(other.kind)},
                            {"confidence", aggregate::confidence_name(other.confidence)},
                            {"summary", other.summary},
                            {"culprits", culprits_json(other.culprits)}});
  }
  json["alternatives"] = Json::array();
  for (const aggregate::Alternative& other : verdict.alternatives) {
    json["alternatives"].push_back({{"kind", aggregate::kind_name(other.kind)},
                                    {"summary", other.summary},
                                    {"why_not", other.why_not}});
  }
  return json;
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

Json groups_json(const aggregate::Diagnosis& report) {
  Json groups = Json::array();
  for (const aggregate::ReportedGroup& group : report.groups) {
    Json frames = Json::array();
    for (const aggregate::ShownFrame& frame : group.stack.frames) {
      frames.push_back(frame.place().empty() ? frame.name
                                             : fmt::format("{} ({})", frame.name, frame.place()));
    }
    Json row;
    row["ranks"] = aggregate::format_ranks(group.ranks);
    row["count"] = group.count;
    row["phase"] = group.phase;
    row["frames"] = std::move(frames);
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
    groups.push_back(std::move(row));
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

bool has_few_threads(const aggregate::JobView& view) {
  std::size_t threads = 0;
  for (const ProcessCapture& process : view.capture().processes) {
    threads += process.threads.size();
  }
  return threads <= kMaxListedThreads;
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
std::string ranks_text(const aggregate::JobView& view) {
  const bool with_threads = has_few_threads(view);
  std::string text;
  for (const aggregate::RankView& rank : view.ranks()) {
    if (rank.process == nullptr) {
      continue;
    }
    const Json row = rank_json(view, rank, with_threads);
    text += text.empty() ? "[\n    " : ",\n    ";
    // Rows without threads take one line each.
    text += with_threads ? indented(Json::array({row})).substr(6) : json_text(row);
    if (with_threads) {
      text.resize(text.size() - 4);  // the end of that array
    }
  }
  return text.empty() ? "[]" : text + "\n  ]";
}

}  // namespace

std::string verdict_json_text(const aggregate::Verdict& verdict) {
  return json_text(verdict_json(verdict));
}

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
  add("ranks", ranks_text(view));
  add("collectives", indented(collectives_json(report)));
  add("notes", indented(report.notes));
  if (!report.sources.empty()) {
    add("sources", indented(sources_json(report)));
  }
  if (report.since) {
    add("since", indented(since_json(*report.since)));
  }
  return text + "\n}\n";
}

}  // namespace oddrank::report
