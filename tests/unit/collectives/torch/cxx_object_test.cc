#include "collectives/torch/cxx_object.h"

#include <span>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/support/machine_code.h"

namespace oddrank::collectives {
namespace {

std::optional<std::uint32_t> offset_of(std::string_view code) {
  return offset_in_getter(std::as_bytes(std::span(code)));
}

bool is_empty(std::string_view code) {
  return is_empty_function(std::as_bytes(std::span(code)));
}

TEST_CASE("a compiled getter shows the offset of its member") {
  CHECK(offset_of(test::getter_code(0x1c8)) == 0x1c8);
  CHECK(offset_of(test::getter_code(0x40)) == 0x40);
  CHECK(offset_of(test::landing_code() + test::getter_code(0x3e0)) == 0x3e0);
}

TEST_CASE("other functions show none") {
  CHECK_FALSE(offset_of(""));
  CHECK_FALSE(offset_of(test::empty_code()));
  CHECK_FALSE(offset_of(test::zero_code()));
  const std::string getter = test::getter_code(0x1c8);
  for (std::size_t size = 0; size < getter.size(); ++size) {  // the last byte is of the return
    CAPTURE(size);
    CHECK_FALSE(offset_of(getter.substr(0, size)));
  }
  for (const std::string& other : test::almost_getters()) {
    CHECK_FALSE(offset_of(other));
  }
}

TEST_CASE("an empty function returns at once") {
  CHECK(is_empty(test::empty_code()));
  CHECK(is_empty(test::landing_code() + test::empty_code()));
  CHECK_FALSE(is_empty(test::zero_code()));
  CHECK_FALSE(is_empty(""));
}

}  // namespace
}  // namespace oddrank::collectives
