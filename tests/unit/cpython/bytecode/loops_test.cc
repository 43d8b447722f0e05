#include "cpython/bytecode/loops.h"

#include "tests/support/catch.h"
#include "tests/unit/cpython/bytecode/assembler.h"

namespace oddrank::cpython {
namespace {

using test::Assembler;
using Body = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("loops: the innermost one first, a `for` is marked") {
  // 0 RESUME, 1 LOAD (while), 2 GET_ITER, 3 FOR_ITER, 4 POP_TOP, 5 JUMP to 3, 6 JUMP to 1, 7 RETURN
  const Assembler code(11);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"LOAD_FAST", 0},
                                     {"GET_ITER", 0},
                                     {"FOR_ITER", 2},
                                     {"POP_TOP", 0},
                                     {"JUMP_BACKWARD", 3},
                                     {"JUMP_BACKWARD", 6},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 8);
  const auto loops = find_loops(decoded, {}, 4);
  REQUIRE(loops.size() == 2);
  CHECK(loops[0].iterates);
  CHECK(loops[0].body == Body{3, 4, 5});
  CHECK_FALSE(loops[1].iterates);
  CHECK(loops[1].body == Body{1, 2, 3, 4, 5, 6});
  CHECK(find_loops(decoded, {}, 6).size() == 1);
  CHECK(find_loops(decoded, {}, 0).empty());
  CHECK(find_loops(decoded, {}, 7).empty());
}

TEST_CASE("loops: a handler behind all other code belongs to its loop, the code between does not") {
  // 0 RESUME, 1 LOAD, 2 POP_TOP, 3 RETURN (of the `try`), 4 NOP (behind the loop), 5 RETURN,
  // 6 PUSH_EXC_INFO (the handler), 7 POP_EXCEPT, 8 JUMP to 1
  const Assembler code(12);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"LOAD_FAST", 0},
                                     {"POP_TOP", 0},
                                     {"RETURN_VALUE", 0},
                                     {"NOP", 0},
                                     {"RETURN_VALUE", 0},
                                     {"PUSH_EXC_INFO", 0},
                                     {"POP_EXCEPT", 0},
                                     {"JUMP_BACKWARD", 8}});
  REQUIRE(decoded.size() == 9);
  const std::vector<HandlerRange> handlers = {{1, 3, 6, 0, false}};
  const auto loops = find_loops(decoded, handlers, 7);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].body == Body{1, 2, 6, 7, 8});
  CHECK(loops[0].turning == Body{1, 6, 7, 8});  // what the `try` holds ends the loop
  CHECK(find_loops(decoded, handlers, 4).empty());
  CHECK(find_loops(decoded, {}, 2).empty());  // without the table nothing leads to the handler
}

TEST_CASE("loops: up to 3.10 a `try` leads to its handler") {
  // 0 SETUP_FINALLY to 5, 1 LOAD, 2 POP_TOP, 3 POP_BLOCK, 4 RETURN, 5 POP_TOP, 6 JUMP to 0, 7
  // RETURN
  const Assembler code(10);
  const auto decoded = code.decoded({{"SETUP_FINALLY", 4},
                                     {"LOAD_FAST", 0},
                                     {"POP_TOP", 0},
                                     {"POP_BLOCK", 0},
                                     {"RETURN_VALUE", 0},
                                     {"POP_TOP", 0},
                                     {"JUMP_ABSOLUTE", 0},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 8);
  const auto loops = find_loops(decoded, {}, 2);
  REQUIRE(loops.size() == 1);
  CHECK(loops[0].body == Body{0, 1, 2, 5, 6});
  CHECK(loops[0].turning == Body{0, 5, 6});
}

TEST_CASE("loops: an await is none, nor is a jump into the middle of a loop") {
  const Assembler code(11);
  const auto await = code.decoded({{"RESUME", 0},
                                   {"LOAD_CONST", 0},
                                   {"SEND", 3},
                                   {"YIELD_VALUE", 0},
                                   {"RESUME", 3},
                                   {"JUMP_BACKWARD_NO_INTERRUPT", 4},
                                   {"RETURN_VALUE", 0}});
  REQUIRE(await.size() == 7);
  CHECK(find_loops(await, {}, 3).empty());
  // 0 jumps to 2, so that the jump back to 1 has a loop with two entrances.
  const auto two = code.decoded({{"POP_JUMP_FORWARD_IF_TRUE", 1},
                                 {"NOP", 0},
                                 {"NOP", 0},
                                 {"JUMP_BACKWARD", 3},
                                 {"RETURN_VALUE", 0}});
  REQUIRE(two.size() == 5);
  CHECK(find_loops(two, {}, 2).empty());
}

TEST_CASE("loops: too many of them, and too long ones, are not followed") {
  const Assembler code(11);
  std::vector<Assembler::Row> rows;
  for (int i = 0; i < 200; ++i) {
    rows.emplace_back("NOP", 0);
    rows.emplace_back("POP_JUMP_BACKWARD_IF_TRUE", 2);
  }
  const auto many = code.decoded(rows);
  REQUIRE(many.size() == 400);
  CHECK(find_loops(many, {}, 7).empty());
  // Handlers that cover everything, on code that is one long loop.
  rows.assign(8000, {"NOP", 0});
  for (int i = 0; i < 3; ++i) {
    rows.emplace_back("EXTENDED_ARG", i == 2 ? 31 : 0);
  }
  rows.emplace_back("JUMP_BACKWARD", 68);
  const auto large = code.decoded(rows);
  REQUIRE(large.size() == 8001);
  std::vector<HandlerRange> handlers(4000, {0, 8004, 0, 0, false});
  for (std::uint32_t i = 0; i < handlers.size(); ++i) {
    handlers[i].handler = 2 * i;
  }
  CHECK(find_loops(large, handlers, 5).empty());
}

TEST_CASE("loops: what was passed is of this turn, and of the other branch nothing") {
  // 0 RESUME, 1 LOAD (while), 2 JUMP if to 5, 3 NOP (one branch), 4 JUMP to 6, 5 NOP (the other),
  // 6 NOP, 7 JUMP to 1, 8 RETURN
  const Assembler code(11);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"LOAD_FAST", 0},
                                     {"POP_JUMP_FORWARD_IF_FALSE", 2},
                                     {"NOP", 0},
                                     {"JUMP_FORWARD", 1},
                                     {"NOP", 0},
                                     {"NOP", 0},
                                     {"JUMP_BACKWARD", 7},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 9);
  const auto passed = [&decoded](std::uint32_t at) {
    return passed_before(decoded, {}, find_loops(decoded, {}, at), at);
  };
  CHECK(passed(3) == Body{0, 1, 2});
  CHECK(passed(5) == Body{0, 1, 2});
  CHECK(passed(6) == Body{0, 1, 2, 3, 4, 5});
  CHECK(passed(1) == Body{0});
  CHECK(passed(99).empty());
}

TEST_CASE("loops: a loop that has ended was passed with all of its turns") {
  // 0 RESUME, 1 LOAD (for), 2 GET_ITER, 3 FOR_ITER to 6, 4 POP_TOP, 5 JUMP to 3, 6 NOP, 7 RETURN
  const Assembler code(11);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"LOAD_FAST", 0},
                                     {"GET_ITER", 0},
                                     {"FOR_ITER", 2},
                                     {"POP_TOP", 0},
                                     {"JUMP_BACKWARD", 3},
                                     {"NOP", 0},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 8);
  CHECK(passed_before(decoded, {}, find_loops(decoded, {}, 6), 6) == Body{0, 1, 2, 3, 4, 5});
  CHECK(passed_before(decoded, {}, find_loops(decoded, {}, 4), 4) == Body{0, 1, 2, 3});
}

TEST_CASE("loops: a handler was entered from what its `try` holds") {
  // 0 RESUME, 1 NOP, 2 NOP (both tried), 3 RETURN, 4 PUSH_EXC_INFO (the handler), 5 RETURN
  const Assembler code(12);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"NOP", 0},
                                     {"NOP", 0},
                                     {"RETURN_VALUE", 0},
                                     {"PUSH_EXC_INFO", 0},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 6);
  const std::vector<HandlerRange> handlers = {{1, 3, 4, 0, false}};
  CHECK(passed_before(decoded, handlers, {}, 5) == Body{0, 1, 2, 4});
}

TEST_CASE("loops: what is on all ways was always passed") {
  // 0 RESUME, 1 NOP, 2 LOAD, 3 IF FALSE to 5, 4 NOP, 5 NOP, 6 RETURN
  const Assembler code(11);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"NOP", 0},
                                     {"LOAD_FAST", 0},
                                     {"POP_JUMP_FORWARD_IF_FALSE", 1},
                                     {"NOP", 0},
                                     {"NOP", 0},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 7);
  CHECK(is_always_passed(decoded, {}, {}, 1, 5));
  CHECK_FALSE(is_always_passed(decoded, {}, {}, 4, 5));  // in one branch only
  CHECK_FALSE(is_always_passed(decoded, {}, {}, 99, 5));
}

TEST_CASE("loops: one that tries until it succeeds goes on by exceptions only") {
  // 0 RESUME, 1 NOP (header), 2 LOAD, 3 RETURN (of the `try`), 4 PUSH_EXC_INFO, 5 POP_EXCEPT,
  // 6 JUMP to 1
  const Assembler code(12);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"NOP", 0},
                                     {"LOAD_FAST", 0},
                                     {"RETURN_VALUE", 0},
                                     {"PUSH_EXC_INFO", 0},
                                     {"POP_EXCEPT", 0},
                                     {"JUMP_BACKWARD", 6}});
  REQUIRE(decoded.size() == 7);
  const auto tries = find_loops(decoded, std::vector<HandlerRange>{{2, 4, 4, 0, false}}, 2);
  REQUIRE(tries.size() == 1);
  CHECK(goes_on_by_exceptions(decoded, tries[0]));
  // 0 RESUME, 1 NOP (header), 2 LOAD, 3 JUMP to 1
  const auto plain =
      code.decoded({{"RESUME", 0}, {"NOP", 0}, {"LOAD_FAST", 0}, {"JUMP_BACKWARD", 3}});
  REQUIRE(plain.size() == 4);
  const auto loops = find_loops(plain, {}, 2);
  REQUIRE(loops.size() == 1);
  CHECK_FALSE(goes_on_by_exceptions(plain, loops[0]));
}

}  // namespace oddrank::cpython
