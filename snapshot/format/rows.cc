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
        refuse("column " + std::string(column.name) + " has " + std::to_string(column.size) +
               " rows, not " + std::to_string(rows_));
      }
    }
  }
}

Column& RowWriter::column(std::string_view name) {
  if (next_ == known_.size() && next_ > 0 && known_.front().first == name.data()) {
    next_ = 0;
  }
  if (next_ == known_.size() || known_[next_].first != name.data()) {
    known_.resize(next_);
    const auto at = table_.try_emplace(std::string(name)).first;
    known_.emplace_back(name.data(), &at->second);
  }
  return *known_[next_++].second;
}

bool RowReader::next() {
  if (!problem_.empty() || next_ >= rows_) {
    return false;
  }
  ++next_;
  field_ = 0;
  return true;
}

bool RowReader::skip_same(std::size_t count) {
  if (count == 0 || next_ < 2 || count > fields_.size() - std::min(field_, fields_.size())) {
    return false;
  }
  const auto first = fields_.begin() + static_cast<std::ptrdiff_t>(field_);
  const auto last = first + static_cast<std::ptrdiff_t>(count);
  if (!std::all_of(first, last, [](const Field& field) { return field.step == 0; })) {
    return false;
  }
  field_ += count;
  asked_ += count;
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
    fields_.clear();
  }
}

bool RowReader::find_field(std::string_view name) {
  if (!problem_.empty()) {
    return false;
  }
  if (table_ == nullptr || next_ == 0) {
    refuse("row behind the last one");
    return false;
  }
  const auto& columns = table_->columns;
  // A file has them sorted, but it may come from anywhere.
  auto column = std::lower_bound(
      columns.begin(), columns.end(), name,
      [](const ReadColumn& each, std::string_view wanted) { return each.name < wanted; });
  if (column == columns.end() || column->name != name) {
    column = std::find_if(columns.begin(), columns.end(),
                          [name](const ReadColumn& each) { return each.name == name; });
  }
  if (column == columns.end()) {
    refuse("column " + std::string(name) + " is missing");
    return false;
  }
  fields_.resize(field_);
  fields_.push_back({name.data(), numbers_ + column->first, column->step});
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
