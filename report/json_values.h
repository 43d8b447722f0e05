// Values of the JSON report: what is unknown is null, and text is always valid UTF-8.
// Private to report/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "snapshot/wait.h"

namespace oddrank::report {

// Fields stay in the order in which they are written.
using Json = nlohmann::ordered_json;

// What reads and writes is compiled here alone: it takes seconds in every file that uses it.
// Always valid UTF-8. `indent`: by so many blanks a level; -1: all in one line.
std::string json_text(const Json& json, int indent = -1);
// An object without fields, with room for so many: what is there is copied when it grows.
Json object_for(std::size_t fields);
// Discarded (is_discarded()) where the text is no JSON.
Json parse_json(std::string_view text);

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

// As "..._s" fields have it.
inline double seconds(std::int64_t ms) {
  return static_cast<double>(ms) / 1000;
}

}  // namespace oddrank::report
