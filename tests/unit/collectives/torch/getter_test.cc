#include "collectives/torch/getter.h"

#include <initializer_list>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

std::vector<std::byte> code(std::initializer_list<unsigned> bytes) {
  std::vector<std::byte> result;
  for (const unsigned byte : bytes) {
    result.push_back(static_cast<std::byte>(byte));
  }
  return result;
}

TEST_CASE("a compiled getter shows the offset of its member") {
  CHECK(offset_in_getter(code({0x48, 0x8b, 0x87, 0xc8, 0x01, 0x00, 0x00, 0xc3})) == 0x1c8);
  CHECK(offset_in_getter(code({0x48, 0x8b, 0x47, 0x40, 0xc3})) == 0x40);
  CHECK(offset_in_getter(code(
            {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x87, 0xe0, 0x03, 0x00, 0x00, 0xc3})) == 0x3e0);
}

TEST_CASE("other functions show none") {
  CHECK_FALSE(offset_in_getter({}));
  CHECK_FALSE(offset_in_getter(code({0xc3})));
  CHECK_FALSE(offset_in_getter(code({0x48, 0x8b, 0x87, 0xc8, 0x01})));              // cut
  CHECK_FALSE(offset_in_getter(code({0x48, 0x8b, 0x87, 0xc8, 0x01, 0x00, 0x00})));  // no return
  CHECK_FALSE(offset_in_getter(code({0x48, 0x8b, 0x47, 0xf8, 0xc3})));              // negative
  CHECK_FALSE(offset_in_getter(code({0x8b, 0x87, 0xc8, 0x01, 0x00, 0x00, 0xc3})));  // 32 bits
  CHECK_FALSE(offset_in_getter(code({0x48, 0x8b, 0x86, 0xc8, 0x01, 0x00, 0x00, 0xc3})));
}

TEST_CASE("an empty function returns at once") {
  CHECK(is_empty_function(code({0xc3})));
  CHECK(is_empty_function(code({0xf3, 0x0f, 0x1e, 0xfa, 0xc3})));
  CHECK_FALSE(is_empty_function(code({0x31, 0xc0, 0xc3})));
  CHECK_FALSE(is_empty_function({}));
}

}  // namespace
}  // namespace oddrank::collectives
