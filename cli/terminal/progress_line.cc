#include "cli/terminal/progress_line.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/printable.h"

namespace oddrank::cli {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr std::size_t kBarWidth = 20;
constexpr std::size_t kMaxWords = 400;  // bytes: of hosts, and of what agents report
constexpr std::string_view kEraseLine = "\r\x1b[K";

void say(const std::string& text) {
  // If stderr is closed, there is nothing else to do.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

ProgressLine::ProgressLine(std::string what, bool quiet)
    : what_(std::move(what)),
      quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) != 0),
      started_(steady_clock::now()),
      last_(started_) {}

ProgressLine::~ProgressLine() {
  if (drawn_ && terminal_) {
    say(std::string(kEraseLine));
  }
}

void ProgressLine::update(std::size_t done,
                          std::size_t total,
                          const std::string& waiting_for,
                          const std::string& doing) {
  const auto now = steady_clock::now();
  // A terminal is redrawn ten times a second, a log gets a line every five.
  const auto pause = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  const bool is_news = !doing.empty() && doing != doing_;
  const bool is_early = now - started_ < seconds(1) || now - last_ < pause;
  if (quiet_ || total == 0 || (is_early && !is_news)) {
    return;
  }
  doing_ = doing;
  last_ = now;
  const auto safe = [](const std::string& text) { return printable(text, kMaxWords); };
  std::string line = std::to_string(done) + " of " + std::to_string(total) + " " + what_;
  if (!waiting_for.empty()) {
    line += ", waiting for " + safe(waiting_for);
  }
  if (!doing.empty() && waiting_for.find(doing) == std::string::npos) {
    line += "; " + safe(doing);
  }
  if (terminal_) {
    const std::size_t filled = std::min(kBarWidth, kBarWidth * done / total);
    say(std::string(kEraseLine) + "[" + std::string(filled, '#') +
        std::string(kBarWidth - filled, '.') + "] " + line);
  } else {
    say("oddrank: " + line + "\n");
  }
  drawn_ = true;
}

}  // namespace oddrank::cli
