#include "report/html/html_verdict.h"

#include <utility>
#include <vector>

#include "aggregate/view/compare.h"
#include "aggregate/view/rank_set.h"
#include "base/span_words.h"
#include "report/coverage_words.h"
#include "report/json_values.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kUnreadColumns = 200;

// Returns a class of page.css; "" for the default colour, a culprit's.
std::string_view tone_class(aggregate::Tone tone) {
  return tone == aggregate::Tone::kFine ? "fine" : tone == aggregate::Tone::kOpen ? "open" : "";
}

// Columns: ranks, whether the verdict names them, whether there are earlier calls, calls. Columns
// of a call: operation, group, number, peer, whether it is open, place.
Json histories_shown(const std::vector<aggregate::CallHistory>& histories) {
  Json json = Json::array();
  for (const aggregate::CallHistory& history : histories) {
    Json calls = Json::array();
    for (const aggregate::HistoryCall& call : history.calls) {
      calls.push_back({call.op, call.group, call.number, call.peer, call.open ? 1 : 0, call.place});
    }
    json.push_back({aggregate::format_ranks(history.ranks), history.named ? 1 : 0,
                    history.earlier ? 1 : 0, std::move(calls)});
  }
  return json;
}

Json verdict_shown(const aggregate::Verdict& verdict) {
  Json json;
  json["kind"] = aggregate::kind_name(verdict.kind);
  json["tone"] = tone_class(aggregate::kind_tone(verdict.kind));
  json["confidence"] = aggregate::confidence_name(verdict.confidence);
  json["summary"] = verdict.summary;
  json["culprits"] = Json::array();
  for (const aggregate::Culprit& culprit : verdict.culprits) {
    json["culprits"].push_back({culprit.rank, culprit.host, culprit.pid});
  }
  json["chain"] = Json::array();
  for (const aggregate::ChainLink& link : verdict.chain) {
    json["chain"].push_back({link.waiters, link.waits_for, link.on, link.evidence});
  }
  json["advice"] = advice_words(verdict.advice);
  json["disproves"] = verdict.disproves;
  if (!verdict.history.empty()) {
    json["history"] = histories_shown(verdict.history);
  }
  json["also"] = Json::array();
  for (const aggregate::OtherStory& other : verdict.also) {
    json["also"].push_back({aggregate::kind_name(other.kind), other.summary});
  }
  json["alternatives"] = Json::array();
  for (const aggregate::Alternative& other : verdict.alternatives) {
    json["alternatives"].push_back(
        {aggregate::kind_name(other.kind), other.summary, other.why_not});
  }
  return json;
}

// Writes the coverage line and, for each reason why ranks were not read: label, ranks, host,
// reason.
Json coverage_shown(const aggregate::Diagnosis& report) {
  Json json;
  json["words"] = coverage_words(report);
  json["unread"] = Json::array();
  for (const aggregate::Unread& row : report.coverage.unread) {
    json["unread"].push_back(
        {unread_words(row), unread_title(row, kUnreadColumns), row.host, row.why});
  }
  return json;
}

// Columns: the store's process, how many keys are set, awaited keys, how many more are awaited.
// Columns of a key: key, clients, the ranks that are seen to wait, the rank that is to set it (-1:
// unknown).
Json stores_shown(const aggregate::Diagnosis& report) {
  Json json = Json::array();
  for (const aggregate::StoreTable& store : report.stores) {
    Json keys = Json::array();
    for (const aggregate::AwaitedKey& key : store.awaited) {
      keys.push_back(
          {key.key, key.clients, aggregate::format_ranks(key.waiters), key.owner.value_or(-1)});
    }
    json.push_back({store.of, store.set, std::move(keys), store.more});
  }
  return json;
}

// Writes rows of ranks and words; the first row has "" for ranks and says how long ago the earlier
// capture was.
Json since_shown(const aggregate::Diagnosis& report) {
  Json json = Json::array();
  if (report.since) {
    json.push_back({"", span_words(UnsignedMicroseconds(report.since->apart_us))});
    for (const aggregate::ChangedRanks& row : report.since->changes) {
      json.push_back({aggregate::format_ranks(row.ranks), row.words});
    }
  }
  return json;
}

}  // namespace

std::string html_verdict(const aggregate::Diagnosis& report) {
  Json json;
  json["verdict"] = verdict_shown(report.verdict);
  json["coverage"] = coverage_shown(report);
  json["notes"] = report.notes;
  json["stores"] = stores_shown(report);
  json["since"] = since_shown(report);
  return json_text(json);
}

}  // namespace oddrank::report
