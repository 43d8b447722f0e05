#include <memory>
#include <string>
#include <vector>

#include "aggregate/diagnose.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/view/job_view.h"
#include "base/confine.h"
#include "base/write_file.h"
#include "cli/commands.h"
#include "cli/many_errors.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "collectives/flight/read_flight_record.h"
#include "node/collect/dump_files.h"
#include "report/flight_report.h"
#include "snapshot/capture.h"

namespace oddrank::cli {
namespace {

// For one dump. 2000 calls with their stacks take 3 MB.
constexpr std::size_t kMaxDumpBytes = std::size_t{512} << 20;

constexpr const char* kDebugServerHint =
    "PyTorch's debug server writes texts for people; the addresses in its stacks_*.txt give dumps: "
    "curl -X POST http://HOST:PORT/handler/fr_trace_json -o rank_N.json";

struct FrOptions {
  std::vector<std::string> dumps;
  std::string json;
  FileMode mode;
  bool quiet = false;
};

int run_fr(const FrOptions& options) {
  confine(kReporter);
  snapshot::Capture capture;
  std::vector<snapshot::FlightRecord>& records = capture.collectives.flight;
  std::vector<report::UnreadDump> unread;
  bool of_debug_server = false;
  for (const std::string& file : node::expand_files(options.dumps)) {
    const auto found = node::read_found_file(file, kMaxDumpBytes);
    if (found && collectives::is_debug_server_text(found->bytes)) {
      of_debug_server = true;
      continue;
    }
    auto record = found ? collectives::read_flight_record(file, found->bytes, capture.tables)
                        : Result<snapshot::FlightRecord>(fail(found.error()));
    if (record) {
      record->written_us = found->written_us;
      records.push_back(std::move(*record));
    } else {
      unread.push_back({file, record.error().what});
    }
  }
  if (records.empty()) {
    ManyErrors errors;
    for (const report::UnreadDump& dump : unread) {
      errors.add({Errc::kBadData, dump.source + ": " + dump.why, ""});
    }
    errors.finish();
    return report_error({Errc::kNotFound, "no flight-recorder dump found in the given files",
                         of_debug_server ? kDebugServerHint : ""});
  }
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  const aggregate::Verdict verdict = aggregate::verdict_of(view);
  const report::FlightReport report{*view.flight(), verdict, std::move(unread)};
  if (!options.json.empty() &&
      !write_output(options.json, report::flight_report_json(report), options.mode)) {
    return kToolFault;
  }
  if (options.json != "-") {
    const std::string text =
        options.quiet ? report.verdict.summary + "\n" : report::flight_report_text(report);
    if (!write_output("-", text, options.mode)) {
      return kToolFault;
    }
  }
  return report.unread.empty() && aggregate::ranks_without_dump(report.facts).empty() ? kAllRead
                                                                                      : kPartial;
}

}  // namespace

void add_fr_command(Parser& parser) {
  auto options = std::make_shared<FrOptions>();
  Command command = parser.command(
      "fr", "Diagnose dumps of PyTorch's flight recorder; needs no access to any process");
  command
      .option(
          "DUMP", options->dumps,
          "Files, folders or patterns; one pickle or JSON file for each rank, with its number in "
          "the name")
      .required();
  command.option("--json", options->json, "Write the report as JSON; '-' is stdout").value("FILE");
  add_mode_option(command, options->mode);
  command.flag("-q,--quiet", options->quiet, "Print only the verdict's sentence");
  command.footer(
      "Examples:\n"
      "  oddrank fr ~/.cache/torch/                     all dumps of a folder\n"
      "  oddrank fr '/shared/nccl_trace_rank_*' --json -");
  command.runs([options] { return run_fr(*options); });
}

}  // namespace oddrank::cli
