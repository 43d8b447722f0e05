#include "base/hex.h"

#include <array>

#include "tests/support/catch.h"

namespace oddrank {

TEST_CASE("hex_number has no leading zeros") {
  CHECK(hex_number(0) == "0");
  CHECK(hex_number(0x7f31c0) == "7f31c0");
  CHECK(hex_number(~std::uint64_t{0}) == "ffffffffffffffff");
}

TEST_CASE("hex_bytes keeps order and zeros") {
  CHECK(hex_bytes(std::array{std::byte{0x00}, std::byte{0xa5}, std::byte{0x0f}}) == "00a50f");
  CHECK(hex_bytes({}).empty());
}

}  // namespace oddrank
