// Resolves the symbols of a call (calls.h) in a frame: to names, and to objects as text.
//
// The value stack of a frame for the analysis of calls, with symbols in place of values. It holds
// at most kMaxStackSymbols; beyond that it forgets everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/bytecode/calls.h"
#include "cpython/frame_chain.h"
#include "cpython/objects/dicts.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxObjectText = 256;  // characters
inline constexpr std::size_t kMaxObjectTexts = 4;   // of a list

// Returns the text of a str or of a path (pathlib); for a list or tuple of these, of the first
// ones, separated by ", ". Empty for all other objects. Texts are cut at kMaxObjectText.
std::string object_text(PythonMemory& memory, Addr object);

class SymbolValues {
 public:
  // Both must outlive the object. `calls`: of the frame's code. `globals`: the dict of globals for
  // code that no frame runs; null: the frame's.
  SymbolValues(PythonMemory& memory,
               const CodeCalls& calls,
               const RawFrame& frame,
               Addr globals = Addr{});

  Addr globals() const { return globals_; }

  // Returns the last part of its name in the code; empty if it has none.
  std::string name_of(std::uint32_t symbol);
  // Returns the name of a symbol that is not in `calls`.
  std::string name_of(const Symbol& symbol);
  // Returns the module of a called function ("posixpath", "builtins"), or the type of a called
  // method ("threading.Event"); empty if that is unknown.
  std::string owner_of(std::uint32_t callee);
  // Returns the object; null if it is unknown, or a builtin.
  Addr object_of(std::uint32_t symbol);
  // Returns object_text; "<hidden>" if the name sounds like a secret. A text that the code composes
  // (f-strings, `a + b`, `path / name`, os.path.join) is made from the current values of its parts;
  // empty if a part is unknown.
  std::string text_of(std::uint32_t symbol);
  // Returns the code object if the symbol is a constant with one; null otherwise.
  Addr code_of(std::uint32_t symbol);

 private:
  Addr object_within(std::uint32_t symbol, int depth);
  std::string text_within(std::uint32_t symbol, int depth);
  std::string text_of_result(const CodeCall& call, int depth);
  std::string text_of_object(std::uint32_t symbol, bool numbers);
  Addr item_of(std::uint32_t tuple, std::uint32_t index);
  Addr tuple_item(Addr tuple, std::uint64_t index);
  Addr variable(std::uint32_t index, bool in_cell);
  Addr name_object(const Symbol& symbol);
  Addr global(std::string_view name);
  bool is_builtin(const Symbol& symbol);
  std::string owner_of_receiver(std::uint32_t receiver);
  std::string module_of(Addr callable);

  PythonMemory& memory_;
  const CodeCalls& calls_;
  RawFrame frame_;
  Addr globals_{};
  int parts_left_ = 0;  // of the text that is being put together
};

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
