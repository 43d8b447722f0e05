#include "base/ascii.h"

#include "tests/support/catch.h"

namespace oddrank {
namespace {

TEST_CASE("lower_case changes ASCII letters only") {
  CHECK(lower_case("OUT_OF_Memory[9]@Z") == "out_of_memory[9]@z");
  CHECK(lower_case("CAF\xc3\x89") == "caf\xc3\x89");
  CHECK(lower_case("").empty());
}

TEST_CASE("bytes beyond ASCII are in no class") {
  for (const char c : {'\x80', '\x9b', '\xff'}) {
    CHECK_FALSE(is_digit(c));
    CHECK_FALSE(is_control(c));
    CHECK_FALSE(is_printable_ascii(c));
  }
}

TEST_CASE("character classes end where they should") {
  CHECK((is_digit('0') && is_digit('9') && !is_digit('/') && !is_digit(':')));
  CHECK((is_control('\0') && is_control('\x1f') && is_control('\x7f') && !is_control(' ')));
  CHECK((is_printable_ascii(' ') && is_printable_ascii('~') && !is_printable_ascii('\x7f')));
}

}  // namespace
}  // namespace oddrank
