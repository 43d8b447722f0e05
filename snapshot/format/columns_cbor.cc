#include <algorithm>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "snapshot/format/columns.h"

namespace oddrank::snapshot {
namespace {

using nlohmann::json;

constexpr std::string_view kStringsTable = "strings";
constexpr std::string_view kTextColumn = "text";

// Builds a document while the library parses; no tree of the input is ever built. Each callback
// returns false to stop at the first unexpected item.
class DocumentBuilder : public json::json_sax_t {
 public:
  // `bytes`: size of the input, in which each value takes at least one byte.
  DocumentBuilder(std::size_t limit, std::size_t bytes) : left_(limit) {
    document.numbers.reserve(std::min(limit, bytes) / 2);
  }

  ReadDocument document;
  std::string problem;

  bool null() override { return refuse("null"); }
  bool boolean(bool /*value*/) override { return refuse("a boolean"); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return refuse("a floating-point number");
  }
  bool binary(binary_t& /*value*/) override { return refuse("a byte string"); }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    return integer(static_cast<std::int64_t>(value));
  }
  bool string(string_t& value) override;
  bool start_object(std::size_t /*elements*/) override;
  bool end_object() override;
  bool start_array(std::size_t /*elements*/) override;
  bool end_array() override;
  bool key(string_t& name) override;
  bool parse_error(std::size_t position,
                   const std::string& /*token*/,
                   const json::exception& /*error*/) override {
    return refuse("damage at byte " + std::to_string(position));
  }

 private:
  enum class In { kNothing, kTexts, kNumbers };

  bool refuse(std::string what);
  bool spend(std::size_t values);
  bool integer(std::int64_t value);

  int depth_ = 0;
  std::size_t left_;
  bool in_strings_table_ = false;
  In in_ = In::kNothing;  // the column
};

bool DocumentBuilder::string(string_t& value) {
  if (depth_ != 3 || in_ != In::kTexts || !spend(8 + value.size() / 4)) {
    return refuse("a text outside of the string table");
  }
  document.strings.push_back(std::move(value));
  return true;
}

bool DocumentBuilder::start_object(std::size_t /*elements*/) {
  if (++depth_ > 2) {
    return refuse("a map inside of a column");
  }
  return true;
}

bool DocumentBuilder::end_object() {
  --depth_;
  return true;
}

bool DocumentBuilder::start_array(std::size_t /*elements*/) {
  if (++depth_ != 3) {
    return refuse("an array in the place of a table");
  }
  return true;
}

bool DocumentBuilder::end_array() {
  --depth_;
  return true;
}

bool DocumentBuilder::key(string_t& name) {
  if (name.size() > 64 || !spend(8)) {
    return refuse("a name of " + std::to_string(name.size()) + " bytes");
  }
  if (depth_ == 1) {
    in_strings_table_ = name == kStringsTable;
    if (!in_strings_table_) {
      document.tables.push_back({name, {}});
    }
  } else if (in_strings_table_) {
    in_ = name == kTextColumn ? In::kTexts : In::kNothing;
  } else {
    in_ = In::kNumbers;
    document.tables.back().columns.push_back({name, document.numbers.size(), 0});
  }
  return true;
}

bool DocumentBuilder::refuse(std::string what) {
  if (problem.empty()) {
    problem = std::move(what);
  }
  return false;
}

bool DocumentBuilder::spend(std::size_t values) {
  if (values > left_) {
    return refuse("more values than a capture may have");
  }
  left_ -= values;
  return true;
}

bool DocumentBuilder::integer(std::int64_t value) {
  if (depth_ != 3 || in_ != In::kNumbers) {
    return refuse("a number outside of a column");
  }
  if (!spend(1)) {
    return false;
  }
  document.numbers.push_back(value);
  ++document.tables.back().columns.back().size;
  return true;
}

}  // namespace

std::string encode_document(const Document& document) {
  json root = json::object();
  for (const auto& [table_name, table] : document.tables) {
    json& columns = root[table_name] = json::object();
    for (const auto& [column_name, column] : table) {
      columns[column_name] = column;
    }
  }
  json& texts = root[std::string(kStringsTable)][std::string(kTextColumn)] = json::array();
  for (const std::string& text : document.strings) {
    texts.push_back(text);
  }
  std::string bytes;
  json::to_cbor(root, bytes);
  return bytes;
}

const ReadTable* ReadDocument::table(std::string_view name) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [name](const ReadTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

Result<ReadDocument> decode_document(std::string_view cbor, std::size_t limit) {
  DocumentBuilder builder(limit, cbor.size());
  if (!json::sax_parse(cbor, &builder, json::input_format_t::cbor)) {
    return fail(Errc::kBadData, "found " + (builder.problem.empty() ? "damage" : builder.problem));
  }
  return std::move(builder.document);
}

}  // namespace oddrank::snapshot
