#include "ranks/field_record.h"

#include <utility>
#include <vector>

namespace oddrank::ranks {

void put_field(std::string& record, std::string_view field) {
  record.append(field.data(), field.size());
  record.push_back('\0');
}

void put_environment(std::string& record, const attach::Environment& environment) {
  put_field(record, std::to_string(environment.entries().size()));
  for (const auto& [name, value] : environment.entries()) {
    put_field(record, name);
    put_field(record, value);
  }
}

std::optional<std::string_view> FieldReader::next() {
  const auto end = text_.find('\0');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view field = text_.substr(0, end);
  text_.remove_prefix(end + 1);
  return field;
}

std::optional<attach::Environment> FieldReader::next_environment() {
  const auto variables = next_number();
  std::vector<attach::Environment::Entry> entries;
  for (std::size_t i = 0; variables && i < *variables; ++i) {
    const auto name = next();
    const auto value = next();
    if (!name || !value) {
      return std::nullopt;
    }
    entries.emplace_back(*name, *value);
  }
  return variables ? std::optional(attach::Environment(std::move(entries))) : std::nullopt;
}

}  // namespace oddrank::ranks
