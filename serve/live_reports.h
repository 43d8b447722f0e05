// The reports of the live page. Makes a new one on request or when it is due, one at a time and at
// least 5 s after the previous one, and keeps the earlier ones, even if a reading fails.
//
// Callers pass the time: there is no clock here. Precondition of methods that start work: one
// thread (worker.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "serve/history.h"
#include "serve/product.h"
#include "serve/worker.h"

namespace oddrank::serve {

// How reports are made; both run in a child. `earlier`: the previous capture, to show changes; null
// for the first one.
struct Makers {
  std::function<Result<Product>(const std::string* earlier)> read;
  std::function<Result<Product>(const std::string& earlier, const std::string& later)> compare;
};

enum class Begun {
  kStarted,
  kBusy,      // another one is being made
  kTooEarly,  // the last report has just been made
  kUnknown,   // the reports to compare do not exist (any more)
  kFailed,    // no process for it; trouble() says why
};

class LiveReports {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::seconds kMinPause{5};
  static constexpr std::chrono::minutes kMaxWork{30};

  // `renew`: the pause between automatic reports; nullopt: only on request.
  LiveReports(Makers makers, std::optional<std::chrono::seconds> renew);

  Begun read_again(Time now);
  Begun compare(std::uint64_t earlier, std::uint64_t later, Time now);
  // Takes finished reports, and begins what is due. Call it several times a second.
  void tick(Time now);
  // Ends the current work.
  void stop();

  const History& history() const { return history_; }
  // Returns why the last reading failed; nullopt if it did not.
  const std::optional<Error>& trouble() const { return trouble_; }
  bool busy() const { return work_.has_value(); }
  bool comparing() const { return work_ && work_->earlier != 0; }
  // Return the age of the current work, and its last printed line; 0 and "" without one.
  std::chrono::milliseconds busy_for(Time now) const;
  std::string last_line() const { return work_ ? work_->worker.last_line() : std::string(); }
  // Return the time until a reading may be requested, and until one begins by itself (nullopt:
  // never).
  std::chrono::milliseconds pause_left(Time now) const;
  std::optional<std::chrono::milliseconds> renewal_in(Time now) const;

 private:
  struct Work {
    Worker worker;
    Time began;
    // Both 0 for a new reading.
    std::uint64_t earlier = 0;
    std::uint64_t later = 0;
  };
  Begun begin(const MakeProduct& make, Time now, std::uint64_t earlier, std::uint64_t later);

  Makers makers_;
  std::optional<std::chrono::seconds> renew_;
  History history_;
  std::optional<Work> work_;
  std::optional<Time> read_ended_;  // the last one
  std::optional<Error> trouble_;
};

}  // namespace oddrank::serve
