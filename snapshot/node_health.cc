#include "snapshot/node_health.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/printable.h"

namespace oddrank::snapshot {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kAnswers{"yes", "no", "off"};
constexpr std::size_t kMaxChecks = 64;
constexpr std::size_t kMaxText = 2000;  // bytes of a detail or remedy

std::string text_of(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string()
             ? printable(found->get_ref<const std::string&>(), kMaxText)
             : std::string();
}

}  // namespace

std::string_view answer_name(Answer answer) {
  return kAnswers.at(static_cast<std::size_t>(answer));
}

std::size_t NodeHealth::noes() const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(),
                    [](const Check& check) { return check.answer == Answer::kNo; }));
}

std::string encode_health(const NodeHealth& node) {
  Json checks = Json::array();
  for (const Check& check : node.checks) {
    checks.push_back({{"name", check.name},
                      {"answer", answer_name(check.answer)},
                      {"detail", printable(check.detail, kMaxText)},
                      {"remedy", printable(check.remedy, kMaxText)}});
  }
  const Json json = {{"version", node.version}, {"checks", std::move(checks)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<NodeHealth> decode_health(std::string_view bytes) {
  const Json json = Json::parse(bytes, nullptr, false);
  const auto checks = json.is_object() ? json.find("checks") : json.end();
  if (!json.is_object() || checks == json.end() || !checks->is_array() ||
      checks->size() > kMaxChecks) {
    return fail(Errc::kBadData, "its answer is not one of oddrank doctor",
                "is the same version of oddrank there?");
  }
  NodeHealth node;
  node.reached = true;
  node.version = text_of(json, "version");
  for (const Json& row : *checks) {
    if (!row.is_object()) {
      continue;
    }
    const std::string answer = text_of(row, "answer");
    const auto* const known = std::find(kAnswers.begin(), kAnswers.end(), answer);
    if (known != kAnswers.end()) {
      node.checks.push_back({text_of(row, "name"), static_cast<Answer>(known - kAnswers.begin()),
                             text_of(row, "detail"), text_of(row, "remedy")});
    }
  }
  return node;
}

}  // namespace oddrank::snapshot
