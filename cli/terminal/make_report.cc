#include "cli/terminal/make_report.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "base/printable.h"
#include "cli/parser.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/screen.h"
#include "cli/terminal/serve_report.h"

namespace oddrank::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kDefaultPause = 5;     // seconds between two captures
constexpr std::size_t kMaxPause = 3600;      // seconds
constexpr std::size_t kMaxTitleError = 400;  // bytes
constexpr int kLookForInterrupt = 100;       // ms

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 16> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S", &local)};
}

// Returns false once Ctrl-C was pressed.
bool pause_for(std::size_t seconds, const std::atomic<bool>& stop) {
  const auto end = steady_clock::now() + std::chrono::seconds(seconds);
  while (!stop && steady_clock::now() < end) {
    ::poll(nullptr, 0, kLookForInterrupt);
  }
  return !stop;
}

Status check_repeat(const OutputOptions& options) {
  if (!Screen::is_possible()) {
    return fail(Errc::kUsage, "--watch needs a terminal",
                "`oddrank watch` waits for a hang without one");
  }
  return check_stdout_free(options, "--watch");
}

int repeat(OutputOptions options, const TakeCapture& take, const ShowCapture& show) {
  const std::atomic<bool>& stop = *catch_interrupts();
  const std::size_t every = *options.repeat_s;
  Screen screen;
  std::string text;
  options.print = [&text](const std::string& printed) { text += printed; };
  std::optional<snapshot::Capture> before;
  int status = kNothingRead;
  std::string trouble;
  do {
    auto capture = take();
    if (!capture && !before) {
      return report_error(capture.error());
    }
    if (capture) {
      text.clear();
      status = show(*capture, options, before ? &*before : nullptr);
      before = std::move(*capture);
    }
    trouble = capture ? "" : " (" + printable(capture.error().what, kMaxTitleError) + ")";
    const bool color = text_options(options).color;
    screen.show(
        "every " + std::to_string(every) + " s, at " + time_of_day() + "; Ctrl-C ends" + trouble,
        printable_text(text, color), color);
  } while (pause_for(every, stop));
  screen.leave();
  return status;
}

}  // namespace

Option add_live_options(Command& command, OutputOptions& options) {
  command
      .flag(
          "-w,--watch",
          [&options](std::optional<std::size_t> seconds) {
            options.repeat_s = seconds.value_or(kDefaultPause);
          },
          kMaxPause,
          "Capture and report again and again on the terminal, with pauses of so many seconds [5], "
          "until Ctrl-C; what changed is marked. With --serve, renew the page")
      .value("[=SECONDS]")
      .group("Output ('-' is stdout)");
  return command
      .flag(
          "--serve",
          [&options](const std::string& text) {
            const auto address = serve::parse_listen_address(text);
            options.serve = address.value_or(serve::ListenAddress());
            return address ? std::string() : address.error().what;
          },
          "Show the HTML report as a page that a browser can renew, until Ctrl-C, and print its "
          "address. ADDR: port, or IP address and port [127.0.0.1, any free port]")
      .value("[=ADDR]")
      .group("Output ('-' is stdout)");
}

int make_report(const OutputOptions& options,
                const std::string& about,
                const TakeCapture& take,
                const ShowCapture& show) {
  if (const Status outputs = check_outputs(options); !outputs) {
    return report_error(outputs.error());
  }
  if (options.serve) {
    return serve_report(options, about, take, show);
  }
  if (options.repeat_s) {
    const Status possible = check_repeat(options);
    return possible ? repeat(options, take, show) : report_error(possible.error());
  }
  auto capture = take();
  return capture ? show(*capture, options, nullptr) : report_error(capture.error());
}

}  // namespace oddrank::cli
