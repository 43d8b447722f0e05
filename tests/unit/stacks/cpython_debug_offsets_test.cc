#include <cstring>
#include <vector>

#include "stacks/cpython/debug_offsets.h"
#include "tests/support/catch.h"

namespace oddrank::stacks::cpython {
namespace {

// The block of CPython 3.13.0 (release, x86-64), member by member.
std::vector<std::uint64_t> block_3_13() {
  return {0,    0x030d00f0, 0,    283320, 608,  632,  194968, 7272, 7264, 7344, 7488, 7656, 7640,
          7648, 16,         7952, 0,      7968, 7960, 304,    0,    8,    16,   72,   152,  160,
          232,  32,         80,   8,      0,    56,   72,     70,   208,  112,  120,  128,  136,
          68,   52,         96,   104,    200,  16,   8,      416,  24,   88,   168,  32,   24,
          16,   40,         24,   16,     48,   32,   40,     24,   16,   32,   16,   24,   40,
          16,   32,         64,   32,     16,   40,   264,    112};
}

std::vector<std::byte> as_bytes(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * 8);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  std::memcpy(bytes.data(), "xdebugpy", 8);
  return bytes;
}

}  // namespace

TEST_CASE("the debug offsets of 3.13 become a layout", "[cpython]") {
  const auto parsed = parse_debug_offsets(as_bytes(block_3_13()));
  REQUIRE(parsed);
  CHECK(parsed->version.text == "3.13.0");
  const Layout& layout = parsed->layout;
  CHECK(layout.runtime.interpreters_head == layout_3_13().runtime.interpreters_head);
  CHECK(layout.interpreter.threads_head == layout_3_13().interpreter.threads_head);
  CHECK(layout.interpreter.gil == layout_3_13().interpreter.gil);
  CHECK(layout.gil.last_holder == layout_3_13().gil.last_holder);
  CHECK(layout.gil.locked == layout_3_13().gil.locked);
  CHECK(layout.thread.frame == layout_3_13().thread.frame);
  CHECK(layout.frame.instruction == layout_3_13().frame.instruction);
  CHECK(layout.frame.owner == layout_3_13().frame.owner);
  CHECK(layout.code.qualname == layout_3_13().code.qualname);
  CHECK(layout.code.instructions == layout_3_13().code.instructions);
  CHECK(layout.object.str_compact_data == layout_3_13().object.str_compact_data);
  CHECK(layout.object.type_flags == layout_3_13().object.type_flags);
  CHECK(layout.semantics.entry == EntryRule::kBeforeShim);
}

TEST_CASE("what the process tells wins over the table", "[cpython]") {
  auto block = block_3_13();
  block[3 + 20] = 80;  // thread.current_frame
  const auto parsed = parse_debug_offsets(as_bytes(block));
  REQUIRE(parsed);
  CHECK(parsed->layout.thread.frame == 80);
}

TEST_CASE("unknown versions are named, not guessed", "[cpython]") {
  auto block = block_3_13();
  block[1] = 0x030e00f0;
  const auto later = parse_debug_offsets(as_bytes(block));
  REQUIRE_FALSE(later);
  CHECK(later.error().code == Errc::kUnsupported);
  CHECK(later.error().what == "Python 3.14.0 is not supported");

  block = block_3_13();
  block[2] = 1;
  const auto free_threaded = parse_debug_offsets(as_bytes(block));
  REQUIRE_FALSE(free_threaded);
  CHECK(free_threaded.error().code == Errc::kUnsupported);
  CHECK(free_threaded.error().what == "free-threaded Python 3.13.0 is not supported");
}

TEST_CASE("impossible offsets are refused", "[cpython]") {
  auto block = block_3_13();
  block[3 + 20] = 1U << 20;  // thread.current_frame
  auto parsed = parse_debug_offsets(as_bytes(block));
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::kBadData);
  CHECK(parsed.error().what ==
        "debug offsets of Python 3.13.0 are impossible: thread.current_frame = 1048576");

  block = block_3_13();
  block[3 + 6] = 7345;  // interpreter.threads_head, not aligned
  CHECK(parse_debug_offsets(as_bytes(block)).error().code == Errc::kBadData);

  block = block_3_13();
  block[1] = ~std::uint64_t{0};
  CHECK(parse_debug_offsets(as_bytes(block)).error().code == Errc::kBadData);

  auto bytes = as_bytes(block_3_13());
  bytes.resize(200);
  CHECK(parse_debug_offsets(bytes).error().code == Errc::kBadData);
  bytes.resize(10);
  CHECK_FALSE(has_debug_offsets(bytes));
  CHECK(parse_debug_offsets({}).error().code == Errc::kBadData);
}

}  // namespace oddrank::stacks::cpython
