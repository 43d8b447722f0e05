#include "report/explain_json.h"

namespace oddrank::report {

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
