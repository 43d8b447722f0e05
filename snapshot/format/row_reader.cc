#include "snapshot/format/row_reader.h"

#include <algorithm>

namespace oddrank::snapshot {
namespace {

// Reports list the threads of smaller jobs only (report/report_json.h).
constexpr std::size_t kMaxShownThreads = std::size_t{1} << 14;

}  // namespace

RowReader::RowReader(TableReaders& all, RowTable table)
    : all_(all), table_(table), read_(all.document.table(facts_of(table).name)) {
  if (read_ != nullptr && !read_->columns.empty()) {
    rows_ = read_->columns.front().size;
    fields_.reserve(read_->columns.size());
    for (const ReadColumn& column : read_->columns) {
      if (column.size != rows_) {
        refuse("column " + std::string(column.name) + " has " + std::to_string(column.size) +
               " rows, not " + std::to_string(rows_));
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
  return true;
}

void RowReader::take_text(StringId id) {
  if (!all_.budget.take(all_.document.strings[static_cast<std::size_t>(id)].size())) {
    refuse("its texts are longer than a capture of its size may show");
  }
}

void RowReader::take_stack(StackId id, std::size_t cost_of_frame) {
  const auto at = static_cast<std::size_t>(id);
  if (!problem_.empty() || at >= all_.stacks.size()) {
    return;
  }
  const StackSize& stack = all_.stacks[at];
  if (!all_.budget.take(stack.frames, cost_of_frame) ||
      (cost_of_frame >= kShownFrameBytes && !all_.budget.take(stack.bytes))) {
    refuse("its stacks have more frames than a capture of its size may show");
  }
}

void RowReader::shown(const ThreadCapture& thread) {
  if (!thread.samples.empty() && rows_ <= kMaxShownThreads) {
    take_stack(thread.samples.back().stack, kShownFrameBytes);
  }
}

void RowReader::refuse(const std::string& what) {
  if (problem_.empty()) {
    problem_ = "table " + std::string(facts_of(table_).name) + ": " + what;
    fields_.clear();
  }
}

bool RowReader::find_field(std::string_view name) {
  if (!problem_.empty()) {
    return false;
  }
  const auto& columns = read_->columns;
  const auto column = std::lower_bound(
      columns.begin(), columns.end(), name,
      [](const ReadColumn& each, std::string_view wanted) { return each.name < wanted; });
  fields_.resize(field_);
  if (column == columns.end() || column->name != name) {
    fields_.push_back({name.data(), nullptr, 0});
  } else {
    fields_.push_back({name.data(), all_.document.numbers.data() + column->first, column->step});
  }
  return true;
}

std::size_t RowReader::count_rows(std::string_view name, RowReader& child, std::size_t most) {
  std::uint32_t rows = 0;
  (*this)(name, rows);
  if (rows > most) {
    refuse(std::string(name) + " counts " + std::to_string(rows) +
           " rows, of which a capture has " + std::to_string(most) + " at most");
    return 0;
  }
  if (rows > child.rows_left()) {
    child.refuse("fewer rows than are counted");
    return 0;
  }
  return rows;
}

TableReaders::TableReaders(const ReadDocument& of, MemoryBudget& from)
    : document(of), budget(from) {
  readers_.reserve(kRowTables);
  for (std::size_t i = 0; i < kRowTables; ++i) {
    readers_.emplace_back(*this, static_cast<RowTable>(i));
  }
}

}  // namespace oddrank::snapshot
