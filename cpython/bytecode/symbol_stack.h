// The value stack of a frame for the analysis of calls, with symbols in place of values. It holds
// at most kMaxStackSymbols; beyond that it forgets everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace oddrank::cpython {

inline constexpr std::size_t kMaxStackSymbols = 128;  // real code has no deeper expressions
inline constexpr std::uint32_t kUnknownSymbol = 0;

class SymbolStack {
 public:
  void push(std::uint32_t symbol);
  void push_unknown(std::size_t count);
  // Returns the top value; unknown if there is none.
  std::uint32_t pop();
  void drop(std::size_t count);
  // Pushes unknown values, or drops some if the effect is negative.
  void add(int effect);
  // Returns the value `from_top` values below the top; unknown if there is none.
  std::uint32_t peek(std::size_t from_top) const;
  // Swaps the top with the value at this depth; 1 is the top itself.
  void swap_with(std::size_t depth);
  // Makes the topmost values unknown.
  void blur(std::size_t count);
  // Forgets everything, including how many values there are.
  void forget();
  // Becomes the stack at the start of an exception handler: `kept` values, and `pushed` unknown
  // ones.
  void cut_to(std::size_t kept, std::size_t pushed);
  // Makes the values unknown that differ between the two stacks.
  void merge(const SymbolStack& other);

  std::size_t size() const { return values_.size(); }
  // Returns whether these are all values of the stack, with no unknown number below.
  bool depth_is_known() const { return known_; }

 private:
  std::vector<std::uint32_t> values_;
  bool known_ = true;
};

}  // namespace oddrank::cpython
