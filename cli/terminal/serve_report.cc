#include "cli/terminal/serve_report.h"

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "base/confine.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "cli/output.h"
#include "cli/terminal/interrupt.h"
#include "node/capture_node.h"
#include "serve/live_page.h"
#include "snapshot/format/capture_file.h"

namespace oddrank::cli {
namespace {

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

}  // namespace

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

}  // namespace oddrank::cli
