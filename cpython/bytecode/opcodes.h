// The instructions of each CPython version: their numbers, sizes and effects, as data.
//
// Numbers change with every minor version, names and meanings seldom. So each version's table maps
// numbers to names (opcode_tables.cc, printed by scripts/cpython_opcodes.py from the interpreter's
// own `opcode` and `dis`), and the meanings that matter here are looked up by name. A running 3.11+
// replaces instructions by specialised and instrumented forms; these count as the original
// instruction. Forms without one (a traced line, compiled code) are unknown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace oddrank::cpython {

// The kinds that the analysis of calls distinguishes; all others only push or pop values.
enum class Op : std::uint8_t {
  kUnknown,
  kOther,  // its results, if any, do not matter
  kDrop,   // only takes values from the stack, or does nothing to it
  kBranch,
  kForIter,  // a branch, at the start of a `for` loop
  kSend,     // a branch, at the start of the loop that an `await` is
  kJump,     // unconditional
  kEnd,      // leaves the code: return, raise
  kExtendedArg,
  kLoadFast,
  kLoadTwoFast,
  kStoreFast,  // with the next: only takes values from the stack
  kStoreTwoFast,
  kStoreDeref,
  kStoreName,
  kStoreInto,  // an attribute, an item, a global
  kStoreLoadFast,
  kLoadDeref,
  kLoadDerefOf,  // takes a namespace
  kLoadConst,
  kLoadNumber,  // 3.14+: its argument
  kLoadName,
  kLoadNameOf,  // takes a namespace
  kLoadGlobal,
  kLoadAttr,
  kLoadMethod,
  kLoadSuper,
  kLoadSpecial,  // a method of `with`
  kEnterWith,
  kExitWith,      // pushes whether the exception is swallowed
  kSetupWith,     // up to 3.10, like the next
  kSetupFinally,  // a branch: a `try` begins; it leads to the handlers
  kPopBlock,      // a `try` or `with` ends
  kCallFinally,   // 3.8: a branch that comes back
  kMakeFunction,
  kAddToFunction,
  kCallFunction,
  kCallNames,   // up to 3.10: with names of arguments
  kCallMethod,  // up to 3.10
  kPrecall,
  kCall,
  kCallKw,      // 3.13+: with names of arguments
  kCallUnpack,  // f(*a, **k)
  kBuildList,   // or a tuple
  kBuild,
  kBuildMap,
  kBuildConstMap,
  kExtendList,
  kBuildText,    // f-strings, with the next two
  kFormat,       // up to 3.12
  kFormatPlain,  // 3.13+: as str() does
  kBinary,       // 3.11+: an operator
  kCompare,
  kAddTwo,  // up to 3.10: +, and the next: /
  kDivideTwo,
  kInterpolate,
  kUnpack,
  kUnpackRest,
  kCopy,
  kCopyTop,
  kSwap,
  kSwapTwo,
  kRotate,
  kRotateMany,
  kStartGenerator,
};

enum class JumpTo : std::uint8_t { kNowhere, kForward, kBackward, kAbsolute };

struct Opcode {
  Op op = Op::kUnknown;
  JumpTo jump = JumpTo::kNowhere;
  std::uint8_t caches = 0;       // units of inline caches that follow
  bool by_argument = false;      // the effect depends on the argument
  std::int16_t effect = 0;       // values added to the stack
  std::int16_t jump_effect = 0;  // the same if it jumps
  std::uint8_t count = 0;        // kRotate, kCopyTop: how many values
};

// How calls arrange the stack.
enum class CallShape : std::uint8_t {
  kBare,         // up to 3.10: the callable, then the arguments
  kNullFirst,    // 3.11, 3.12: NULL and the callable, or a method and its object
  kNullSecond,   // 3.13: the callable and NULL, or a method and its object
  kAlwaysNamed,  // 3.14+: the same; f(*a) has a place for **k
};

struct Instructions {
  std::array<Opcode, 256> of{};
  bool bytes_jump = false;  // up to 3.9: jumps count bytes, not units of two
  CallShape calls = CallShape::kBare;
  // 3.8: after a `finally`, the stack differs from what the compiler expects.
  bool loose_depth = false;
};

// Returns the table of version 3.`minor`; of an unknown version, all instructions are unknown.
Instructions instructions_of(std::uint32_t minor);

// Parses rows in the form that the script prints, with a ';' behind each; skips others.
Instructions parse_opcodes(std::string_view rows);

// Returns the script's rows for version 3.`minor`; "" for an unknown version.
std::string_view opcode_rows(std::uint32_t minor);

}  // namespace oddrank::cpython
