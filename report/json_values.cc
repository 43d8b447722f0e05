#include "report/json_values.h"

namespace oddrank::report {

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

Json object_for(std::size_t fields) {
  Json::object_t object;
  object.reserve(fields);
  return object;
}

}  // namespace oddrank::report
