// Finds the calls in a code object: callees and arguments, as far as the code alone shows them.
//
// The code is walked once from start to end with a stack of symbols: "global 3", "attribute 5 of
// local 0", "constant 2". Values from elsewhere (an operator, another call) are unknown. Where two
// paths meet, values on which they disagree are unknown. So all paths to a call agree on its
// symbols, apart from jumps back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "cpython/bytecode/decode.h"
#include "cpython/bytecode/exception_table.h"

namespace oddrank::cpython {

enum class SymbolKind : std::uint8_t {
  kUnknown,
  kFast,          // local variable `index`
  kDeref,         // variable in a cell; up to 3.10 `index` counts cells only
  kConstant,      // `index` of the constants
  kNumber,        // the number `index`
  kGlobal,        // or a builtin: `index` of the names
  kAttribute,     // `index` of the names, of `base`
  kFunction,      // made here, of the code that is the constant `index`
  kFirstOf,       // a list or tuple made here whose first item is `base`
  kImplicit,      // what `with` calls
  kResult,        // of the call `index`
  kFormatted,     // `base` as text
  kConcatenated,  // texts: `base` and then `other`
  kPathJoined,    // the path `base` / `other`
  kCompared,      // `base` with `other`
  kComputed,      // from `base`, and from `other` if it is known
};

struct Symbol {
  SymbolKind kind = SymbolKind::kUnknown;
  std::uint32_t index = 0;
  std::uint32_t base = 0;   // an index into CodeCalls::symbols
  std::uint32_t other = 0;  // the same

  bool operator==(const Symbol&) const = default;
};

inline constexpr std::size_t kMaxCallArguments = 4;  // of a CodeCall; later ones are left out

struct CodeCall {
  std::uint32_t instruction = 0;         // index
  std::uint32_t callee = 0;              // an index into CodeCalls::symbols, like the arguments
  std::vector<std::uint32_t> arguments;  // by position, then by name
  std::uint32_t count = 0;               // of all arguments; 0 for f(*a)
  // Where on the frame's value stack the first argument is during the call; -1: unknown.
  std::int32_t place = -1;
};

// A value that is stored.
struct CodeStore {
  std::uint32_t instruction = 0;  // index
  std::uint32_t value = 0;        // an index into CodeCalls::symbols
  Symbol variable;                // unknown: an attribute, an item, a global
};

struct CodeCalls {
  std::vector<Symbol> symbols = {Symbol{}};  // the first is unknown
  std::vector<CodeCall> calls;               // in the order of the code
  // How many values are on the stack before a FOR_ITER, by its index; the iterator is the last, or
  // from 3.15 on the last but one. Absent: unknown.
  std::map<std::uint32_t, std::int32_t> iterators;
  // What branches test, in the order of the code: the index of the branch and the index of a
  // symbol. Absent: unknown.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tests;
  std::vector<CodeStore> stores;  // in the order of the code
};

// Returns the calls of decoded code; `handlers` is its exception table (empty up to 3.10).
CodeCalls find_calls(const Instructions& table,
                     std::span<const DecodedInstruction> code,
                     std::span<const HandlerRange> handlers);

}  // namespace oddrank::cpython
