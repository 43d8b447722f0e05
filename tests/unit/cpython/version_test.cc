#include "cpython/version.h"

#include "tests/support/catch.h"

namespace oddrank::cpython {

TEST_CASE("versions in the form of PY_VERSION_HEX", "[cpython]") {
  CHECK(version_from_hex(0x030b07f0)->text == "3.11.7");
  CHECK(version_from_hex(0x030b07f0)->minor == 11);
  CHECK(version_from_hex(0x030d00c2)->text == "3.13.0rc2");
  CHECK(version_from_hex(0x030e00a5)->text == "3.14.0a5");
  CHECK_FALSE(version_from_hex(0));
  CHECK_FALSE(version_from_hex(0x020712f0));
  CHECK_FALSE(version_from_hex(0x030b0700));
  CHECK_FALSE(version_from_hex(0x1030b07f0));
}

TEST_CASE("versions in file names", "[cpython]") {
  const auto text = [](std::string_view path) {
    const auto version = version_from_file_name(path);
    return version ? version->text : "none";
  };
  CHECK(text("/usr/bin/python3.11") == "3.11");
  CHECK(text("/usr/lib/libpython3.8.so.1.0") == "3.8");
  CHECK(text("libpython3.6m.so.1.0") == "3.6");
  CHECK(text("libpython3.13td.so") == "3.13");
  CHECK(text("/usr/bin/python2.7") == "2.7");
  CHECK(text("/usr/bin/python3") == "none");
  CHECK(text("/usr/bin/python3.11-config") == "none");
  CHECK(text("/usr/lib/libpython3.so") == "none");
  CHECK(text("/usr/lib/libpython4.1.so") == "none");
  CHECK(text("/usr/lib/libpythonic3.8.so") == "none");
  CHECK(text("") == "none");
}

TEST_CASE("versions in the constants of a binary", "[cpython]") {
  using namespace std::string_view_literals;
  const auto text = [](std::string_view bytes, std::optional<std::uint32_t> minor) {
    const auto version = version_from_constants(bytes, minor);
    return version ? version->text : "none";
  };
  CHECK(text("abc\0003.8.18\0def"sv, 8) == "3.8.18");
  CHECK(text("\0/usr/local/python/3.8.18\0"sv, 8) == "3.8.18");
  CHECK(text("\0003.9.0rc1\0"sv, std::nullopt) == "3.9.0rc1");
  CHECK(text("\0001.3.8.18\0"sv, 8) == "none");
  CHECK(text("\0003.40.1\0"sv, std::nullopt) == "none");
  CHECK(text("\0003.9.18\0003.8.2\0"sv, 8) == "3.8.2");
  CHECK(text("\0003.8.18 is it\0"sv, 8) == "none");
  CHECK(text("3.8.18"sv, 8) == "none");
}

}  // namespace oddrank::cpython
