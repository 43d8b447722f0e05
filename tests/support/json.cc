#include "tests/support/json.h"

namespace oddrank::tests {

Json parse_json(std::string_view text) {
  return Json::parse(text);
}

}  // namespace oddrank::tests

std::string Catch::StringMaker<nlohmann::json>::convert(const nlohmann::json& json) {
  return json.dump();
}
