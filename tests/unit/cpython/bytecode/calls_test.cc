#include "cpython/bytecode/calls.h"

#include "tests/support/catch.h"
#include "tests/unit/cpython/bytecode/assembler.h"

namespace oddrank::cpython {
namespace {

using test::Assembler;
using Row = Assembler::Row;

// Returns a symbol as text: "global 3", "attribute 5 of local 0".
std::string words(const CodeCalls& calls, std::uint32_t at) {
  const Symbol& symbol = calls.symbols.at(at);
  const std::string index = std::to_string(symbol.index);
  switch (symbol.kind) {
    case SymbolKind::kFast:
      return "local " + index;
    case SymbolKind::kDeref:
      return "cell " + index;
    case SymbolKind::kConstant:
      return "constant " + index;
    case SymbolKind::kGlobal:
      return "global " + index;
    case SymbolKind::kAttribute:
      return "attribute " + index + " of " + words(calls, symbol.base);
    case SymbolKind::kFunction:
      return "function " + index;
    case SymbolKind::kFirstOf:
      return "first of " + words(calls, symbol.base);
    case SymbolKind::kResult:
      return "result " + index;
    case SymbolKind::kFormatted:
      return "text of " + words(calls, symbol.base);
    case SymbolKind::kConcatenated:
      return words(calls, symbol.base) + " + " + words(calls, symbol.other);
    case SymbolKind::kPathJoined:
      return words(calls, symbol.base) + " / " + words(calls, symbol.other);
    default:
      return "?";
  }
}

std::string call_words(std::uint32_t minor,
                       const std::vector<Row>& rows,
                       const std::vector<HandlerRange>& handlers = {}) {
  const Assembler code(minor);
  const auto decoded = code.decoded(rows);
  REQUIRE_FALSE(decoded.empty());
  const CodeCalls calls = find_calls(code.table(), decoded, handlers);
  std::string text;
  for (const CodeCall& call : calls.calls) {
    text += (text.empty() ? "" : "; ") + words(calls, call.callee) + "(";
    for (std::size_t i = 0; i < call.arguments.size(); ++i) {
      text += (i == 0 ? "" : ", ") + words(calls, call.arguments[i]);
    }
    text += ")@" + std::to_string(call.place);
  }
  return text;
}

}  // namespace

TEST_CASE("calls: os.exists(path), as each version compiles it") {
  const std::string old = "attribute 1 of global 0(local 0)@2";
  const std::vector<Row> method = {
      {"LOAD_GLOBAL", 0}, {"LOAD_METHOD", 1}, {"LOAD_FAST", 0}, {"CALL_METHOD", 1}};
  CHECK(call_words(8, method) == "attribute 1 of global 0(local 0)@-1");
  CHECK(call_words(9, method) == old);
  CHECK(call_words(10, method) == old);
  CHECK(call_words(11, {{"LOAD_GLOBAL", 0},
                        {"LOAD_METHOD", 1},
                        {"LOAD_FAST", 0},
                        {"PRECALL", 1},
                        {"CALL", 1}}) == old);
  for (const std::uint32_t minor : {12U, 13U}) {
    CHECK(call_words(minor,
                     {{"LOAD_GLOBAL", 0}, {"LOAD_ATTR", 3}, {"LOAD_FAST", 0}, {"CALL", 1}}) == old);
  }
  for (const std::uint32_t minor : {14U, 15U}) {
    CHECK(call_words(
              minor,
              {{"LOAD_GLOBAL", 0}, {"LOAD_ATTR", 3}, {"LOAD_FAST_BORROW", 0}, {"CALL", 1}}) == old);
  }
}

TEST_CASE("calls: print(a, b) of a global or a local, as each version compiles it") {
  CHECK(call_words(10, {{"LOAD_GLOBAL", 2}, {"LOAD_CONST", 1}, {"CALL_FUNCTION", 1}}) ==
        "global 2(constant 1)@1");
  CHECK(call_words(11, {{"LOAD_GLOBAL", 5}, {"LOAD_CONST", 1}, {"PRECALL", 1}, {"CALL", 1}}) ==
        "global 2(constant 1)@2");
  CHECK(call_words(12, {{"PUSH_NULL", 0}, {"LOAD_FAST", 3}, {"LOAD_CONST", 1}, {"CALL", 1}}) ==
        "local 3(constant 1)@2");
  CHECK(call_words(13, {{"LOAD_FAST", 3}, {"PUSH_NULL", 0}, {"LOAD_CONST", 1}, {"CALL", 1}}) ==
        "local 3(constant 1)@2");
  CHECK(call_words(13, {{"LOAD_GLOBAL", 5}, {"LOAD_FAST_LOAD_FAST", 0x21}, {"CALL", 2}}) ==
        "global 2(local 2, local 1)@2");
}

TEST_CASE("calls: arguments by name") {
  CHECK(call_words(
            10, {{"LOAD_NAME", 0}, {"LOAD_FAST", 1}, {"LOAD_CONST", 2}, {"CALL_FUNCTION_KW", 1}}) ==
        "global 0(local 1)@1");
  CHECK(call_words(
            12,
            {{"PUSH_NULL", 0}, {"LOAD_NAME", 0}, {"LOAD_FAST", 1}, {"KW_NAMES", 2}, {"CALL", 1}}) ==
        "global 0(local 1)@2");
  CHECK(call_words(14, {{"LOAD_NAME", 0},
                        {"PUSH_NULL", 0},
                        {"LOAD_FAST", 1},
                        {"LOAD_CONST", 2},
                        {"CALL_KW", 1}}) == "global 0(local 1)@2");
  // f(*a, **k)
  CHECK(call_words(
            10, {{"LOAD_NAME", 0}, {"LOAD_FAST", 1}, {"LOAD_FAST", 2}, {"CALL_FUNCTION_EX", 1}}) ==
        "global 0()@1");
  CHECK(call_words(14, {{"LOAD_NAME", 0},
                        {"PUSH_NULL", 0},
                        {"LOAD_FAST", 1},
                        {"LOAD_FAST", 2},
                        {"CALL_FUNCTION_EX", 0}}) == "global 0()@2");
}

TEST_CASE("calls: lists of keys, functions made here, results of calls") {
  CHECK(call_words(10, {{"LOAD_FAST", 0},
                        {"LOAD_METHOD", 0},
                        {"LOAD_CONST", 1},
                        {"BUILD_LIST", 1},
                        {"CALL_METHOD", 1}}) == "attribute 0 of local 0(first of constant 1)@2");
  // Three constants and more.
  CHECK(call_words(10, {{"LOAD_FAST", 0},
                        {"LOAD_METHOD", 0},
                        {"BUILD_LIST", 0},
                        {"LOAD_CONST", 1},
                        {"LIST_EXTEND", 1},
                        {"CALL_METHOD", 1}}) == "attribute 0 of local 0(constant 1)@2");
  // all(x for x in it)
  CHECK(call_words(11, {{"LOAD_GLOBAL", 1},
                        {"LOAD_CONST", 1},
                        {"MAKE_FUNCTION", 0},
                        {"LOAD_FAST", 0},
                        {"GET_ITER", 0},
                        {"PRECALL", 0},
                        {"CALL", 0},
                        {"PRECALL", 1},
                        {"CALL", 1}}) == "function 1()@4; global 0(result 0)@2");
  // f"{x}/done"
  CHECK(call_words(11, {{"LOAD_GLOBAL", 1},
                        {"LOAD_FAST", 0},
                        {"FORMAT_VALUE", 0},
                        {"LOAD_CONST", 1},
                        {"BUILD_STRING", 2},
                        {"PRECALL", 1},
                        {"CALL", 1}}) == "global 0(text of local 0 + constant 1)@2");
}

TEST_CASE("calls: concatenated texts, as each version compiles them") {
  CHECK(call_words(13, {{"LOAD_GLOBAL", 1},
                        {"LOAD_FAST", 0},
                        {"FORMAT_SIMPLE", 0},
                        {"LOAD_CONST", 1},
                        {"BUILD_STRING", 2},
                        {"CALL", 1}}) == "global 0(text of local 0 + constant 1)@2");
  // With a format, or an unknown part.
  for (const char* format : {"FORMAT_WITH_SPEC", "BINARY_SLICE"}) {
    CHECK(call_words(13, {{"LOAD_GLOBAL", 1},
                          {"LOAD_CONST", 1},
                          {"LOAD_CONST", 1},
                          {"LOAD_FAST", 0},
                          {"LOAD_CONST", 1},
                          {format, 0},
                          {"BUILD_STRING", 2},
                          {"CALL", 1}})
              .find("?") != std::string::npos);
  }
  const std::vector<Row> operands = {{"LOAD_GLOBAL", 0}, {"LOAD_FAST", 0}, {"LOAD_CONST", 1}};
  const auto with = [&](std::uint32_t minor, std::vector<Row> rows) {
    rows.insert(rows.begin(), operands.begin(), operands.end());
    return call_words(minor, rows);
  };
  CHECK(with(9, {{"BINARY_ADD", 0}, {"CALL_FUNCTION", 1}}) == "global 0(local 0 + constant 1)@1");
  CHECK(with(9, {{"BINARY_TRUE_DIVIDE", 0}, {"CALL_FUNCTION", 1}}) ==
        "global 0(local 0 / constant 1)@1");
  CHECK(with(9, {{"BINARY_MODULO", 0}, {"CALL_FUNCTION", 1}}) == "global 0(?)@1");
  CHECK(with(12, {{"BINARY_OP", 0}, {"CALL", 1}}).find("(local 0 + constant 1)") !=
        std::string::npos);
  CHECK(with(12, {{"BINARY_OP", 11}, {"CALL", 1}}).find("(local 0 / constant 1)") !=
        std::string::npos);
  CHECK(with(12, {{"BINARY_OP", 6}, {"CALL", 1}}).find("(?)") != std::string::npos);
}

TEST_CASE("calls: if two paths meet, only values that both agree on are known") {
  // f(a if c else b)
  CHECK(call_words(11, {{"LOAD_GLOBAL", 1},
                        {"LOAD_FAST", 2},
                        {"POP_JUMP_FORWARD_IF_FALSE", 2},
                        {"LOAD_FAST", 0},
                        {"JUMP_FORWARD", 1},
                        {"LOAD_FAST", 1},
                        {"PRECALL", 1},
                        {"CALL", 1}}) == "global 0(?)@2");
}

TEST_CASE("calls: calls made by `with` are not listed") {
  CHECK(call_words(12, {{"LOAD_FAST", 0},
                        {"BEFORE_WITH", 0},
                        {"POP_TOP", 0},
                        {"LOAD_CONST", 0},
                        {"LOAD_CONST", 0},
                        {"LOAD_CONST", 0},
                        {"CALL", 2}})
            .empty());
  CHECK(call_words(14, {{"LOAD_FAST", 0},
                        {"COPY", 1},
                        {"LOAD_SPECIAL", 1},
                        {"SWAP", 2},
                        {"SWAP", 3},
                        {"LOAD_SPECIAL", 0},
                        {"CALL", 0}})
            .empty());
}

TEST_CASE("calls: a handler knows how much of the stack is left") {
  // 0 NOP, 1 RAISE; the handler at 3 begins with one value and the exception.
  CHECK(call_words(12,
                   {{"LOAD_FAST", 0},
                    {"NOP", 0},
                    {"RAISE_VARARGS", 0},
                    {"PUSH_EXC_INFO", 0},
                    {"LOAD_GLOBAL", 1},
                    {"LOAD_CONST", 0},
                    {"CALL", 1}},
                   {{1, 3, 3, 1, false}}) == "global 0(constant 0)@5");
}

TEST_CASE("calls: an empty or endless stack is not trusted") {
  CHECK(call_words(12, {{"POP_TOP", 0}, {"POP_TOP", 0}, {"CALL", 3}}) == "?(?, ?, ?)@-1");
  std::vector<Row> rows(1000, {"LOAD_FAST", 0});
  rows.emplace_back("CALL", 1);
  CHECK(call_words(12, rows).ends_with("@-1"));
  CHECK(call_words(
            12,
            {{"EXTENDED_ARG", 255}, {"EXTENDED_ARG", 255}, {"EXTENDED_ARG", 255}, {"CALL", 255}}) ==
        "?(?, ?, ?, ?)@-1");
  CHECK(call_words(12, {{"LOAD_FAST", 0}, {"SWAP", 9}, {"CALL", 0}}).ends_with("@-1"));
}

}  // namespace oddrank::cpython
