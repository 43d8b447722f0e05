#include "cli/terminal/make_report.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "base/confine.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/screen.h"
#include "node/capture_node.h"
#include "serve/live_page.h"
#include "snapshot/format/capture_file.h"

namespace oddrank::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMaxAbout = 80;  // bytes

// Shows the capture into a product.
serve::Product product_of(const snapshot::Capture& capture,
                          OutputOptions options,
                          const ShowCapture& show,
                          const snapshot::Capture* earlier) {
  serve::Product product;
  options.print = [](const std::string&) {};
  options.take_page = [&product](std::string page, const std::string& sentence) {
    product.page = std::move(page);
    product.sentence = sentence.substr(0, sentence.find_last_not_of('\n') + 1);
  };
  // An error about a file that cannot be written was printed on stderr, which the page shows.
  show(capture, options, earlier);
  product.capture = snapshot::encode_capture(capture);
  return product;
}

Result<serve::Product> read_product(const OutputOptions& options,
                                    const TakeCapture& take,
                                    const ShowCapture& show,
                                    const std::string* earlier) {
  ODDRANK_TRY(const snapshot::Capture capture, take());
  if (earlier == nullptr) {
    return product_of(capture, options, show, nullptr);
  }
  ODDRANK_TRY(const snapshot::Capture before, snapshot::decode_capture(*earlier));
  return product_of(capture, options, show, &before);
}

Result<serve::Product> compare_products(const OutputOptions& options,
                                        const std::string& earlier,
                                        const std::string& later) {
  confine(kReporter);
  ODDRANK_TRY(const snapshot::Capture before, snapshot::decode_capture(earlier));
  ODDRANK_TRY(const snapshot::Capture after, snapshot::decode_capture(later));
  OutputOptions only_page;
  only_page.redact = options.redact;
  only_page.explain = options.explain;
  only_page.locals = options.locals;
  return product_of(after, only_page, deliver, &before);
}

void say_where(const serve::ListenAddress& address, const std::string& url) {
  [[maybe_unused]] const bool said = write_file("-", url + "\n").has_value();
  if (!serve::is_loopback(address)) {
    log_line(LogLevel::kWarning,
             "anyone with this address can read the stacks, and nothing is encrypted\n"
             "  hint: --serve=PORT serves this machine alone, and ssh -L forwards it");
    return;
  }
  const std::size_t port_at = url.rfind(':') + 1;
  const std::string host = url.substr(url.find("//") + 2, port_at - 1 - url.find("//") - 2);
  const std::string port = url.substr(port_at, url.find('/', port_at) - port_at);
  const std::string hint = "From another machine: ssh -L " + port + ":" + host + ":" + port + " " +
                           printable(node::host_name(), 256) +
                           ", then the same address. Ctrl-C ends it.\n";
  // If stderr is closed, there is nothing else to do.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, hint.data(), hint.size());
}

// Serves the HTML report as a live page (serve/live_page.h) until Ctrl-C, SIGTERM or SIGHUP, and
// returns 0 then. Each report is made in a child, like by a run of the same command without
// --serve, which also writes the requested files. Returns the exit status of the error if it cannot
// serve or the first capture fails. Precondition: options.serve.
int serve_report(const OutputOptions& options,
                 const std::string& about,
                 const TakeCapture& take,
                 const ShowCapture& show) {
  if (const Status free = check_stdout_free(options, "--serve"); !free) {
    return report_error(free.error());
  }
  serve::LiveOptions live;
  live.address = *options.serve;
  if (options.repeat_s) {
    live.renew = std::chrono::seconds(*options.repeat_s);
  }
  live.own_name = node::host_name();
  const std::string what = about.empty() ? live.own_name : about;
  live.about = "oddrank" + (options.redact ? "" : ": " + printable(what, kMaxAbout));
  live.shows_words = !options.redact;
  serve::Makers makers;
  makers.read = [&](const std::string* earlier) {
    return read_product(options, take, show, earlier);
  };
  makers.compare = [&options](const std::string& earlier, const std::string& later) {
    return compare_products(options, earlier, later);
  };
  const Status served =
      serve::serve_reports(live, std::move(makers), *catch_ending_signals(),
                           [&live](const std::string& url) { say_where(live.address, url); });
  return served ? kAllRead : report_error(served.error());
}

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
