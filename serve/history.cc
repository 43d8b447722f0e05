#include "serve/history.h"

#include <algorithm>
#include <utility>

namespace oddrank::serve {
namespace {

std::size_t size_of(const KeptReport& report) {
  return report.page->size() + report.capture->size() + report.sentence.size();
}

KeptReport kept(Product product, std::chrono::steady_clock::time_point at) {
  KeptReport report;
  report.at = at;
  report.sentence = std::move(product.sentence);
  report.page = std::make_shared<const std::string>(std::move(product.page));
  report.capture = std::make_shared<const std::string>(std::move(product.capture));
  return report;
}

}  // namespace

std::uint64_t History::add(Product product, std::chrono::steady_clock::time_point at) {
  return keep(kept(std::move(product), at));
}

std::uint64_t History::add_comparison(Product product,
                                      std::chrono::steady_clock::time_point at,
                                      std::uint64_t earlier,
                                      std::uint64_t later) {
  const auto before = std::find_if(reports_.begin(), reports_.end(),
                                   [](const KeptReport& report) { return report.is_comparison(); });
  if (before != reports_.end()) {
    bytes_ -= size_of(*before);
    reports_.erase(before);
  }
  KeptReport report = kept(std::move(product), at);
  report.earlier = earlier;
  report.later = later;
  return keep(std::move(report));
}

std::uint64_t History::keep(KeptReport report) {
  report.id = ++last_id_;
  bytes_ += size_of(report);
  reports_.push_back(std::move(report));
  while (reports_.size() > 1 && (reports_.size() > max_reports_ || bytes_ > max_bytes_)) {
    bytes_ -= size_of(reports_.front());
    reports_.pop_front();
  }
  return last_id_;
}

const KeptReport* History::find(std::uint64_t id) const {
  const auto found = std::find_if(reports_.begin(), reports_.end(),
                                  [id](const KeptReport& report) { return report.id == id; });
  return found == reports_.end() ? nullptr : &*found;
}

const KeptReport* History::newest() const {
  const auto found = std::find_if(reports_.rbegin(), reports_.rend(),
                                  [](const KeptReport& report) { return !report.is_comparison(); });
  return found == reports_.rend() ? nullptr : &*found;
}

}  // namespace oddrank::serve
