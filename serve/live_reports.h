// The reports of the live page. Makes a new one on request or when it is due, one at a time and at
// least 5 s after the previous one, and keeps the earlier ones, even if a reading fails.
//
// Callers pass the time: there is no clock here. Precondition of methods that start work: one
// thread (worker.h).
//
// The reports that are kept: the newest ones, bounded in number and bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "serve/product.h"
#include "serve/worker.h"

namespace oddrank::serve {

struct KeptReport {
  std::uint64_t id = 0;  // 1, 2, ... in order of time, never reused
  std::chrono::steady_clock::time_point at;
  std::string sentence;
  std::shared_ptr<const std::string> page;
  std::shared_ptr<const std::string> capture;
  // If not 0: this is the report of capture `later`, with the changes since `earlier`.
  std::uint64_t earlier = 0;
  std::uint64_t later = 0;

  bool is_comparison() const { return earlier != 0; }
};

class History {
 public:
  static constexpr std::size_t kMaxReports = 20;
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  explicit History(std::size_t max_reports = kMaxReports, std::size_t max_bytes = kMaxBytes)
      : max_reports_(max_reports), max_bytes_(max_bytes) {}

  // Adds a report, drops the oldest ones beyond the limits (never the new one), and returns its id.
  // A comparison replaces the previous comparison.
  std::uint64_t add(Product product, std::chrono::steady_clock::time_point at);
  std::uint64_t add_comparison(Product product,
                               std::chrono::steady_clock::time_point at,
                               std::uint64_t earlier,
                               std::uint64_t later);

  // Returns null if there is no such report, or it was dropped.
  const KeptReport* find(std::uint64_t id) const;
  // Returns the newest report that is not a comparison; null if there is none.
  const KeptReport* newest() const;
  const std::deque<KeptReport>& all() const { return reports_; }  // the oldest first

 private:
  std::uint64_t keep(KeptReport report);

  std::size_t max_reports_;
  std::size_t max_bytes_;
  std::size_t bytes_ = 0;
  std::uint64_t last_id_ = 0;
  std::deque<KeptReport> reports_;
};

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
