#include "reach/wire/node_clock.h"

#include <limits>

#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kHour = 3600 * kSecond;
constexpr std::int64_t kNoon = 1'800'000'000 * kSecond;
// Agents were started at noon, and this node's answer came four seconds later.
constexpr Stay kStay{kNoon, kNoon + 4 * kSecond};

snapshot::Capture read_at(std::int64_t us) {
  snapshot::Capture capture;
  capture.processes.resize(3);
  capture.processes[0].read_us = static_cast<std::uint64_t>(us);
  capture.processes[1].read_us = static_cast<std::uint64_t>(us) - 1000;  // 2: could not be read
  snapshot::FlightRecord record;
  record.written_us = static_cast<std::uint64_t>(us) - 10;
  record.entries.resize(2);
  record.entries[0].created_ns = (us - 20) * 1000;
  capture.collectives.flight.push_back(std::move(record));
  return capture;
}

TEST_CASE("a clock is right if its times lie between start and answer") {
  for (const std::int64_t us : {kNoon, kNoon + 3 * kSecond, kNoon - kSecond, kNoon + 5 * kSecond}) {
    CHECK(clock_ahead_us(read_at(us), kStay) == 0);
  }
  CHECK(clock_ahead_us(snapshot::Capture{}, kStay) == 0);
}

TEST_CASE("the offset of a wrong clock is known to some seconds") {
  for (const std::int64_t off : {kHour, -kHour, 30 * kSecond, -30 * kSecond}) {
    INFO(off);
    const std::int64_t ahead = clock_ahead_us(read_at(kNoon + 3 * kSecond + off), kStay);
    CHECK(ahead >= off - 4 * kSecond);
    CHECK(ahead <= off + 4 * kSecond);
  }
}

TEST_CASE("all times of a capture are put right together, unknown ones stay so") {
  snapshot::Capture capture = read_at(kNoon + kHour);
  set_clock_back(capture, kHour);
  CHECK(capture.processes[0].read_us == static_cast<std::uint64_t>(kNoon));
  CHECK(capture.processes[1].read_us == static_cast<std::uint64_t>(kNoon) - 1000);
  CHECK(capture.processes[2].read_us == 0);
  const auto& record = capture.collectives.flight.front();
  CHECK(record.written_us == static_cast<std::uint64_t>(kNoon) - 10);
  CHECK(record.entries[0].created_ns == (kNoon - 20) * 1000);
  CHECK(record.entries[1].created_ns == 0);
  set_clock_back(capture, -kHour);
  CHECK(capture.processes[0].read_us == static_cast<std::uint64_t>(kNoon + kHour));
}

TEST_CASE("times that no clock shows are survived") {
  for (const std::uint64_t us : {std::uint64_t{1}, std::numeric_limits<std::uint64_t>::max()}) {
    snapshot::Capture capture = read_at(kNoon);
    capture.processes[0].read_us = us;
    capture.processes[1].read_us = 0;
    capture.collectives.flight.front().entries[1].created_ns =
        std::numeric_limits<std::int64_t>::min();
    const std::int64_t ahead = clock_ahead_us(capture, kStay);
    set_clock_back(capture, ahead);
    CHECK(ahead != 0);
    CHECK_FALSE(clock_note({{"n0", ahead}}).empty());
  }
}

TEST_CASE("the note names the nodes and how far they are off") {
  CHECK(clock_note({}).empty());
  const std::string one = clock_note({{"n2", kHour}});
  CHECK(one.ends_with("n2 is 60 min ahead; the times in their captures were corrected"));
  const std::string two = clock_note({{"n2", 90 * kSecond}, {"n5", -3600 * kSecond / 20}});
  CHECK(two.find(": n2 is 90 s ahead, n5 is 3 min behind;") != std::string::npos);
  std::vector<NodeClock> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back({"n" + std::to_string(i), kHour});
  }
  CHECK(clock_note(many).find(", and 92 more nodes;") != std::string::npos);
  CHECK_FALSE(clock_note({{"n0", std::numeric_limits<std::int64_t>::min()}}).empty());
}

}  // namespace
}  // namespace oddrank::reach
