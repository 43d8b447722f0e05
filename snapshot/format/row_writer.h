// Makes columns from the rows of a capture (fields/row_fields.h says which). Private to snapshot/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/small/boxed.h"
#include "base/small/rare.h"
#include "snapshot/fields/row_fields.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

class TableWriters;

// Appends the rows of one table. Names are literals.
class RowWriter {
 public:
  RowWriter(TableWriters& all, RowTable table) : all_(all), table_(table) {}

  template <typename T>
  void operator()(std::string_view name, const T& value);
  template <typename T>
  void index(std::string_view name, const T& value, RowTable /*of*/) {
    (*this)(name, value);
  }
  template <typename List>
  void rows(RowTable table, const List& list, std::size_t most = 0);
  template <typename T>
  void maybe(RowTable table, const Boxed<T>& box);
  template <typename T>
  void maybe(RowTable table, const Rare<T>& box);
  template <typename T>
  void rare(const Rare<T>& facts) {
    fields(*this, *facts);
  }
  template <typename Fits>
  void check(const Fits& /*fits*/, const char* /*what*/) {}
  void shown(const ThreadCapture& /*thread*/) {}

 private:
  Column& column(std::string_view name);

  TableWriters& all_;
  RowTable table_;
  // In the order of the first row's values. Every row has the same fields, so a name is recognised
  // by its address.
  std::vector<std::pair<const char*, Column*>> known_;
  std::size_t next_ = 0;
};

// All tables of one document. Texts of job and nodes are plain strings in memory and share the
// string table in the file, which holds every text once.
class TableWriters {
 public:
  // `document` must already have the texts of the capture's own table.
  explicit TableWriters(Document& document);

  RowWriter& of(RowTable table) { return writers_[static_cast<std::size_t>(table)]; }
  Table& table(RowTable table);
  StringId id_of(const std::string& text);

 private:
  Document& document_;
  std::vector<RowWriter> writers_;
  std::unordered_map<std::string, StringId> ids_;
};

template <typename T>
void RowWriter::operator()(std::string_view name, const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    column(name).push_back(static_cast<std::int64_t>(all_.id_of(value)));
  } else {
    column(name).push_back(static_cast<std::int64_t>(value));
  }
}

template <typename List>
void RowWriter::rows(RowTable table, const List& list, std::size_t /*most*/) {
  (*this)(facts_of(table).name, list.size());
  RowWriter& child = all_.of(table);
  for (const auto& row : list) {
    fields(child, row);
  }
}

template <typename T>
void RowWriter::maybe(RowTable table, const Boxed<T>& box) {
  (*this)(facts_of(table).name, box.has_value());
  if (box) {
    fields(all_.of(table), *box);
  }
}

template <typename T>
void RowWriter::maybe(RowTable table, const Rare<T>& box) {
  (*this)(facts_of(table).name, !box.is_default());
  if (!box.is_default()) {
    fields(all_.of(table), *box);
  }
}

}  // namespace oddrank::snapshot
