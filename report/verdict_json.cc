#include "report/verdict_json.h"

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "report/call_lines.h"

namespace oddrank::report {

namespace {

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

Json link_end_json(const aggregate::LinkEnd& end) {
  return {{"rank", or_null_if(end.rank, -1)},
          {"host", or_null(end.host)},
          {"pid", or_null_if(end.pid, 0)},
          {"device", or_null(end.device)},
          {"address", or_null(end.address)}};
}

Json links_json(const std::vector<aggregate::BrokenLink>& links) {
  Json json = Json::array();
  for (const aggregate::BrokenLink& link : links) {
    json.push_back({{"from", link_end_json(link.from)},
                    {"to", link_end_json(link.to)},
                    {"one_way", link.one_way},
                    {"connections", link.connections},
                    {"age_ms", or_null_if(link.age_ms, std::int64_t{-1})},
                    {"evidence", link.evidence}});
  }
  return json;
}

// Writes the last calls, and the lines that the text has.
Json last_calls_json(const std::vector<aggregate::CallHistory>& histories) {
  Json json = Json::array();
  for (const aggregate::CallHistory& history : histories) {
    Json calls = Json::array();
    for (const aggregate::HistoryCall& call : history.calls) {
      calls.push_back({{"op", call.op},
                       {"group", call.group},
                       {"number", or_null_if(call.number, std::int64_t{-1})},
                       {"peer", or_null_if(call.peer, -1)},
                       {"open", call.open},
                       {"place", or_null(call.place)}});
    }
    json.push_back({{"ranks", aggregate::format_ranks(history.ranks)},
                    {"named", history.named},
                    {"earlier", history.earlier},
                    {"calls", calls}});
  }
  return json;
}

}  // namespace

Json verdict_json(const aggregate::Verdict& verdict) {
  Json json;
  json["kind"] = aggregate::kind_name(verdict.kind);
  json["confidence"] = aggregate::confidence_name(verdict.confidence);
  json["summary"] = verdict.summary;
  json["culprits"] = culprits_json(verdict.culprits);
  if (!verdict.links.empty() || !verdict.suspect_hosts.empty()) {
    json["links"] = links_json(verdict.links);
    json["suspect_hosts"] = Json::array();
    for (const aggregate::SuspectHost& host : verdict.suspect_hosts) {
      json["suspect_hosts"].push_back({{"host", or_null(host.host)}, {"links", host.links}});
    }
  }
  json["chain"] = Json::array();
  for (const aggregate::ChainLink& link : verdict.chain) {
    json["chain"].push_back({{"waiters", link.waiters},
                             {"waits_for", link.waits_for},
                             {"on", link.on},
                             {"evidence", or_null(link.evidence)}});
  }
  json["advice"] = advice_words(verdict.advice);
  json["disproves"] = verdict.disproves;
  if (!verdict.history.empty()) {
    json["history"] = history_lines(verdict.history);
    json["last_calls"] = last_calls_json(verdict.history);
  }
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

Json explain_json(const aggregate::Explanation& explanation) {
  Json json;
  json["facts"] = Json::array();
  for (const aggregate::ExplainedFact& fact : explanation.facts) {
    json["facts"].push_back(
        {{"who", fact.who},
         {"waits_for", fact.waits_for},
         {"on", fact.on},
         {"evidence", fact.evidence},
         {"known_by", aggregate::how_name(fact.how)},
         {"one_of_several", fact.guess},
         {"quiet_s", fact.quiet_ms < 0 ? Json(nullptr) : Json(seconds(fact.quiet_ms))}});
  }
  json["more_facts"] = explanation.more_facts;
  json["stands"] = Json::array();
  for (const aggregate::ExplainedRanks& ranks : explanation.blocked) {
    json["stands"].push_back({{"who", ranks.who}, {"stands", ranks.blocked_on}});
  }
  json["causes"] = Json::array();
  for (const aggregate::ExplainedCause& cause : explanation.causes) {
    json["causes"].push_back({{"who", cause.who},
                              {"circle", cause.circle},
                              {"closed", cause.closed},
                              {"is_rank", cause.is_rank},
                              {"waiters", cause.waiters},
                              {"pessimistic", cause.pessimistic}});
  }
  json["not_used"] = explanation.not_used;
  return json;
}

}  // namespace oddrank::report
