#include "serve/live_reports.h"

#include <algorithm>
#include <utility>

namespace oddrank::serve {

namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{2000};  // with a reading that is told to end

}  // namespace

LiveReports::LiveReports(Makers makers, std::optional<std::chrono::seconds> renew)
    : makers_(std::move(makers)), renew_(renew) {
  if (renew_) {
    renew_ = std::max(*renew_, kMinPause);
  }
}

Begun LiveReports::read_again(Time now) {
  if (busy()) {
    return Begun::kBusy;
  }
  if (pause_left(now) > milliseconds(0)) {
    return Begun::kTooEarly;
  }
  const KeptReport* newest = history_.newest();
  const auto earlier = newest == nullptr ? nullptr : newest->capture;
  return begin([this, earlier] { return makers_.read(earlier.get()); }, now, 0, 0);
}

Begun LiveReports::compare(std::uint64_t earlier, std::uint64_t later, Time now) {
  const KeptReport* before = history_.find(earlier);
  const KeptReport* after = history_.find(later);
  if (before == nullptr || after == nullptr || before->is_comparison() || after->is_comparison() ||
      earlier >= later) {
    return Begun::kUnknown;
  }
  if (busy()) {
    return Begun::kBusy;
  }
  return begin([this, first = before->capture,
                second = after->capture] { return makers_.compare(*first, *second); },
               now, earlier, later);
}

Begun LiveReports::begin(const MakeProduct& make,
                         Time now,
                         std::uint64_t earlier,
                         std::uint64_t later) {
  auto worker = Worker::start(make, kMaxWork);
  if (!worker) {
    trouble_ = worker.error();
    read_ended_ = now;
    return Begun::kFailed;
  }
  work_.emplace(Work{*std::move(worker), now, earlier, later});
  return Begun::kStarted;
}

void LiveReports::tick(Time now) {
  if (work_) {
    auto made = work_->worker.poll();
    if (!made) {
      return;
    }
    if (!comparing()) {
      read_ended_ = now;
    }
    if (!*made) {
      trouble_ = made->error();
    } else if (comparing()) {
      history_.add_comparison(**std::move(made), now, work_->earlier, work_->later);
    } else {
      trouble_.reset();
      history_.add(**std::move(made), now);
    }
    work_.reset();
  }
  if (const auto due = renewal_in(now); due && *due <= milliseconds(0)) {
    read_again(now);
  }
}

void LiveReports::stop() {
  if (work_) {
    work_->worker.stop(kPatience);
    work_.reset();
  }
}

milliseconds LiveReports::busy_for(Time now) const {
  return work_ ? duration_cast<milliseconds>(now - work_->began) : milliseconds(0);
}

milliseconds LiveReports::pause_left(Time now) const {
  if (!read_ended_) {
    return milliseconds(0);
  }
  return std::max(std::chrono::ceil<milliseconds>(*read_ended_ + kMinPause - now), milliseconds(0));
}

std::optional<milliseconds> LiveReports::renewal_in(Time now) const {
  if (!renew_ || !read_ended_ || busy()) {
    return std::nullopt;
  }
  return std::max(std::chrono::ceil<milliseconds>(*read_ended_ + *renew_ - now), milliseconds(0));
}

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
