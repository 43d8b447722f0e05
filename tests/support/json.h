// JSON in tests: the parser and the printer are compiled once.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace oddrank::tests {

using Json = nlohmann::json;

// Parses the text; fails the test if it is no JSON.
Json parse_json(std::string_view text);

}  // namespace oddrank::tests

template <>
struct Catch::StringMaker<nlohmann::json> {
  static std::string convert(const nlohmann::json& json);
};
