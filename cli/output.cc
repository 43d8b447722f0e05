#include "cli/output.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>

#include "aggregate/diagnose.h"
#include "aggregate/explain/explain.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/write_file.h"
#include "cli/terminal/screen.h"
#include "report/explain_text.h"
#include "report/html/report_html.h"
#include "report/process_text.h"
#include "report/report_dot.h"
#include "report/report_json.h"
#include "report/report_profiles.h"
#include "report/report_text.h"
#include "report/text_options.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/jobs/join_jobs.h"
#include "snapshot/rewrite.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxErrorText = 4096;  // bytes
// A capture of some hundred nodes, or a report, is smaller.
constexpr std::size_t kRoomForOutput = std::size_t{1} << 20;

bool wants_color() {
  const char* refused = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
  const char* terminal = std::getenv("TERM");     // NOLINT(concurrency-mt-unsafe)
  return (refused == nullptr || *refused == '\0') && ::isatty(STDOUT_FILENO) != 0 &&
         (terminal == nullptr || std::string(terminal) != "dumb");
}

// Returns the columns of the report: of the terminal, within what reads well.
int report_width() {
  constexpr int kLeast = 60;
  constexpr int kMost = 140;
  const winsize size = terminal_size();
  return size.ws_col > 0 ? std::clamp<int>(size.ws_col, kLeast, kMost)
                         : report::TextOptions().width;
}

struct Output {
  const char* option;
  const std::string* path;
};

std::array<Output, 6> outputs_of(const OutputOptions& options) {
  return {{{"--json", &options.json},
           {"--html", &options.html},
           {"--save", &options.save},
           {"--folded", &options.folded},
           {"--speedscope", &options.speedscope},
           {"--dot", &options.dot}}};
}

bool is_stdout_taken(const OutputOptions& options) {
  const auto outputs = outputs_of(options);
  return std::any_of(outputs.begin(), outputs.end(), [](const Output& output) {
    return !output.path->empty() && file_identity(*output.path) == "-";
  });
}

bool save_capture(const snapshot::Capture& capture, const OutputOptions& options) {
  if (options.save.empty()) {
    return true;
  }
  if (auto written = write_file(options.save, snapshot::encode_capture(capture), options.mode.bits);
      !written) {
    report_error(written.error());
    return false;
  }
  return true;
}

// Writes every requested output except the text on the terminal.
bool write_formats(const aggregate::Diagnosis& report,
                   const aggregate::JobView& view,
                   const OutputOptions& options) {
  bool written = true;
  if (!options.json.empty()) {
    written &= write_output(options.json, report::report_json(report, view), options.mode);
  }
  if (!options.html.empty()) {
    written &= write_output(options.html, report::report_html(report, view), options.mode);
  }
  if (options.take_page) {
    options.take_page(printable_text(report::report_html(report, view)),
                      printable_text(report::report_sentence(report)));
  }
  if (!options.folded.empty()) {
    written &= write_output(options.folded, report::report_folded(view), options.mode);
  }
  if (!options.speedscope.empty()) {
    written &= write_output(options.speedscope, report::report_speedscope(view), options.mode);
  }
  if (!options.dot.empty()) {
    written &= write_output(options.dot, report::report_dot(report, view), options.mode);
  }
  return written;
}

bool print_text(const std::string& text, const OutputOptions& options) {
  if (options.print) {
    options.print(text);
    return true;
  }
  return write_output("-", text, options.mode);
}

ExitStatus exit_status(const aggregate::Coverage& coverage) {
  if (coverage.read == 0 && coverage.partial == 0) {
    return kNothingRead;
  }
  return coverage.complete() && coverage.nodes_answered == coverage.nodes_expected ? kAllRead
                                                                                   : kPartial;
}

// Returns the verdict's sentence. If it names nothing, one line for each process says more.
std::string quiet_text(const aggregate::JobView& view, const aggregate::Diagnosis& report) {
  if (report.verdict.kind != aggregate::Kind::kUnknown &&
      report.verdict.kind != aggregate::Kind::kHealthy) {
    return report::report_sentence(report);
  }
  std::string text;
  for (const snapshot::ProcessCapture& process : view.capture().processes) {
    text += report::process_sentence(view, process);
  }
  return text;
}

}  // namespace

ExitStatus status_of(Errc code) {
  switch (code) {
    case Errc::kUsage:
      return kWrongUsage;
    case Errc::kIo:
      return kToolFault;
    default:
      return kNothingRead;
  }
}

ExitStatus report_error(const Error& error) {
  std::string line = printable(error.what, kMaxErrorText);
  if (!error.hint.empty()) {
    line += "\n  hint: " + error.hint;
  }
  log_line(LogLevel::kError, line);
  return status_of(error.code);
}

report::TextOptions text_options(const OutputOptions& options) {
  report::TextOptions text;
  text.color = wants_color();
  text.width = report_width();
  text.all_threads = options.all_threads;
  text.full_stacks = options.full_stacks;
  text.locals = options.locals;
  return text;
}

Status check_outputs(const OutputOptions& options) {
  std::map<std::string, const char*> taken;
  for (const Output& output : outputs_of(options)) {
    if (output.path->empty()) {
      continue;
    }
    const std::string file = file_identity(*output.path);
    const auto [at, fresh] = taken.emplace(file, output.option);
    if (!fresh) {
      return fail(Errc::kUsage, std::string(at->second) + " and " + output.option + " both write " +
                                    (file == "-" ? "to stdout" : *output.path));
    }
    if (auto writable = check_writable(*output.path, kRoomForOutput); !writable) {
      return fail(Errc::kUsage, writable.error().what,
                  std::string("nothing has been read yet; give ") + output.option +
                      " a file in a folder that you can write to, with free space");
    }
  }
  return ok();
}

Status check_stdout_free(const OutputOptions& options, const std::string& option) {
  if (is_stdout_taken(options)) {
    return fail(Errc::kUsage, option + " uses stdout itself, so no other output fits there");
  }
  return ok();
}

bool write_output(const std::string& path, const std::string& text, FileMode mode) {
  const std::string safe = printable_text(text, path == "-" && wants_color());
  if (auto written = write_file(path, safe, mode.bits); !written) {
    report_error(written.error());
    return false;
  }
  return true;
}

ExitStatus deliver(const snapshot::Capture& capture,
                   const OutputOptions& options,
                   const snapshot::Capture* earlier) {
  if (options.redact) {
    OutputOptions done = options;
    done.redact = false;
    const snapshot::Capture now = snapshot::redacted(capture, earlier);
    const auto before =
        earlier == nullptr ? std::nullopt : std::optional(snapshot::redacted(*earlier, &capture));
    return deliver(now, done, before ? &*before : nullptr);
  }
  bool written = save_capture(capture, options);
  const snapshot::OneNumbering now(capture);
  aggregate::FrameModel model(now.capture().tables);
  const aggregate::JobView view(now.capture(), model);
  aggregate::Diagnosis report = aggregate::diagnose(view);
  if (options.explain) {
    report.explanation = aggregate::explain(view, report.verdict);
  }
  if (earlier != nullptr) {
    report.since =
        aggregate::compare_captures(snapshot::OneNumbering(*earlier).capture(), now.capture());
  }
  written &= write_formats(report, view, options);
  if (!is_stdout_taken(options)) {
    written &= print_text(options.quiet ? report::report_sentence(report)
                                        : report::report_text(report, view, text_options(options)),
                          options);
  }
  return written ? exit_status(report.coverage) : kToolFault;
}

ExitStatus deliver_processes(const snapshot::Capture& capture, const OutputOptions& options) {
  if (options.redact) {
    OutputOptions done = options;
    done.redact = false;
    return deliver_processes(snapshot::redacted(capture), done);
  }
  bool written = save_capture(capture, options);
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  std::string text;
  bool complete = true;
  bool any = false;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    text += report::print_process(view, process, text_options(options));
    text += "\n";
    complete &= process.read == snapshot::ReadState::kFull;
    any |= process.read != snapshot::ReadState::kNone;
  }
  for (const snapshot::NodeCapture& node : capture.nodes) {
    for (const std::string& note : node.notes) {
      text += "Note: " + printable(node.host + ": " + note, 400) + "\n";
    }
  }
  aggregate::Diagnosis report = aggregate::diagnose(view);
  if (options.explain) {
    report.explanation = aggregate::explain(view, report.verdict);
    text += report::explain_text(*report.explanation, text_options(options));
  }
  written &= write_formats(report, view, options);
  if (options.quiet) {
    text = quiet_text(view, report);
  }
  if (!is_stdout_taken(options)) {
    written &= print_text(text, options);
  }
  if (!written) {
    return kToolFault;
  }
  return complete ? kAllRead : any ? kPartial : kNothingRead;
}

}  // namespace oddrank::cli
