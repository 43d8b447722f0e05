#include "base/span_words.h"

#include "tests/support/catch.h"

namespace oddrank {
namespace {

using namespace std::chrono_literals;

TEST_CASE("a span is worded as exactly as it matters") {
  CHECK(span_words(0us) == "0 s");
  CHECK(span_words(99'999us) == "0 s");
  CHECK(span_words(100ms) == "0.1 s");
  CHECK(span_words(3540ms) == "3.5 s");
  CHECK(span_words(4s) == "4 s");
  CHECK(span_words(4050ms) == "4 s");
  CHECK(span_words(9999ms) == "9.9 s");
  CHECK(span_words(10'900ms) == "10 s");
  CHECK(span_words(119'999ms) == "119 s");
  CHECK(span_words(2min) == "2 min");
  CHECK(span_words(2h - 1us) == "119 min");
  CHECK(span_words(2h) == "2 h");
  CHECK(span_words(3h + 20min + 59s) == "3 h 20 min");
  CHECK(span_words(48h - 1s) == "47 h 59 min");
  CHECK(span_words(48h) == "2 d");
  CHECK(span_words(200'000s) == "2 d 7 h");
}

TEST_CASE("impossible spans have words") {
  CHECK(span_words(-5s) == "0 s");
  CHECK(span_words(std::chrono::microseconds::min()) == "0 s");
  CHECK(span_words(std::chrono::hours::max()) == "11574074 d 1 h");
}

}  // namespace
}  // namespace oddrank
