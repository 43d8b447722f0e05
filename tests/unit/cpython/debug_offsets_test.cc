#include "cpython/layouts/debug_offsets.h"

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::cpython {
namespace {

// Returns the block of CPython 3.13.0 (release, x86-64), member by member.
std::vector<std::uint64_t> block_3_13() {
  return {0,    0x030d00f0, 0,    283320, 608,  632,  194968, 7272, 7264, 7344, 7488, 7656, 7640,
          7648, 16,         7952, 0,      7968, 7960, 304,    0,    8,    16,   72,   152,  160,
          232,  32,         80,   8,      0,    56,   72,     70,   208,  112,  120,  128,  136,
          68,   52,         96,   104,    200,  16,   8,      416,  24,   88,   168,  32,   24,
          16,   40,         24,   16,     48,   32,   40,     24,   16,   32,   16,   24,   40,
          16,   32,         64,   32,     16,   40,   264,    112};
}

// Returns the block of CPython 3.14.8, as its headers initialise it.
std::vector<std::uint64_t> block_3_14() {
  return {0,    0x30e08f0, 0,    316616, 784,  808, 225864, 7280, 7272, 7344, 7360, 7408,
          7688, 7672,      7680, 16,     7784, 0,   7800,   7792, 7992, 0,    832,  0,
          8,    16,        72,   152,    160,  232, 32,     88,   8,    0,    56,   80,
          74,   64,        0,    216,    112,  120, 128,    136,  68,   52,   96,   104,
          208,  0,         16,   8,      416,  24,  88,     168,  40,   32,   16,   40,
          24,   16,        200,  24,     40,   32,  48,     32,   40,   24,   16,   32,
          16,   24,        40,   16,     32,   64,  32,     16,   40,   264,  192,  160,
          24,   72,        67,   0,      8,    24,  304,    8076, 0,    4,    512};
}

// Returns the block of CPython free-threaded 3.14.8, as its headers initialise it.
std::vector<std::uint64_t> block_3_14t() {
  return {0,    0x30e08f0, 1,    362368, 784,  808, 246720, 7280, 7272, 7344,  7360, 7408,
          7712, 7696,      7704, 16,     7808, 0,   7832,   7824, 8024, 17628, 832,  0,
          8,    16,        72,   152,    160,  232, 32,     88,   8,    0,     56,   80,
          78,   64,        72,   240,    128,  136, 144,    152,  84,   68,    112,  120,
          232,  224,       32,   24,     432,  40,  104,    184,  56,   48,    32,   56,
          40,   32,        216,  40,     56,   48,  64,     48,   56,   40,    32,   48,
          32,   40,        56,   32,     48,   80,  48,     32,   56,   288,   192,  176,
          40,   88,        83,   0,      8,    24,  304,    8108, 0,    4,     512};
}

// Returns the block of CPython 3.15.0, as its headers initialise it.
std::vector<std::uint64_t> block_3_15() {
  return {0,    0x30f00f0, 0,   346560, 912, 936,  226232, 7272, 7264, 7336, 7352, 7400, 7592,
          7576, 7584,      16,  7736,   0,   7752, 7744,   7944, 0,    888,  0,    8,    16,
          72,   80,        88,  96,     176, 184,  256,    32,   36,   40,   136,  288,  0,
          88,   8,         0,   56,     80,  74,   64,     0,    216,  112,  120,  128,  136,
          68,   52,        96,  104,    208, 0,    16,     8,    424,  24,   88,   168,  32,
          288,  944,       888, 40,     32,  16,   40,     24,   16,   200,  24,   40,   32,
          48,   32,        40,  24,     16,  32,   16,     24,   40,   16,   32,   64,   32,
          16,   40,        56,  176,    112, 120,  1112,   104,  160,  24,   72,   67,   0,
          8,    24,        344, 8028,   0,   4,    512};
}

// Returns the block of CPython free-threaded 3.15.0, as its headers initialise it.
std::vector<std::uint64_t> block_3_15t() {
  return {0,    0x30f00f0, 1,   406016, 912, 936,  247040, 7272, 7264,  7336, 7352, 7400, 7592,
          7576, 7584,      16,  7736,   0,   7760, 7752,   7952, 17564, 888,  0,    8,    16,
          72,   80,        88,  96,     176, 184,  256,    32,   36,    40,   136,  288,  0,
          88,   8,         0,   56,     80,  78,   64,     72,   240,   128,  136,  144,  152,
          84,   68,        112, 120,    232, 224,  32,     24,   440,   40,   104,  184,  48,
          304,  968,       904, 56,     48,  32,   56,     40,   32,    216,  40,   56,   48,
          64,   48,        56,  40,     32,  48,   32,     40,   56,    32,   48,   80,   48,
          32,   56,        72,  176,    112, 120,  216,    104,  176,   40,   88,   83,   0,
          8,    24,        344, 8036,   0,   4,    512};
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
  CHECK(layout.runtime.interpreters_head == layout_3_13(false).runtime.interpreters_head);
  CHECK(layout.interpreter.threads_head == layout_3_13(false).interpreter.threads_head);
  CHECK(layout.interpreter.gil == layout_3_13(false).interpreter.gil);
  CHECK(layout.gil.last_holder == layout_3_13(false).gil.last_holder);
  CHECK(layout.gil.locked == layout_3_13(false).gil.locked);
  CHECK(layout.thread.frame == layout_3_13(false).thread.frame);
  CHECK(layout.frame.instruction == layout_3_13(false).frame.instruction);
  CHECK(layout.frame.owner == layout_3_13(false).frame.owner);
  CHECK(layout.code.qualname == layout_3_13(false).code.qualname);
  CHECK(layout.code.instructions == layout_3_13(false).code.instructions);
  CHECK(layout.object.str_compact_data == layout_3_13(false).object.str_compact_data);
  CHECK(layout.object.type_flags == layout_3_13(false).object.type_flags);
  CHECK(layout.semantics.entry == EntryRule::kBeforeShim);
}

TEST_CASE("offsets from the process override the table", "[cpython]") {
  auto block = block_3_13();
  block[3 + 20] = 80;  // thread.current_frame
  const auto parsed = parse_debug_offsets(as_bytes(block));
  REQUIRE(parsed);
  CHECK(parsed->layout.thread.frame == 80);
}

TEST_CASE("each version has its own members", "[cpython]") {
  const auto check = [](const std::vector<std::uint64_t>& block, const std::string& version,
                        const Layout& expected) {
    INFO(version);
    const auto parsed = parse_debug_offsets(as_bytes(block));
    REQUIRE(parsed);
    CHECK(parsed->version.text == version);
    const Layout& layout = parsed->layout;
    CHECK(layout.runtime.interpreters_head == expected.runtime.interpreters_head);
    CHECK(layout.interpreter.modules == expected.interpreter.modules);
    CHECK(layout.gil.last_holder == expected.gil.last_holder);
    CHECK(layout.gil.enabled == expected.gil.enabled);
    CHECK(layout.thread.native_thread_id == expected.thread.native_thread_id);
    CHECK(layout.thread.base_frame == expected.thread.base_frame);
    CHECK(layout.frame.owner == expected.frame.owner);
    CHECK(layout.frame.tlbc_index == expected.frame.tlbc_index);
    CHECK(layout.code.instructions == expected.code.instructions);
    CHECK(layout.code.thread_code == expected.code.thread_code);
    CHECK(layout.object.type == expected.object.type);
    CHECK(layout.object.type_cached_keys == expected.object.type_cached_keys);
    CHECK(layout.object.tuple_items == expected.object.tuple_items);
    CHECK(layout.object.str_ascii_data == expected.object.str_ascii_data);
    CHECK(layout.object.dict_keys == expected.object.dict_keys);
  };
  check(block_3_14(), "3.14.8", layout_3_14(false));
  check(block_3_14t(), "3.14.8t", layout_3_14(true));
  check(block_3_15(), "3.15.0", layout_3_15(false));
  check(block_3_15t(), "3.15.0t", layout_3_15(true));
}

TEST_CASE("unknown versions are named, not guessed", "[cpython]") {
  auto block = block_3_15();
  block[1] = 0x031000f0;
  const auto later = parse_debug_offsets(as_bytes(block));
  REQUIRE_FALSE(later);
  CHECK(later.error().code == Errc::kUnsupported);
  CHECK(later.error().what == "Python 3.16.0 is not supported");

  block[1] = 0x030f00b2;  // fields still moved between the beta versions
  const auto beta = parse_debug_offsets(as_bytes(block));
  REQUIRE_FALSE(beta);
  CHECK(beta.error().what == "Python 3.15.0b2 is not supported");
  block[1] = 0x030f00c1;
  CHECK(parse_debug_offsets(as_bytes(block)));
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

}  // namespace oddrank::cpython
