// Records of text fields that a child of discovery sends through its pipe. Fields end with NUL,
// which no field contains. Private to ranks/.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "attach/proc_environ.h"
#include "base/parse_number.h"

namespace oddrank::ranks {

// Appends a field to a record.
void put_field(std::string& record, std::string_view field);
// Appends the number of the variables, their names and values.
void put_environment(std::string& record, const attach::Environment& environment);

// Reads fields back; reads nothing if the record is cut.
class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text) {}

  std::optional<std::string_view> next();
  template <typename Number = std::size_t>
  std::optional<Number> next_number();
  std::optional<attach::Environment> next_environment();

 private:
  std::string_view text_;
};

template <typename Number>
std::optional<Number> FieldReader::next_number() {
  const auto field = next();
  return field ? parse_number<Number>(*field) : std::nullopt;
}

}  // namespace oddrank::ranks
