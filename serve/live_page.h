// Serves reports as a page that renews itself: connects server (http_server.h), requests (route.h)
// and reports (live_reports.h).
//
// The live page from serve/page/, built into the program.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "serve/listen_address.h"
#include "serve/live_reports.h"

namespace oddrank::serve {

struct LiveOptions {
  ListenAddress address;
  std::optional<std::chrono::seconds> renew;
  std::string about;        // the beginning of the page's title
  std::string own_name;     // this machine's name
  bool shows_words = true;  // show a reading's stderr, which may contain names that --redact hides
};

// Reads once, and serves until `ended` is not 0. Once it answers clients, calls `opened` with the
// URL, which contains the token. Fails if it cannot serve; or, with the reading's error and without
// serving, if the first reading fails. Leaves no process behind.
//
// Precondition: one thread (it forks, worker.h). Starts no thread.
Status serve_reports(const LiveOptions& options,
                     Makers makers,
                     const std::atomic<int>& ended,
                     const std::function<void(const std::string& url)>& opened);

// Return the contents of the three files.
std::string_view page_html();
std::string_view page_style();
std::string_view page_script();

}  // namespace oddrank::serve
