#include "cpython/bytecode/opcodes.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "base/split.h"

namespace oddrank::cpython {
namespace {

struct NamedOp {
  std::string_view name;  // a trailing '*' matches any rest
  Op op;
  std::uint8_t count = 0;  // Opcode::count
};

// The first matching row counts.
constexpr auto kNamedOps = std::to_array<NamedOp>({
    {"EXTENDED_ARG", Op::kExtendedArg},
    {"FOR_ITER", Op::kForIter},
    {"JUMP_FORWARD", Op::kJump},
    {"JUMP_ABSOLUTE", Op::kJump},
    {"JUMP_BACKWARD*", Op::kJump},
    {"JUMP_IF_*", Op::kBranch},
    {"POP_JUMP_*", Op::kBranch},
    {"SEND", Op::kSend},
    {"SETUP_WITH", Op::kSetupWith},
    {"SETUP_FINALLY", Op::kSetupFinally},
    {"SETUP_ASYNC_WITH", Op::kSetupFinally},
    {"CALL_FINALLY", Op::kCallFinally},
    {"RETURN_VALUE", Op::kEnd},
    {"RETURN_CONST", Op::kEnd},
    {"RAISE_VARARGS", Op::kEnd},
    {"RERAISE", Op::kEnd},
    {"INTERPRETER_EXIT", Op::kEnd},
    {"GEN_START", Op::kStartGenerator},
    {"RETURN_GENERATOR", Op::kStartGenerator},
    {"LOAD_FAST_LOAD_FAST", Op::kLoadTwoFast},
    {"LOAD_FAST_BORROW_LOAD_FAST_BORROW", Op::kLoadTwoFast},
    {"STORE_FAST_LOAD_FAST", Op::kStoreLoadFast},
    {"LOAD_FAST_AND_CLEAR", Op::kOther},
    {"LOAD_FAST*", Op::kLoadFast},
    {"LOAD_FROM_DICT_OR_DEREF", Op::kLoadDerefOf},
    {"LOAD_FROM_DICT_OR_GLOBALS", Op::kLoadNameOf},
    {"LOAD_DEREF", Op::kLoadDeref},
    {"LOAD_CLASSDEREF", Op::kLoadDeref},
    {"LOAD_CONST", Op::kLoadConst},
    {"LOAD_SMALL_INT", Op::kLoadNumber},
    {"LOAD_NAME", Op::kLoadName},
    {"LOAD_GLOBAL", Op::kLoadGlobal},
    {"LOAD_ATTR", Op::kLoadAttr},
    {"LOAD_METHOD", Op::kLoadMethod},
    {"LOAD_SUPER_ATTR", Op::kLoadSuper},
    {"LOAD_SPECIAL", Op::kLoadSpecial},
    {"BEFORE_WITH", Op::kEnterWith},
    {"BEFORE_ASYNC_WITH", Op::kEnterWith},
    {"WITH_EXCEPT_START", Op::kExitWith},
    {"MAKE_FUNCTION", Op::kMakeFunction},
    {"SET_FUNCTION_ATTRIBUTE", Op::kAddToFunction},
    {"CALL_FUNCTION", Op::kCallFunction},
    {"CALL_FUNCTION_KW", Op::kCallNames},
    {"CALL_FUNCTION_EX", Op::kCallUnpack},
    {"CALL_METHOD", Op::kCallMethod},
    {"PRECALL", Op::kPrecall},
    {"CALL", Op::kCall},
    {"CALL_KW", Op::kCallKw},
    {"BUILD_MAP", Op::kBuildMap},
    {"BUILD_CONST_KEY_MAP", Op::kBuildConstMap},
    {"BUILD_INTERPOLATION", Op::kInterpolate},
    {"BUILD_TEMPLATE", Op::kOther},
    {"BUILD_LIST", Op::kBuildList},
    {"BUILD_TUPLE", Op::kBuildList},
    {"BUILD_STRING", Op::kBuildText},
    {"BUILD_*", Op::kBuild},
    {"FORMAT_SIMPLE", Op::kFormatPlain},
    {"BINARY_OP", Op::kBinary},
    {"COMPARE_OP", Op::kCompare},
    {"BINARY_ADD", Op::kAddTwo},
    {"INPLACE_ADD", Op::kAddTwo},
    {"BINARY_TRUE_DIVIDE", Op::kDivideTwo},
    {"INPLACE_TRUE_DIVIDE", Op::kDivideTwo},
    {"LIST_EXTEND", Op::kExtendList},
    {"FORMAT_VALUE", Op::kFormat},
    {"UNPACK_SEQUENCE", Op::kUnpack},
    {"UNPACK_EX", Op::kUnpackRest},
    {"COPY", Op::kCopy},
    {"DUP_TOP", Op::kCopyTop, 1},
    {"DUP_TOP_TWO", Op::kCopyTop, 2},
    {"SWAP", Op::kSwap},
    {"ROT_TWO", Op::kSwapTwo},
    {"ROT_THREE", Op::kRotate, 3},
    {"ROT_FOUR", Op::kRotate, 4},
    {"ROT_N", Op::kRotateMany},
    {"NOP", Op::kDrop},
    {"TO_BOOL", Op::kDrop},
    {"NOT_TAKEN", Op::kDrop},
    {"RESUME", Op::kDrop},
    {"KW_NAMES", Op::kDrop},
    {"COPY_FREE_VARS", Op::kDrop},
    {"MAKE_CELL", Op::kDrop},
    {"SETUP_ANNOTATIONS", Op::kDrop},
    {"STORE_FAST_STORE_FAST", Op::kStoreTwoFast},
    {"STORE_FAST*", Op::kStoreFast},
    {"STORE_DEREF", Op::kStoreDeref},
    {"STORE_NAME", Op::kStoreName},
    {"STORE_ATTR", Op::kStoreInto},
    {"STORE_GLOBAL", Op::kStoreInto},
    {"STORE_SUBSCR", Op::kStoreInto},
    {"STORE_*", Op::kDrop},
    {"DELETE_*", Op::kDrop},
    {"POP_BLOCK", Op::kPopBlock},
    {"POP_*", Op::kDrop},
    {"LIST_APPEND", Op::kDrop},
    {"SET_ADD", Op::kDrop},
    {"MAP_ADD", Op::kDrop},
    {"SET_UPDATE", Op::kDrop},
    {"DICT_*", Op::kDrop},
    {"END_FOR", Op::kDrop},
    {"END_ASYNC_FOR", Op::kDrop},
    {"END_FINALLY", Op::kDrop},
    {"WITH_CLEANUP_FINISH", Op::kDrop},
    {"PRINT_EXPR", Op::kDrop},
    {"IMPORT_STAR", Op::kDrop},
    {"EXIT_INIT_CHECK", Op::kDrop},
});

template <typename Number>
std::optional<Number> to_number(std::string_view text) {
  Number number{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole ? std::optional<Number>(number) : std::nullopt;
}

const NamedOp* find_op(std::string_view name) {
  const auto row = std::find_if(kNamedOps.begin(), kNamedOps.end(), [name](const NamedOp& one) {
    return one.name.ends_with('*') ? name.starts_with(one.name.substr(0, one.name.size() - 1))
                                   : name == one.name;
  });
  return row == kNamedOps.end() ? nullptr : &*row;
}

JumpTo jump_of(char mark) {
  return mark == '>'   ? JumpTo::kForward
         : mark == '<' ? JumpTo::kBackward
         : mark == '=' ? JumpTo::kAbsolute
                       : JumpTo::kNowhere;
}

// Reads "93+1>": number, caches, jump.
std::optional<std::uint8_t> read_number(std::string_view text, Opcode& opcode) {
  opcode.jump = text.empty() ? JumpTo::kNowhere : jump_of(text.back());
  if (opcode.jump != JumpTo::kNowhere) {
    text.remove_suffix(1);
  }
  const auto plus = text.find('+');
  if (plus != std::string_view::npos) {
    opcode.caches = to_number<std::uint8_t>(text.substr(plus + 1)).value_or(0);
  }
  return to_number<std::uint8_t>(text.substr(0, plus));
}

// Reads "1/-1" or "?".
void read_effect(std::string_view text, Opcode& opcode) {
  const auto slash = text.find('/');
  const auto stays = to_number<std::int16_t>(text.substr(0, slash));
  opcode.by_argument = !stays;
  opcode.effect = stays.value_or(0);
  opcode.jump_effect = slash == std::string_view::npos
                           ? opcode.effect
                           : to_number<std::int16_t>(text.substr(slash + 1)).value_or(0);
}

}  // namespace

Instructions parse_opcodes(std::string_view rows) {
  Instructions table;
  for (const std::string_view row : split(rows, ';')) {
    const auto words = split_blanks(row);
    if (words.size() < 3) {
      continue;
    }
    Opcode opcode;
    const auto number = read_number(words[1], opcode);
    if (!number) {
      continue;
    }
    read_effect(words[2], opcode);
    const NamedOp* named = find_op(words[0]);
    opcode.op = named == nullptr ? Op::kOther : named->op;
    opcode.count = named == nullptr ? 0 : named->count;
    table.of[*number] = opcode;
    for (std::size_t i = 3; i < words.size(); ++i) {
      if (const auto form = to_number<std::uint8_t>(words[i])) {
        table.of[*form] = opcode;
      }
    }
  }
  return table;
}

Instructions instructions_of(std::uint32_t minor) {
  Instructions table = parse_opcodes(opcode_rows(minor));
  table.loose_depth = minor == 8;
  table.bytes_jump = minor == 8 || minor == 9;
  table.calls = minor >= 14   ? CallShape::kAlwaysNamed
                : minor == 13 ? CallShape::kNullSecond
                : minor >= 11 ? CallShape::kNullFirst
                              : CallShape::kBare;
  return table;
}

}  // namespace oddrank::cpython
