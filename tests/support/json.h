// JSON in tests: what reads and prints it is compiled once.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/support/catch.h"

namespace oddrank::tests {

using Json = nlohmann::json;

// Ends the test where it is none.
Json parse_json(std::string_view text);

}  // namespace oddrank::tests

template <>
struct Catch::StringMaker<nlohmann::json> {
  static std::string convert(const nlohmann::json& json);
};
