// Limits the memory that foreign bytes may need, before it is allocated: a file of some kilobytes
// can describe gigabytes.
#pragma once

#include <cstddef>
#include <limits>

namespace oddrank {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t bytes) : left_(bytes) {}

  // Returns the budget of an input: `fixed` bytes whatever its size, and `times` its size.
  static MemoryBudget of_input(std::size_t size, std::size_t times, std::size_t fixed);

  // Takes memory for `count` objects of `size` bytes. Returns false if there is not enough, and
  // from then on.
  bool take(std::size_t count, std::size_t size = 1);
  std::size_t left() const { return over_ ? 0 : left_; }
  bool over() const { return over_; }

 private:
  std::size_t left_;
  bool over_ = false;
};

inline MemoryBudget MemoryBudget::of_input(std::size_t size, std::size_t times, std::size_t fixed) {
  const std::size_t most = std::numeric_limits<std::size_t>::max() - fixed;
  return MemoryBudget(fixed + (size > most / times ? most : size * times));
}

inline bool MemoryBudget::take(std::size_t count, std::size_t size) {
  if (over_ || (size != 0 && count > left_ / size)) {
    over_ = true;
    return false;
  }
  left_ -= count * size;
  return true;
}

}  // namespace oddrank
