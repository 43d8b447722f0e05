#include "reach/wire/base64.h"

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

// RFC 4648, section 10.
TEST_CASE("base64 encodes and decodes the vectors of its standard") {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : vectors) {
    CHECK(base64_encode(bytes) == text);
    CHECK(base64_decode(text) == bytes);
  }
}

TEST_CASE("base64 carries every byte") {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  CHECK(base64_decode(base64_encode(bytes)) == bytes);
}

TEST_CASE("base64 refuses invalid text") {
  for (const char* text :
       {"Z", "Zg=", "Zg", "Z===", "====", "Zm9v Zm9", "Zm\xff=", "Z=9v", "=g=="}) {
    INFO(text);
    CHECK_FALSE(base64_decode(text));
  }
}

}  // namespace
}  // namespace oddrank::reach
