#include "cpython/bytecode/loop_exits.h"

#include "tests/support/catch.h"
#include "tests/unit/cpython/bytecode/assembler.h"

namespace oddrank::cpython {
namespace {

using test::Assembler;
using Rows = std::vector<Assembler::Row>;

// Returns a letter for each call: y if the loop around the instruction `at` may end by it, else n.
std::string ending_calls(const Rows& rows, std::uint32_t at) {
  const Assembler code(12);
  AnalysedCode analysed;
  analysed.instructions = code.decoded(rows);
  REQUIRE_FALSE(analysed.instructions.empty());
  analysed.calls = find_calls(code.table(), analysed.instructions, {});
  const auto loops = find_loops(analysed.instructions, {}, at);
  REQUIRE(loops.size() == 1);
  std::string text;
  for (const bool may_end : calls_that_may_end(analysed, loops.front())) {
    text += may_end ? 'y' : 'n';
  }
  return text;
}

// f(): global 1 is called.
const Rows kCall = {{"PUSH_NULL", 0}, {"LOAD_NAME", 1}, {"CALL", 0}};

Rows joined(const std::vector<Rows>& parts) {
  Rows all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

TEST_CASE(
    "loop exits: a call that is tested where the loop ends, and one whose result is dropped") {
  // while not f(): f()
  CHECK(ending_calls(joined({kCall,
                             {{"POP_JUMP_IF_TRUE", 8}},
                             kCall,
                             {{"POP_TOP", 0}, {"JUMP_BACKWARD", 15}, {"RETURN_CONST", 0}}}),
                     4) == "yn");
}

TEST_CASE("loop exits: what is tested later is followed through variables and comparisons") {
  // while True: v = f(); w = f(); if v == 1: break
  CHECK(ending_calls(joined({kCall,
                             {{"STORE_FAST", 0}},
                             kCall,
                             {{"STORE_FAST", 1},
                              {"LOAD_FAST", 0},
                              {"LOAD_CONST", 1},
                              {"COMPARE_OP", 40},
                              {"POP_JUMP_IF_TRUE", 1},
                              {"JUMP_BACKWARD", 20},
                              {"RETURN_CONST", 0}}}),
                     4) == "yn");
}

TEST_CASE("loop exits: results that objects keep, and methods of what is tested, may end it") {
  // while not v.a: v.m(f()); w.m(f()); x.a = f()
  const Rows on_v = {{"LOAD_FAST", 0}, {"LOAD_ATTR", 5}};
  const Rows on_w = {{"LOAD_FAST", 1}, {"LOAD_ATTR", 5}};
  const Rows with_result = {{"CALL", 1}, {"POP_TOP", 0}};
  CHECK(
      ending_calls(
          joined(
              {{{"LOAD_FAST", 0}, {"LOAD_ATTR", 2}, {"POP_JUMP_IF_TRUE", 57}},
               on_v,
               kCall,
               with_result,
               on_w,
               kCall,
               with_result,
               kCall,
               {{"LOAD_FAST", 2}, {"STORE_ATTR", 3}, {"JUMP_BACKWARD", 69}, {"RETURN_CONST", 0}}}),
          4) == "yynny");
}

TEST_CASE("loop exits: if a test is unknown, any call may end the loop") {
  // while True: f(); if <a value from nowhere>: break
  CHECK(ending_calls(joined({kCall,
                             {{"POP_TOP", 0},
                              {"GET_LEN", 0},
                              {"POP_JUMP_IF_TRUE", 1},
                              {"JUMP_BACKWARD", 10},
                              {"RETURN_CONST", 0}}}),
                     1) == "y");
}

TEST_CASE("loop exits: a loop is endless if only exceptions that it does not handle end it") {
  const Assembler code(12);
  const auto endless = [&code](const Rows& rows, std::vector<HandlerRange> handlers) {
    AnalysedCode analysed;
    analysed.instructions = code.decoded(rows);
    analysed.handlers = std::move(handlers);
    const auto loops = find_loops(analysed.instructions, analysed.handlers, 2);
    REQUIRE(loops.size() == 1);
    return is_endless(analysed, loops.front());
  };
  // while True: f()
  const Rows turns = {{"RESUME", 0},  {"NOP", 0},           {"LOAD_FAST", 0},
                      {"POP_TOP", 0}, {"JUMP_BACKWARD", 4}, {"PUSH_EXC_INFO", 0},
                      {"POP_TOP", 0}, {"RETURN_CONST", 0}};
  CHECK(endless(turns, {}));
  CHECK_FALSE(endless(turns, {{2, 4, 5, 0, false}}));  // try: f() except: return, outside
  // while True: if v: break
  CHECK_FALSE(endless({{"RESUME", 0},
                       {"NOP", 0},
                       {"LOAD_FAST", 0},
                       {"POP_JUMP_IF_TRUE", 1},
                       {"JUMP_BACKWARD", 4},
                       {"RETURN_CONST", 0}},
                      {}));
}

}  // namespace oddrank::cpython
