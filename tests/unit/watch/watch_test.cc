// The watch itself, on made-up ranks.
#include "watch/watch.h"

#include <chrono>
#include <csignal>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;

// run_watch() blocks signals, which commands of other tests would inherit.
class KeptSignals {
 public:
  KeptSignals() { ::sigprocmask(SIG_BLOCK, nullptr, &mask_); }
  ~KeptSignals() { ::sigprocmask(SIG_SETMASK, &mask_, nullptr); }
  KeptSignals(const KeptSignals&) = delete;
  KeptSignals& operator=(const KeptSignals&) = delete;
  KeptSignals(KeptSignals&&) = delete;
  KeptSignals& operator=(KeptSignals&&) = delete;

 private:
  sigset_t mask_{};
};

TEST_CASE("the past of a rank is removed by the sample that finds the rank gone") {
  const KeptSignals kept;
  WatchOptions options;
  options.interval = milliseconds(1);
  options.stalled_for = milliseconds(20);
  options.captures = false;
  std::vector<PastFile> pasts;
  WatchHooks hooks;
  hooks.sample = [&pasts](const SampleRequest&) {
    RankSign sign;
    sign.pid = 4711;
    sign.rank = 3;
    sign.frames_read = true;
    sign.places = {1};
    sign.where = "poll (io.py:7)";
    sign.gone = !pasts.empty();
    return std::vector{sign};
  };
  hooks.leave_past = [&pasts](const PastFile& past) { pasts.push_back(past); };
  hooks.is_over = [] { return true; };
  run_watch(options, hooks, nullptr);
  REQUIRE(pasts.size() == 2);
  CHECK(pasts[0].words.find("poll (io.py:7)") != std::string::npos);
  CHECK(pasts[1].words.empty());
  CHECK(pasts[1].rank == 3);
  CHECK(pasts[1].pid == 4711);
}

}  // namespace
}  // namespace oddrank::watch
