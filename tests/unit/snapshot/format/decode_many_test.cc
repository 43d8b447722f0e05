#include "snapshot/format/decode_many.h"

#include <atomic>
#include <new>
#include <string>
#include <vector>

#include "snapshot/format/capture_file.h"
#include "tests/support/catch.h"

namespace oddrank::snapshot {
namespace {

std::string capture_of(const std::string& host) {
  Capture capture;
  capture.nodes = {{host, true, "", 0, {}, {}}};
  return encode_capture(capture);
}

TEST_CASE("many captures come in order, each once") {
  for (const std::size_t count : {0U, 1U, 2U, 1000U}) {
    std::vector<std::string> hosts;
    std::atomic<std::size_t> asked = 0;
    decode_many(
        count,
        [&asked](std::size_t i) -> Result<std::string> {
          ++asked;
          return capture_of(std::to_string(i));
        },
        [&hosts](std::size_t i, const Result<Capture>& capture) {
          CHECK(i == hosts.size());
          REQUIRE(capture);
          hosts.push_back(capture->nodes.front().host);
        });
    REQUIRE(hosts.size() == count);
    CHECK(asked == count);
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(hosts[i] == std::to_string(i));
    }
  }
}

TEST_CASE("an exception of the consumer is passed on, and no thread waits for ever") {
  std::size_t taken = 0;
  CHECK_THROWS_AS(
      decode_many(
          1000, [](std::size_t i) -> Result<std::string> { return capture_of(std::to_string(i)); },
          [&taken](std::size_t, const Result<Capture>&) {
            if (++taken == 3) {
              throw std::bad_alloc();
            }
          }),
      std::bad_alloc);
  CHECK(taken == 3);
}

TEST_CASE("captures that cannot be read are reported, the others are decoded") {
  std::vector<std::string> told;
  decode_many(
      9,
      [](std::size_t i) -> Result<std::string> {
        if (i % 3 == 0) {
          return fail(Errc::kGone, "no bytes");
        }
        return i % 3 == 1 ? capture_of("n1") : std::string("ODDRANK");
      },
      [&told](std::size_t /*i*/, const Result<Capture>& capture) {
        told.push_back(capture ? capture->nodes.front().host : capture.error().what);
      });
  REQUIRE(told.size() == 9);
  for (std::size_t i = 0; i < told.size(); ++i) {
    CHECK(told[i] == (i % 3 == 0   ? "no bytes"
                      : i % 3 == 1 ? "n1"
                                   : "this is not an oddrank capture"));
  }
}

}  // namespace
}  // namespace oddrank::snapshot
