#include "snapshot/format/columns.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "snapshot/format/cbor.h"
#include "snapshot/format/packed_column.h"

namespace oddrank::snapshot {
namespace {

constexpr std::string_view kStringsTable = "strings";
constexpr std::string_view kTextColumn = "text";
constexpr std::size_t kMaxName = 64;
constexpr std::size_t kCostOfName = 8;  // in values
// This version has fewer. The numbers of tables and columns that a foreign file claims are believed
// up to this limit.
constexpr std::size_t kUsualTables = 48;
constexpr std::size_t kUsualColumns = 64;

// Reads one document. Each step returns false at the first thing that has no place in one.
class DocumentReader {
 public:
  DocumentReader(std::string_view cbor, std::size_t limit) : cbor_(cbor), left_(limit) {}

  bool run();

  ReadDocument document;
  std::string problem;

 private:
  bool refuse(std::string what);
  bool spend(std::size_t values);
  bool next(CborItem& item);
  // Also refuses an item of another type; `place`: what should be there.
  bool next(CborType type, std::string_view place, CborItem& item);
  bool name(std::string_view& name);
  bool texts();
  bool table(std::string_view name);
  bool packed(std::string_view bytes, ReadColumn& column);

  CborReader cbor_;
  std::size_t left_;
};

bool DocumentReader::refuse(std::string what) {
  problem = std::move(what);
  return false;
}

bool DocumentReader::spend(std::size_t values) {
  if (values > left_) {
    return refuse("more values than a capture may have");
  }
  left_ -= values;
  return true;
}

bool DocumentReader::next(CborItem& item) {
  if (const auto read = cbor_.next()) {
    item = *read;
    return true;
  }
  return refuse("damage at byte " + std::to_string(cbor_.position()));
}

bool DocumentReader::next(CborType type, std::string_view place, CborItem& item) {
  return next(item) &&
         (item.type == type || refuse("something else in the place of " + std::string(place)));
}

bool DocumentReader::name(std::string_view& name) {
  CborItem item;
  if (!next(CborType::kText, "a name", item)) {
    return false;
  }
  if (item.bytes.size() > kMaxName) {
    return refuse("a name of " + std::to_string(item.bytes.size()) + " bytes");
  }
  name = item.bytes;
  return spend(kCostOfName);
}

// {"text": [text, ...]}; a column of another name has no place for anything.
bool DocumentReader::texts() {
  CborItem columns;
  if (!next(CborType::kMap, "a table", columns)) {
    return false;
  }
  for (std::uint64_t i = 0; i < columns.number; ++i) {
    std::string_view column;
    CborItem list;
    if (!name(column) || !next(CborType::kArray, "the texts", list)) {
      return false;
    }
    if (column != kTextColumn) {
      return refuse("another column than the texts");
    }
    document.strings.reserve(document.strings.size() +
                             std::min<std::uint64_t>(list.number, cbor_.left()));
    for (std::uint64_t text = 0; text < list.number; ++text) {
      CborItem item;
      if (!next(CborType::kText, "a text", item) || !spend(kCostOfName + item.bytes.size() / 4)) {
        return false;
      }
      document.strings.push_back(item.bytes);
    }
  }
  return true;
}

bool DocumentReader::packed(std::string_view bytes, ReadColumn& column) {
  const auto read =
      read_packed({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  if (!read) {
    return refuse("a byte string that is no column");
  }
  if (!spend(read->numbers)) {
    return false;
  }
  column.size = read->rows;
  column.step = read->numbers == read->rows ? 1 : 0;
  read->append_to(document.numbers);
  return true;
}

bool DocumentReader::table(std::string_view name) {
  if (!document.tables.empty() && document.tables.back().name >= name) {
    return refuse("tables that are not in the order of their names");
  }
  ReadTable& table = document.tables.emplace_back();
  table.name = name;
  CborItem columns;
  if (!next(CborType::kMap, "a table", columns)) {
    return false;
  }
  table.columns.reserve(std::min<std::uint64_t>(columns.number, kUsualColumns));
  for (std::uint64_t i = 0; i < columns.number; ++i) {
    ReadColumn& column = table.columns.emplace_back();
    column.first = document.numbers.size();
    CborItem item;
    if (!this->name(column.name) || !next(CborType::kBytes, "a column", item) ||
        !packed(item.bytes, column)) {
      return false;
    }
    if (i > 0 && table.columns[i - 1].name >= column.name) {
      return refuse("columns that are not in the order of their names");
    }
  }
  return true;
}

bool DocumentReader::run() {
  CborItem tables;
  if (!next(CborType::kMap, "the tables", tables)) {
    return false;
  }
  document.numbers.reserve(std::min(left_, cbor_.left()) / 2);
  document.tables.reserve(std::min<std::uint64_t>(tables.number, kUsualTables));
  for (std::uint64_t i = 0; i < tables.number; ++i) {
    std::string_view name;
    if (!this->name(name) || !(name == kStringsTable ? texts() : table(name))) {
      return false;
    }
  }
  return cbor_.left() == 0 || refuse("bytes behind the end");
}

void put_column(std::string& into, const Column& column) {
  const std::vector<std::uint8_t> bytes = pack_column(column);
  put_cbor_head(into, CborType::kBytes, bytes.size());
  into.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::string encode_document(const Document& document) {
  std::string bytes;
  put_cbor_head(bytes, CborType::kMap, document.tables.size() + 1);
  for (const auto& [table_name, table] : document.tables) {
    put_cbor_text(bytes, table_name);
    put_cbor_head(bytes, CborType::kMap, table.size());
    for (const auto& [column_name, column] : table) {
      put_cbor_text(bytes, column_name);
      put_column(bytes, column);
    }
  }
  put_cbor_text(bytes, kStringsTable);
  put_cbor_head(bytes, CborType::kMap, 1);
  put_cbor_text(bytes, kTextColumn);
  put_cbor_head(bytes, CborType::kArray, document.strings.size());
  for (const std::string& text : document.strings) {
    put_cbor_text(bytes, text);
  }
  return bytes;
}

const ReadTable* ReadDocument::table(std::string_view name) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [name](const ReadTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

Result<ReadDocument> decode_document(std::string cbor, std::size_t limit) {
  const auto bytes = std::make_shared<const std::string>(std::move(cbor));
  DocumentReader reader(*bytes, limit);
  if (!reader.run()) {
    return fail(Errc::kBadData, "found " + reader.problem);
  }
  reader.document.bytes = bytes;
  return std::move(reader.document);
}

}  // namespace oddrank::snapshot
