#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/confine.h"
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/likely_meant.h"
#include "cli/many_errors.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "node/collect/collect_dumps.h"
#include "node/collect/dump_files.h"
#include "snapshot/alike_threads.h"
#include "snapshot/epochs.h"
#include "snapshot/format/decode_many.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxCaptureBytes = std::size_t{1} << 30;

// The first threads are kept as they are; for a job with fewer threads, the effort would save too
// little memory.
constexpr std::size_t kMaxAlikeThreads = std::size_t{1} << 18;

constexpr int kLargeBytes = 2 << 20;

constexpr std::chrono::milliseconds kDumpTimeout{60000};

struct ReportOptions {
  std::vector<std::string> captures;
  std::vector<std::string> fr;
  OutputOptions output;
};

struct CaptureFile {
  std::string path;
  bool found = false;  // in a folder; else the user named it, and it may be a pipe
};

// Returns the files, with each folder replaced by the files in it, sorted by name.
std::vector<CaptureFile> expand(const std::vector<std::string>& arguments) {
  std::vector<CaptureFile> files;
  for (const std::string& argument : arguments) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(argument, ignored)) {
      files.push_back({argument, false});
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : std::filesystem::directory_iterator(argument, ignored)) {
      if (entry.is_regular_file(ignored)) {
        inside.push_back(entry.path().string());
      }
    }
    std::sort(inside.begin(), inside.end());
    for (std::string& path : inside) {
      files.push_back({std::move(path), true});
    }
  }
  return files;
}

Result<std::string> read_capture(const CaptureFile& file) {
  if (!file.found) {
    return read_file(file.path, kMaxCaptureBytes);
  }
  ODDRANK_TRY(node::FoundFile found, node::read_found_file(file.path, kMaxCaptureBytes));
  return std::move(found.bytes);
}

// Returns whether an output has every thread of the capture, however large the job is.
bool has_all_threads(const OutputOptions& output) {
  return !output.save.empty() || !output.html.empty() || output.take_page || output.serve ||
         output.all_threads;
}

int run_report(const ReportOptions& options) {
  if (const Status outputs = check_outputs(options.output); !outputs) {
    return report_error(outputs.error());
  }
  confine(kReporter);
  // Memory that is freed between reading and diagnosing goes back to the kernel, so that it does
  // not add to the memory of the diagnosis. Captures are smaller.
  (void)::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  snapshot::EpochJoiner captures;
  ManyErrors errors;
  std::size_t threads = 0;
  const std::vector<CaptureFile> files = expand(options.captures);
  snapshot::decode_many(
      files.size(), [&files](std::size_t i) { return read_capture(files[i]); },
      [&](std::size_t i, Result<snapshot::Capture> capture) {
        if (capture) {
          threads += snapshot::count_threads(*capture);
          if (threads > kMaxAlikeThreads && !has_all_threads(options.output)) {
            snapshot::drop_alike_threads(*capture);
          }
          captures.add(std::move(*capture));
          return;
        }
        // Errors of reading already name the file.
        const Errc code = capture.error().code;
        const bool of_content = code == Errc::kBadData || code == Errc::kUnsupported;
        Error error = std::move(capture).error();
        if (const std::string hint = hint_for_number(files[i].path);
            code == Errc::kNotFound && !hint.empty()) {
          error.hint = "oddrank report reads files; " + hint;
        }
        errors.add(of_content ? std::move(error).in(files[i].path) : error);
      });
  const ExitStatus worst = errors.finish();
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
  add_locals_output(command, options->output);
  command.footer(
      "Examples:\n"
      "  oddrank report out.odd\n"
      "  oddrank report /shared/captures/ --json -    all captures of a folder, as JSON\n"
      "  oddrank report 0200.odd 0214.odd             what moved in between, and what did not");
  command.runs([options] { return run_report(*options); });
}

}  // namespace oddrank::cli
