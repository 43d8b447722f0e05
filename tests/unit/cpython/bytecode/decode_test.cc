#include "cpython/bytecode/decode.h"

#include <random>

#include "cpython/bytecode/calls.h"
#include "cpython/bytecode/loops.h"
#include "tests/support/catch.h"
#include "tests/unit/cpython/bytecode/assembler.h"

namespace oddrank::cpython {
namespace {

using test::Assembler;

constexpr std::uint32_t kFirst = 8;
constexpr std::uint32_t kLast = 15;

}  // namespace

TEST_CASE("opcodes: every version has its table, an unknown one has none") {
  for (std::uint32_t minor = kFirst; minor <= kLast; ++minor) {
    const Instructions table = instructions_of(minor);
    std::size_t known = 0;
    for (const Opcode& opcode : table.of) {
      known += opcode.op == Op::kUnknown ? 0 : 1;
    }
    CHECK(known > 100);
  }
  for (const Opcode& opcode : instructions_of(7).of) {
    REQUIRE(opcode.op == Op::kUnknown);
  }
}

TEST_CASE("opcodes: malformed rows are left out") {
  const Instructions table = parse_opcodes(
      "LOAD_FAST 1 1 7 8; FOR_ITER 2+1> 1/-1; POP_TOP; NOP 300 0; NOP x 0; ; JUMP_BACKWARD 4< 0;");
  CHECK(table.of[1].op == Op::kLoadFast);
  CHECK(table.of[7].op == Op::kLoadFast);
  CHECK(table.of[2].op == Op::kForIter);
  CHECK(table.of[2].caches == 1);
  CHECK(table.of[2].jump == JumpTo::kForward);
  CHECK(table.of[2].jump_effect == -1);
  CHECK(table.of[4].jump == JumpTo::kBackward);
  CHECK(table.of[3].op == Op::kUnknown);
}

TEST_CASE("decode: arguments of several bytes, caches, jumps") {
  const Assembler code(11);
  const auto decoded = code.decoded({{"RESUME", 0},
                                     {"EXTENDED_ARG", 1},
                                     {"LOAD_CONST", 2},
                                     {"POP_JUMP_FORWARD_IF_TRUE", 6},
                                     {"LOAD_GLOBAL", 1},
                                     {"JUMP_BACKWARD", 10},
                                     {"RETURN_VALUE", 0}});
  REQUIRE(decoded.size() == 6);
  CHECK(decoded[1].argument == 258);
  CHECK(decoded[1].begin == 1);
  CHECK(decoded[1].end == 3);
  CHECK(decoded[2].target == 4);  // LOAD_GLOBAL has five caches
  CHECK(decoded[4].target == 1);  // with its EXTENDED_ARG
  CHECK(instruction_at(decoded, 7) == 3);
  CHECK(instruction_at(decoded, 11) == 5);
  CHECK(instruction_at(decoded, 12) == kNoInstruction);
  CHECK(instruction_at(decoded, ~0ULL) == kNoInstruction);
}

TEST_CASE("decode: jumps count bytes up to 3.9, units since") {
  const std::vector<Assembler::Row> rows = {
      {"LOAD_FAST", 0}, {"POP_TOP", 0}, {"JUMP_ABSOLUTE", 2}, {"RETURN_VALUE", 0}};
  CHECK(Assembler(9).decoded(rows).at(2).target == 1);
  CHECK(Assembler(10).decoded(rows).at(2).target == 2);
}

TEST_CASE("decode: hostile code is refused") {
  const Assembler code(11);
  const auto refused = [&](const std::vector<std::byte>& bytes) {
    return !decode_instructions(code.table(), bytes);
  };
  CHECK(refused({}));
  CHECK(refused(std::vector<std::byte>(2, std::byte{255})));  // unknown
  auto odd = code.bytes({{"NOP", 0}});
  odd.push_back(std::byte{9});
  CHECK(refused(odd));
  // Within an instruction: after EXTENDED_ARG, within caches.
  CHECK(refused(code.bytes({{"NOP", 0}, {"EXTENDED_ARG", 1}})));
  auto cut = code.bytes({{"LOAD_GLOBAL", 0}});
  cut.resize(cut.size() - 2);
  CHECK(refused(cut));
  // Endless.
  CHECK(refused(code.bytes(std::vector<Assembler::Row>(5000, {"EXTENDED_ARG", 255}))));
  CHECK(refused(code.bytes(std::vector<Assembler::Row>(kMaxCodeUnits + 1, {"NOP", 0}))));
  CHECK_FALSE(refused(code.bytes(std::vector<Assembler::Row>(kMaxCodeUnits, {"NOP", 0}))));
  // Jumps before the code, behind it, and into caches.
  CHECK(refused(code.bytes({{"NOP", 0}, {"JUMP_BACKWARD", 3}})));
  CHECK(refused(code.bytes({{"JUMP_FORWARD", 1}, {"NOP", 0}})));
  CHECK(refused(code.bytes({{"JUMP_FORWARD", 2}, {"LOAD_GLOBAL", 0}})));
  CHECK(refused(code.bytes({{"EXTENDED_ARG", 255},
                            {"EXTENDED_ARG", 255},
                            {"EXTENDED_ARG", 255},
                            {"JUMP_FORWARD", 255}})));
}

TEST_CASE("decode: random code is analysed in bounded time") {
  std::mt19937 random(17);
  for (std::uint32_t minor = kFirst; minor <= kLast; ++minor) {
    const Instructions table = instructions_of(minor);
    std::vector<std::uint8_t> known;
    for (std::size_t number = 0; number < table.of.size(); ++number) {
      if (table.of[number].op != Op::kUnknown) {
        known.push_back(static_cast<std::uint8_t>(number));
      }
    }
    std::size_t decodable = 0;
    for (int round = 0; round < 400; ++round) {
      std::vector<std::byte> bytes;
      for (int i = 0; i < 24; ++i) {
        bytes.push_back(std::byte{known[random() % known.size()]});
        bytes.push_back(std::byte{static_cast<std::uint8_t>(random() % 8)});
      }
      const auto code = decode_instructions(table, bytes);
      if (!code) {
        continue;
      }
      ++decodable;
      const std::vector<HandlerRange> handlers = {
          {static_cast<std::uint32_t>(random() % 30), static_cast<std::uint32_t>(random() % 30),
           static_cast<std::uint32_t>(random() % 30), static_cast<std::uint32_t>(random()), true}};
      const CodeCalls calls = find_calls(table, *code, handlers);
      for (const CodeCall& call : calls.calls) {
        REQUIRE(call.callee < calls.symbols.size());
        REQUIRE(call.instruction < code->size());
      }
      for (const CodeLoop& loop :
           find_loops(*code, handlers, static_cast<std::uint32_t>(random() % code->size()))) {
        REQUIRE(loop.body.back() < code->size());
      }
    }
    CHECK(decodable > 0);
  }
}

}  // namespace oddrank::cpython
