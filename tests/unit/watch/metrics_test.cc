#include "watch/metrics.h"

#include "tests/support/catch.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;

TEST_CASE("metrics have a row for each rank, and the verdict once there is one") {
  WatchMetrics metrics;
  metrics.ranks = {{0, milliseconds(1500)}, {7, milliseconds(0)}};
  metrics.sampled = std::chrono::system_clock::time_point(milliseconds(1'700'000'000'250));
  const std::string early = metrics_text(metrics, "4711");
  CHECK(early.find("oddrank_watch_ranks{job=\"4711\"} 2\n") != std::string::npos);
  CHECK(early.find("oddrank_watch_rank_still_seconds{job=\"4711\",rank=\"0\"} 1.5\n") !=
        std::string::npos);
  CHECK(early.find("oddrank_watch_rank_still_seconds{job=\"4711\",rank=\"7\"} 0\n") !=
        std::string::npos);
  CHECK(early.find("oddrank_watch_stalled{job=\"4711\"} 0\n") != std::string::npos);
  CHECK(early.find("oddrank_watch_sample_timestamp_seconds{job=\"4711\"} 1700000000.25\n") !=
        std::string::npos);
  CHECK(early.find("verdict") == std::string::npos);
  metrics.alarm = true;
  metrics.alarms = 2;
  metrics.captures = 3;
  metrics.kind = "input_stall";
  const std::string late = metrics_text(metrics, "4711");
  CHECK(late.find("oddrank_watch_stalled{job=\"4711\"} 1\n") != std::string::npos);
  CHECK(late.find("oddrank_watch_alarms_total{job=\"4711\"} 2\n") != std::string::npos);
  CHECK(late.find("oddrank_watch_captures_total{job=\"4711\"} 3\n") != std::string::npos);
  CHECK(late.find("oddrank_watch_verdict{job=\"4711\",kind=\"input_stall\"} 1\n") !=
        std::string::npos);
}

TEST_CASE("a name cannot break out of its label or its folder") {
  const std::string name = "a\"} 1\nb\\/../c";
  const std::string text = metrics_text({}, name);
  CHECK(text.find("\nb") == std::string::npos);
  CHECK(text.find("a\\\"} 1") != std::string::npos);
  const std::string path = metrics_path("/m", name, 3);
  CHECK(path.find('/', 3) == std::string::npos);
  CHECK(path.ends_with("-rank3.prom"));
  CHECK(metrics_path("/m", "4711", -1) == "/m/oddrank-4711.prom");
}

}  // namespace
}  // namespace oddrank::watch
