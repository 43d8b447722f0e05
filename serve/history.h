// The reports that are kept: the newest ones, bounded in number and bytes.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "serve/product.h"

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

}  // namespace oddrank::serve
