#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "node/sources/collect_dumps.h"
#include "snapshot/epochs.h"
#include "snapshot/format/decode_many.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxCaptureBytes = std::size_t{1} << 30;

constexpr std::chrono::milliseconds kDumpTimeout{60000};

struct ReportOptions {
  std::vector<std::string> captures;
  std::vector<std::string> fr;
  OutputOptions output;
};

// Returns the files, with each folder replaced by the files in it, sorted by name.
std::vector<std::string> expand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(argument, ignored)) {
      files.push_back(argument);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(argument, ignored)) {
      if (entry.is_regular_file(ignored)) {
        inside.push_back(entry.path().string());
      }
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

int run_report(const ReportOptions& options) {
  snapshot::EpochJoiner captures;
  ExitStatus worst = kAllRead;
  const std::vector<std::string> files = expand(options.captures);
  snapshot::decode_many(
      files.size(), [&files](std::size_t i) { return read_file(files[i], kMaxCaptureBytes); },
      [&](std::size_t i, Result<snapshot::Capture> capture) {
        if (capture) {
          captures.add(std::move(*capture));
          return;
        }
        // Errors of reading already name the file.
        const Errc code = capture.error().code;
        const bool of_content = code == Errc::kBadData || code == Errc::kUnsupported;
        worst = std::max(worst, report_error(of_content ? std::move(capture).error().in(files[i])
                                                        : capture.error()));
      });
  if (captures.empty()) {
    return worst == kAllRead
               ? report_error({Errc::kNotFound, "no capture found in the given files", ""})
               : kNothingRead;
  }
  // The verdict is about the latest capture. A large job has millions of allocations: freeing them
  // before the exit would take half a second.
  static auto& times = *new std::vector<snapshot::Capture>;
  times = captures.take();
  node::add_given_dumps(times.back(), options.fr, true, kDumpTimeout);
  const auto* earlier = times.size() > 1 ? &times[times.size() - 2] : nullptr;
  const ExitStatus status = deliver(times.back(), options.output, earlier);
  return status == kAllRead && worst != kAllRead ? kPartial : status;
}

}  // namespace

void add_report_command(Parser& parser) {
  auto options = std::make_shared<ReportOptions>();
  Command command =
      parser.command("report", "Diagnose saved captures; needs no access to any process");
  command
      .option("CAPTURE", options->captures,
              "Files or folders; captures of one time are merged, and the latest time is compared "
              "with the one before")
      .required();
  add_fr_option(command, options->fr);
  add_output_options(command, options->output);
  add_locals_option(command, {&options->output.locals});
  command.footer(
      "Examples:\n"
      "  oddrank report out.odd\n"
      "  oddrank report /shared/captures/ --json -    all captures of a folder, as JSON\n"
      "  oddrank report 0200.odd 0214.odd             what moved in between, and what did not");
  command.runs([options] { return run_report(*options); });
}

}  // namespace oddrank::cli
