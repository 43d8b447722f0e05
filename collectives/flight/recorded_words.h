// The texts of a flight recorder's calls, the same from dumps and from memory, so that ranks can be
// compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "snapshot/flight_record.h"
#include "snapshot/tables.h"

namespace oddrank::collectives {

// Fills op, backend and, for a send or receive, peer from a name such as "nccl:all_reduce" or
// "nccl:send 0->1".
void fill_recorded_name(std::string_view name,
                        snapshot::Tables& texts,
                        snapshot::FlightEntry& entry);

// Returns whether a file belongs to PyTorch, the standard library or a decorator that stands
// between the program and PyTorch: its lines do not show where the program is.
bool is_below_caller(std::string_view file);

// Returns "train (train.py:88)".
std::string recorded_place(std::string_view function, std::string_view file, std::int64_t line);

// The sizes of a list of tensors as text, cut at some 200 bytes, and how many numbers they hold.
class TensorSizes {
 public:
  void begin_tensor();
  void add(std::int64_t size);
  void end_tensor();
  const std::string& text() const { return text_; }  // "[4, 2], [4]"
  std::int64_t count() const { return count_; }      // 0 if it overflows: a damaged record

 private:
  static constexpr std::size_t kMaxText = 200;
  std::string text_;
  std::int64_t count_ = 0;
  std::int64_t product_ = 1;
  bool shown_ = false;
  bool first_ = true;
};

// The types of a list of tensors: equal neighbours once, "Float, Long".
class TensorTypes {
 public:
  void add(std::string_view name);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string last_;
};

}  // namespace oddrank::collectives
