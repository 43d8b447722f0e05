#include "aggregate/html_verdict.h"

#include "aggregate/compare.h"
#include "aggregate/coverage_words.h"
#include "aggregate/json_values.h"
#include "aggregate/rank_set.h"
#include "base/span_words.h"

namespace oddrank::aggregate {
namespace {

Json verdict_json(const Verdict& verdict) {
  Json json;
  json["kind"] = kind_name(verdict.kind);
  json["confidence"] = confidence_name(verdict.confidence);
  json["summary"] = verdict.summary;
  json["culprits"] = Json::array();
  for (const Culprit& culprit : verdict.culprits) {
    json["culprits"].push_back({culprit.rank, culprit.host, culprit.pid});
  }
  json["chain"] = Json::array();
  for (const ChainLink& link : verdict.chain) {
    json["chain"].push_back({link.waiters, link.waits_for, link.on, link.evidence});
  }
  json["advice"] = verdict.advice;
  json["disproves"] = verdict.disproves;
  json["alternatives"] = Json::array();
  for (const Alternative& other : verdict.alternatives) {
    json["alternatives"].push_back({kind_name(other.kind), other.summary, other.why_not});
  }
  return json;
}

// The line of words; and for each reason why ranks were not read: label, ranks, host, reason.
Json coverage_json(const Diagnosis& report) {
  Json json;
  json["words"] = coverage_words(report);
  json["unread"] = Json::array();
  for (const Unread& row : report.coverage.unread) {
    json["unread"].push_back({unread_words(row), format_ranks(row.ranks), row.host, row.why});
  }
  return json;
}

// "" and rows of ranks and words; the first says how long ago.
Json since_json(const Diagnosis& report) {
  Json json = Json::array();
  if (report.since) {
    json.push_back({"", span_words(UnsignedMicroseconds(report.since->apart_us))});
    for (const ChangedRanks& row : report.since->changes) {
      json.push_back({format_ranks(row.ranks), row.words});
    }
  }
  return json;
}

}  // namespace

std::string html_verdict(const Diagnosis& report) {
  Json json;
  json["verdict"] = verdict_json(report.verdict);
  json["coverage"] = coverage_json(report);
  json["notes"] = report.notes;
  json["since"] = since_json(report);
  return json_text(json);
}

}  // namespace oddrank::aggregate
