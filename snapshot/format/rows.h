// Rows of a capture to columns and back. One list of fields serves both ways (fields.h), so that
// what is written is what is read. Private to snapshot/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/memory_budget.h"
#include "snapshot/capture.h"
#include "snapshot/format/columns.h"
#include "snapshot/ids.h"

namespace oddrank::snapshot {

// writer("tid", thread.tid) appends a value to a column; names are literals.
class RowWriter {
 public:
  explicit RowWriter(Table& table) : table_(table) {}

  template <typename T>
  void operator()(std::string_view name, const T& value) {
    column(name).push_back(static_cast<std::int64_t>(value));
  }

 private:
  Column& column(std::string_view name);

  Table& table_;
  // In the order of the first row's values. Every row has the same, so that a name is recognised by
  // its address.
  std::vector<std::pair<const char*, Column*>> known_;
  std::size_t next_ = 0;
};

// How many rows the tables of ids have; ids beyond are refused.
struct IdLimits {
  std::size_t strings = 0;
  std::size_t frames = 0;
  std::size_t stacks = 0;
  // Where a row refers to a text, a report may print it; null: texts cost nothing.
  MemoryBudget* budget = nullptr;
};

// The highest value of each enumeration that a capture stores; a file with a higher one is refused,
// so that no code after the decoder has to check.
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
  return WaitHow::kObject;
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
  return LockOwner::kNobodyAcquired;
}
constexpr LockWish last_value(LockWish /*type*/) {
  return LockWish::kWrite;
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
  return stored > 0 && stored < 128 &&
         kLetters.find(static_cast<char>(stored)) != std::string_view::npos;
}

// Reads the table of that name; a missing table has no rows. Borrows the document. reader("tid",
// thread.tid) takes the value of the current row; names are literals. Remembers the first mismatch
// as `problem`; fields keep their defaults from then on.
class RowReader {
 public:
  RowReader(std::string_view name, const ReadDocument& document, const IdLimits& limits);

  bool present() const { return table_ != nullptr; }
  std::size_t rows() const { return rows_; }
  std::size_t rows_left() const { return rows_ - next_; }
  // Steps to the next row; returns false after the last one.
  bool next();
  // How many values of the current row were read.
  std::size_t values_read() const { return field_; }
  // Returns whether the next `count` values are the same in all rows, so that the caller knows them
  // from the row before, and steps over them. False for none.
  bool skip_same(std::size_t count);
  // Also reports a problem if a column was never read, or differs in length from the first.
  void check_columns();
  const std::string& problem() const { return problem_; }
  void refuse(const std::string& what);

  template <typename T>
  void operator()(std::string_view name, T& value);

 private:
  // A column that has been asked for, by the address of the name that the caller passed.
  struct Field {
    const char* name = nullptr;
    const std::int64_t* first = nullptr;
    std::size_t step = 1;
  };

  // Not a call: a report of a large job takes hundreds of millions of values.
  [[gnu::always_inline]] bool take(std::string_view name, std::int64_t& value);
  // Returns false if there is no such column, or a problem.
  bool find_field(std::string_view name);
  // Takes room for a text that the row refers to.
  void take_text(StringId id);
  template <typename Id>
  void set_id(std::string_view name, std::int64_t stored, std::size_t limit, Id& id);
  template <typename Number, typename T>
  void set_number(std::string_view name, std::int64_t stored, Number /*type*/, T& value);

  std::string name_;
  const ReadTable* table_;
  const std::int64_t* numbers_;
  const std::vector<std::string_view>& texts_;
  IdLimits limits_;
  std::size_t rows_ = 0;
  std::size_t next_ = 0;
  std::size_t asked_ = 0;  // values read, of all rows
  std::size_t field_ = 0;  // of the current row
  // In the order of the first row's reads; none once there is a problem. Every row reads the same
  // in the same order: names are looked up for the first one, and recognised by their address
  // afterwards.
  std::vector<Field> fields_;
  std::string problem_;
};

inline bool RowReader::take(std::string_view name, std::int64_t& value) {
  if ((field_ >= fields_.size() || fields_[field_].name != name.data()) && !find_field(name))
      [[unlikely]] {
    return false;
  }
  ++asked_;
  const Field& field = fields_[field_++];
  value = field.first[(next_ - 1) * field.step];
  return true;
}

template <typename T>
void RowReader::operator()(std::string_view name, T& value) {
  std::int64_t stored = 0;
  if (!take(name, stored)) {
    return;
  }
  if constexpr (std::is_same_v<T, StringId>) {
    set_id(name, stored, limits_.strings, value);
    if (value != StringId{}) {
      take_text(value);
    }
  } else if constexpr (std::is_same_v<T, FrameId>) {
    set_id(name, stored, limits_.frames, value);
  } else if constexpr (std::is_same_v<T, StackId>) {
    set_id(name, stored, limits_.stacks, value);
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
    if (stored < 0 || stored > static_cast<std::int64_t>(last_value(value))) {
      refuse(std::string(name) + " has the unknown value " + std::to_string(stored));
      return;
    }
    value = static_cast<T>(stored);
  } else {
    set_number(name, stored, T{}, value);
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

template <typename Number, typename T>
void RowReader::set_number(std::string_view name, std::int64_t stored, Number /*type*/, T& value) {
  if (!std::in_range<Number>(stored)) {
    refuse(std::string(name) + " is out of range: " + std::to_string(stored));
    return;
  }
  value = static_cast<T>(stored);
}

// Returns how many rows of `child` belong to the parent's row; more than there are is a problem.
std::uint64_t count_rows(RowReader& parent, std::string_view name, RowReader& child);
// Steps `child`; refuses if its rows are used up although its parents count more.
bool step_row(RowReader& child);

// Calls take() for each row of `child` that belongs to the parent's row.
template <typename Take>
void each_row(RowReader& parent, std::string_view name, RowReader& child, const Take& take) {
  const std::uint64_t rows = count_rows(parent, name, child);
  for (std::uint64_t i = 0; i < rows && step_row(child); ++i) {
    take();
  }
}

// The same; the rows go into a vector, which is as large as it has to be from the start.
template <typename Rows, typename Make>
void rows_into(
    RowReader& parent, std::string_view name, RowReader& child, Rows& into, const Make& make) {
  const std::uint64_t rows = count_rows(parent, name, child);
  into.reserve(rows);
  for (std::uint64_t i = 0; i < rows && step_row(child); ++i) {
    into.push_back(make());
  }
}

}  // namespace oddrank::snapshot
