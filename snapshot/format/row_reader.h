// Makes rows from the columns of a capture file (fields/row_fields.h says which). Checks every
// value, id and count, and takes their cost from a budget. Private to snapshot/.
//
// What the values of a capture file may be. Private to snapshot/.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory_budget.h"
#include "base/small/boxed.h"
#include "base/small/rare.h"
#include "snapshot/capture.h"
#include "snapshot/fields/row_fields.h"
#include "snapshot/format/columns.h"

namespace oddrank::snapshot {

// The highest value of each enumeration that a capture stores. A newer file may have a higher one;
// then the field has its default, so that no code after the decoder has to check.
constexpr FrameKind last_value(FrameKind /*type*/) {
  return FrameKind::kPython;
}
constexpr StackEnd last_value(StackEnd /*type*/) {
  return StackEnd::kRunningTorn;
}
constexpr MergeState last_value(MergeState /*type*/) {
  return MergeState::kMismatch;
}
constexpr WaitOn last_value(WaitOn /*type*/) {
  return WaitOn::kNothing;
}
constexpr WaitHow last_value(WaitHow /*type*/) {
  return WaitHow::kFutureOfLoop;
}
constexpr JobRole last_value(JobRole /*type*/) {
  return JobRole::kService;
}

constexpr Ending last_value(Ending /*type*/) {
  return Ending::kFinalized;
}
constexpr WaitAbout last_value(WaitAbout /*type*/) {
  return WaitAbout::kPool;
}
constexpr LockKind last_value(LockKind /*type*/) {
  return LockKind::kOnce;
}
constexpr LockOwner last_value(LockOwner /*type*/) {
  return LockOwner::kNobodyElse;
}
constexpr LockMode last_value(LockMode /*type*/) {
  return LockMode::kWrite;
}
constexpr InnerLock last_value(InnerLock /*type*/) {
  return InnerLock::kTimeZone;
}
constexpr Store last_value(Store /*type*/) {
  return Store::kOther;
}
constexpr TransferTrouble last_value(TransferTrouble /*type*/) {
  return TransferTrouble::kNotTaken;
}
constexpr Known last_value(Known /*type*/) {
  return Known::kYes;
}
constexpr CallKind last_value(CallKind /*type*/) {
  return CallKind::kRendezvous;
}
constexpr ReadState last_value(ReadState /*type*/) {
  return ReadState::kFull;
}
constexpr TaskState last_value(TaskState /*type*/) {
  return TaskState::kLeftBehind;
}
constexpr FlightState last_value(FlightState /*type*/) {
  return FlightState::kCompleted;
}
constexpr RasPresence last_value(RasPresence /*type*/) {
  return RasPresence::kMemory;
}
constexpr LogKind last_value(LogKind /*type*/) {
  return LogKind::kTaskStatus;
}
constexpr JobSource last_value(JobSource /*type*/) {
  return JobSource::kReport;
}

// Returns whether the number is a letter of /proc/PID/stat (fs/proc/array.c of Linux 2.6 to 6.18),
// or '?', which stands for an unknown state.
constexpr bool is_thread_state(std::int64_t stored) {
  constexpr std::string_view kLetters = "?RSDTtZXxKWPI";
  return std::any_of(kLetters.begin(), kLetters.end(), [stored](char it) { return it == stored; });
}

class TableReaders;

// Reads one table; a missing table has no rows. Borrows the document. Names are literals.
// Keeps the first mismatch as `problem`; from then on, fields keep their defaults.
class RowReader {
 public:
  RowReader(TableReaders& all, RowTable table);

  std::size_t rows() const { return rows_; }
  std::size_t rows_left() const { return rows_ - next_; }
  // Steps to the next row; returns false after the last one.
  bool next();
  const std::string& problem() const { return problem_; }
  void refuse(const std::string& what);

  // See row_fields.h.
  template <typename T>
  [[gnu::always_inline]] void operator()(std::string_view name, T& value);
  template <typename T>
  void index(std::string_view name, T& value, RowTable of);
  template <typename List>
  void rows(RowTable table, List& list, std::size_t most = SIZE_MAX);
  template <typename Box>
  void maybe(RowTable table, Box& box);
  template <typename T>
  void rare(Rare<T>& facts);
  template <typename Fits>
  void check(const Fits& fits, const char* what);
  // Takes from the budget what a report needs to show the thread's last stack.
  void shown(const ThreadCapture& thread);

 private:
  // A column that has been asked for, by the address of the name that the caller passed.
  struct Field {
    const char* name = nullptr;
    // Null: the file does not have the column, or all its values are the default.
    const std::int64_t* first = nullptr;
    std::size_t step = 0;
  };

  // Inline: a report of a large job takes hundreds of millions of values.
  [[gnu::always_inline]] bool take(std::string_view name, std::int64_t& value);
  // Sets the value that the current field has in the file.
  template <typename T>
  void set(std::string_view name, std::int64_t stored, T& value);
  template <typename T>
  void convert(std::string_view name, std::int64_t stored, T& value);
  // Returns false if there is a problem.
  bool find_field(std::string_view name);
  // Returns whether the next `count` values are the same in all rows, and skips them: the caller
  // knows them from the row before. False if `count` is 0.
  bool skip_same(std::size_t count);
  // Returns how many rows of `child` belong to the current row; more than are left is a problem.
  std::size_t count_rows(std::string_view name, RowReader& child, std::size_t most);
  void take_text(StringId id);
  void take_stack(StackId id, std::size_t cost_of_frame);
  template <typename Id>
  void set_id(std::string_view name, std::int64_t stored, std::size_t limit, Id& id);

  TableReaders& all_;
  RowTable table_;
  const ReadTable* read_ = nullptr;
  std::size_t rows_ = 0;
  std::size_t next_ = 0;
  std::size_t field_ = 0;  // of the current row
  // How many columns the rare facts of the last row take, if they were all defaults; else 0.
  std::size_t empty_columns_ = 0;
  // In the order of the first row's reads; empty once there is a problem. Every row reads the same
  // fields in the same order: names are looked up for the first row, and then recognised by their
  // address.
  std::vector<Field> fields_;
  std::string problem_;
};

// A stack as reports show it.
struct StackSize {
  std::size_t frames = 0;
  std::size_t bytes = 0;  // of the frames' texts
};

// All tables of one document, read side by side. Borrows the document.
class TableReaders {
 public:
  TableReaders(const ReadDocument& of, MemoryBudget& from);

  RowReader& of(RowTable table) { return readers_[static_cast<std::size_t>(table)]; }
  const std::vector<RowReader>& all() const { return readers_; }

  const ReadDocument& document;
  MemoryBudget& budget;
  std::vector<StackSize> stacks;  // that were read

 private:
  std::vector<RowReader> readers_;
};

inline bool RowReader::take(std::string_view name, std::int64_t& value) {
  if ((field_ >= fields_.size() || fields_[field_].name != name.data()) && !find_field(name))
      [[unlikely]] {
    return false;
  }
  const Field& field = fields_[field_++];
  if (field.first == nullptr) {
    return false;
  }
  value = field.first[(next_ - 1) * field.step];
  return true;
}

template <typename T>
inline void RowReader::operator()(std::string_view name, T& value) {
  if (std::int64_t stored = 0; take(name, stored)) {
    set(name, stored, value);
  }
}

template <typename T>
void RowReader::set(std::string_view name, std::int64_t stored, T& value) {
  const T before = value;
  convert(name, stored, value);
  Field* const field = fields_.empty() ? nullptr : &fields_[field_ - 1];
  if (field != nullptr && field->step == 0 && value == before) {
    field->first = nullptr;
  }
}

template <typename T>
void RowReader::convert(std::string_view name, std::int64_t stored, T& value) {
  if constexpr (std::is_same_v<T, StringId>) {
    set_id(name, stored, all_.document.strings.size(), value);
    if (value != StringId{}) {
      take_text(value);
    }
  } else if constexpr (std::is_same_v<T, std::string>) {
    StringId id{};
    set_id(name, stored, all_.document.strings.size(), id);
    take_text(id);
    value = all_.document.strings[static_cast<std::size_t>(id)];
  } else if constexpr (std::is_same_v<T, FrameId>) {
    set_id(name, stored, all_.of(RowTable::kFrames).rows(), value);
  } else if constexpr (std::is_same_v<T, StackId>) {
    set_id(name, stored, all_.of(RowTable::kStacks).rows(), value);
    take_stack(value, facts_of(table_).frame_bytes);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (stored != 0 && stored != 1) {
      refuse(std::string(name) + " is neither true nor false: " + std::to_string(stored));
      return;
    }
    value = stored != 0;
  } else if constexpr (std::is_same_v<T, char>) {
    if (!is_thread_state(stored)) {
      refuse(std::string(name) + " is no state of a thread: " + std::to_string(stored));
      return;
    }
    value = static_cast<char>(stored);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    value = static_cast<std::uint64_t>(stored);
  } else if constexpr (std::is_enum_v<T>) {
    if (stored >= 0 && stored <= static_cast<std::int64_t>(last_value(value))) {
      value = static_cast<T>(stored);
    }
  } else {
    if (!std::in_range<T>(stored)) {
      refuse(std::string(name) + " is out of range: " + std::to_string(stored));
      return;
    }
    value = static_cast<T>(stored);
  }
}

template <typename Id>
void RowReader::set_id(std::string_view name, std::int64_t stored, std::size_t limit, Id& id) {
  if (stored < 0 || static_cast<std::uint64_t>(stored) >= limit) {
    refuse(std::string(name) + " names row " + std::to_string(stored) + " of " +
           std::to_string(limit));
    return;
  }
  id = Id{static_cast<std::uint32_t>(stored)};
}

template <typename T>
void RowReader::index(std::string_view name, T& value, RowTable of) {
  (*this)(name, value);
  if (value >= all_.of(of).rows()) {
    refuse(std::string(name) + " is a row that does not exist");
  }
}

template <typename List>
void RowReader::rows(RowTable table, List& list, std::size_t most) {
  RowReader& child = all_.of(table);
  const std::size_t rows = count_rows(facts_of(table).name, child, most);
  if constexpr (requires { list.reserve(rows); }) {
    list.reserve(rows);
  }
  for (std::size_t i = 0; i < rows && child.next(); ++i) {
    if constexpr (std::is_same_v<List, SampleList>) {  // compares it with those before
      ThreadSample row;
      fields(child, row);
      list.push_back(row);
    } else {
      fields(child, list.emplace_back());
    }
  }
}

template <typename Box>
void RowReader::maybe(RowTable table, Box& box) {
  RowReader& child = all_.of(table);
  if (count_rows(facts_of(table).name, child, 1) == 1 && child.next()) {
    typename Box::value_type row;
    fields(child, row);
    box = std::move(row);
  }
}

// Most captures have no rare facts at all. Then all rows after the first skip them.
template <typename T>
void RowReader::rare(Rare<T>& facts) {
  if (skip_same(empty_columns_)) {
    return;
  }
  const std::size_t before = field_;
  T read;
  fields(*this, read);
  facts = std::move(read);
  empty_columns_ = facts.is_default() ? field_ - before : 0;
}

template <typename Fits>
void RowReader::check(const Fits& fits, const char* what) {
  if (!fits()) {
    refuse(what);
  }
}

}  // namespace oddrank::snapshot
