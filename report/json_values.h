// Values of the JSON report: unknown values are null, and text is always valid UTF-8. Private to
// report/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "snapshot/wait.h"

namespace oddrank::report {

// Fields keep the order in which they are written.
using Json = nlohmann::ordered_json;

// Writes text that is always valid UTF-8. `indent`: blanks for each level; -1: all in one line.
// Code that writes JSON is compiled only in json_values.cc, since it takes seconds to compile.
std::string json_text(const Json& json, int indent = -1);
// Makes an object without fields but with room for this many: a growing object copies its fields.
Json object_for(std::size_t fields);

// Return null for an unknown value (an empty text; `unknown`; kUnknown), else the value. Texts are
// made printable.
inline Json or_null(std::string_view text) {
  return text.empty() ? Json(nullptr) : Json(printable(text));
}

template <typename Number>
Json or_null_if(Number value, Number unknown) {
  return value == unknown ? Json(nullptr) : Json(value);
}

inline Json known(snapshot::Known value) {
  return value == snapshot::Known::kUnknown ? Json(nullptr) : Json(value == snapshot::Known::kYes);
}

// Returns seconds, the unit of "..._s" fields.
inline double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

}  // namespace oddrank::report
