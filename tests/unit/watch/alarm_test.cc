#include "watch/alarm.h"

#include "tests/support/catch.h"
#include "watch/watchdog_limit.h"

namespace oddrank::watch {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("an alarm is due after the configured time") {
  Alarm alarm{minutes(5)};
  CHECK_FALSE(alarm.is_due(seconds(299)));
  CHECK(alarm.is_due(seconds(300)));
}

TEST_CASE("a job that was quiet for long may be quiet for half as long again") {
  Alarm alarm{minutes(5)};
  alarm.learn(minutes(2));
  CHECK(alarm.limit() == minutes(5));
  alarm.learn(minutes(20));
  alarm.learn(minutes(1));
  CHECK(alarm.limit() == minutes(30));
  CHECK_FALSE(alarm.is_due(minutes(29)));
  CHECK(alarm.is_due(minutes(30)));
}

TEST_CASE("in one stall it is raised at the limit, at twice and four times that, and no more") {
  Alarm alarm{minutes(5)};
  REQUIRE(alarm.is_due(minutes(5)));
  CHECK_FALSE(alarm.raised());
  alarm.raise(minutes(5));
  CHECK(alarm.raised());
  CHECK_FALSE(alarm.is_due(minutes(9)));
  REQUIRE(alarm.is_due(minutes(10)));
  alarm.raise(minutes(10));
  CHECK_FALSE(alarm.is_due(minutes(19)));
  REQUIRE(alarm.is_due(minutes(20)));
  alarm.raise(minutes(20));
  CHECK_FALSE(alarm.is_due(minutes(1000)));
  SECTION("until it moves: the next stall is a new one") {
    CHECK_FALSE(alarm.is_due(minutes(1)));
    CHECK_FALSE(alarm.raised());
    CHECK(alarm.is_due(minutes(5)));
  }
}

TEST_CASE("it comes before the watchdog, unless the job has outlived that") {
  Alarm alarm{minutes(20)};
  alarm.set_watchdog(minutes(10));
  CHECK(alarm.limit() == minutes(8));
  alarm.learn(minutes(9));
  CHECK(alarm.limit() == minutes(8));
  alarm.learn(minutes(12));
  CHECK(alarm.limit() == minutes(20));
}

TEST_CASE("the watchdog's time is that of the groups' backends") {
  const auto none = [](const std::string&) { return std::string(); };
  constexpr seconds kUnknown{0};
  CHECK(watchdog_limit("", kUnknown, none) == seconds(0));
  CHECK(watchdog_limit("mpi", kUnknown, none) == seconds(0));
  CHECK(watchdog_limit("gloo", kUnknown, none) == minutes(30));
  CHECK(watchdog_limit("cpu:gloo,cuda:nccl", kUnknown, none) == minutes(8));
  const auto set = [](const std::string& name) {
    return std::string(name == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC" ? "120" : "");
  };
  CHECK(watchdog_limit("nccl", kUnknown, set) == seconds(120));
  CHECK(watchdog_limit("gloo", kUnknown, set) == minutes(30));
  const auto silly = [](const std::string& name) {
    return std::string(name == "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC" ? "-1 h" : "");
  };
  CHECK(watchdog_limit("nccl", kUnknown, silly) == minutes(8));
  const auto off = [](const std::string& name) {
    return std::string(name == "TORCH_NCCL_ENABLE_MONITORING" ? "0" : "60");
  };
  CHECK(watchdog_limit("nccl", kUnknown, off) == minutes(10));
  // The timeout that the program passed to init_process_group.
  CHECK(watchdog_limit("mpi", minutes(2), none) == seconds(0));
  CHECK(watchdog_limit("gloo", minutes(2), none) == minutes(2));
  CHECK(watchdog_limit("gloo", minutes(90), none) == minutes(90));
  CHECK(watchdog_limit("nccl", minutes(2), none) == minutes(2));
  CHECK(watchdog_limit("nccl", minutes(90), none) == minutes(8));
  CHECK(watchdog_limit("nccl", minutes(90), off) == minutes(90));
}

}  // namespace
}  // namespace oddrank::watch
