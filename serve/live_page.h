// Serves reports as a page that renews itself: joins the server, what may be asked, and the
// reports.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "serve/listen_address.h"
#include "serve/live_reports.h"

namespace oddrank::serve {

struct LiveOptions {
  ListenAddress address;
  std::optional<std::chrono::seconds> renew;
  std::string about;        // how the page's title begins
  std::string own_name;     // of this machine
  bool shows_words = true;  // what a reading says on stderr; may name what a report hides
};

// Reads once, and serves until `ended` is not 0. Calls `opened` with the whole address, with the
// token, once clients are answered. Fails if it cannot serve, or if the very first reading fails:
// with that reading's error, and nothing is served then. Leaves no process behind.
//
// Precondition: one thread, and none is made (it forks, worker.h).
Status serve_reports(const LiveOptions& options,
                     Makers makers,
                     const std::atomic<int>& ended,
                     const std::function<void(const std::string& url)>& opened);

}  // namespace oddrank::serve
