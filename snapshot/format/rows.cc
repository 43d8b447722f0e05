#include "snapshot/format/rows.h"

#include <algorithm>

namespace oddrank::snapshot {

RowReader::RowReader(std::string_view name, const ReadDocument& document, const IdLimits& limits)
    : name_(name),
      table_(document.table(name)),
      numbers_(document.numbers.data()),
      texts_(document.strings),
      limits_(limits) {
  if (table_ != nullptr && !table_->columns.empty()) {
    rows_ = table_->columns.front().size;
    fields_.reserve(table_->columns.size());
    for (const ReadColumn& column : table_->columns) {
      if (column.size != rows_) {
        refuse("column " + column.name + " has " + std::to_string(column.size) + " rows, not " +
               std::to_string(rows_));
      }
    }
  }
}

bool RowReader::next() {
  if (!problem_.empty() || next_ >= rows_) {
    return false;
  }
  ++next_;
  field_ = 0;
  return true;
}

void RowReader::take_text(StringId id) {
  const auto at = static_cast<std::size_t>(id);
  if (limits_.budget != nullptr && at < texts_.size() && !limits_.budget->take(texts_[at].size())) {
    refuse("its texts are longer than a capture of its size may show");
  }
}

void RowReader::check_columns() {
  if (problem_.empty() && next_ > 0 && table_ != nullptr &&
      table_->columns.size() * next_ != asked_) {
    refuse("it has columns that this version does not know");
  }
}

void RowReader::refuse(const std::string& what) {
  if (problem_.empty()) {
    problem_ = "table " + name_ + ": " + what;
  }
}

bool RowReader::take(std::string_view name, std::int64_t& value) {
  if (!problem_.empty()) {
    return false;
  }
  if (table_ == nullptr || next_ == 0) {
    refuse("row behind the last one");
    return false;
  }
  // Every row reads the same fields in the same order; names are looked up for the first row, and
  // recognised by their address afterwards.
  if (field_ == fields_.size() || fields_[field_].first.data() != name.data()) {
    const auto& columns = table_->columns;
    const auto column = std::find_if(columns.begin(), columns.end(),
                                     [name](const ReadColumn& each) { return each.name == name; });
    if (column == columns.end()) {
      refuse("column " + std::string(name) + " is missing");
      return false;
    }
    fields_.resize(field_);
    fields_.emplace_back(name, numbers_ + column->first);
  }
  ++asked_;
  value = fields_[field_++].second[next_ - 1];
  return true;
}

std::uint64_t count_rows(RowReader& parent, std::string_view name, RowReader& child) {
  std::uint32_t rows = 0;
  parent(name, rows);
  if (rows > child.rows()) {
    parent.refuse(std::string(name) + " counts " + std::to_string(rows) + " rows of " +
                  std::to_string(child.rows()));
    return 0;
  }
  if (rows > child.rows_left()) {
    child.refuse("fewer rows than are counted");
    return 0;
  }
  return rows;
}

bool step_row(RowReader& child) {
  if (child.next()) {
    return true;
  }
  child.refuse("fewer rows than are counted");
  return false;
}

}  // namespace oddrank::snapshot
