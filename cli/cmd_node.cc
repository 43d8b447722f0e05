#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/read_file.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/terminal/make_report.h"
#include "cli/terminal/progress_line.h"
#include "collectives/flight/write_flight_record.h"
#include "node/capture_node.h"
#include "node/collect/collect_dumps.h"
#include "snapshot/jobs/jobs.h"

namespace oddrank::cli {
namespace {

struct NodeOptions {
  std::vector<pid_t> pids;
  std::string select;
  bool each = false;
  std::string fr_dump;  // a folder; "" = not wanted
  NodeCapture capture;
  OutputOptions output;
};

// Another user may have replaced our folder by a link to a different folder of ours.
Status check_folder(const std::string& folder) {
  const std::string plain = folder.substr(0, folder.find_last_not_of('/') + 1);
  struct stat facts {};
  if (::lstat(plain.c_str(), &facts) != 0 || !S_ISLNK(facts.st_mode) ||
      facts.st_uid == ::geteuid() || facts.st_uid == 0) {
    return ok();
  }
  return fail(Errc::kPermission,
              folder + " is a link of user " + std::to_string(facts.st_uid) + ": not followed",
              "give a folder of your own");
}

// Writes the calls that were read from memory as dumps: one file for each rank.
Status write_dumps(const snapshot::Capture& capture, const std::string& folder) {
  std::error_code made;
  std::filesystem::create_directories(folder, made);  // a failure shows when a file is written
  std::size_t written = 0;
  for (const snapshot::FlightRecord& record : capture.collectives.flight) {
    if (!record.from_memory) {
      continue;
    }
    ODDRANK_TRY_STATUS(write_file(folder + "/rank_" + std::to_string(record.rank),
                                  collectives::write_flight_record(record, capture.tables)));
    ++written;
  }
  if (written == 0) {
    return fail(Errc::kNotFound, "no rank has a flight recorder with calls in its memory",
                "set TORCH_FR_BUFFER_SIZE=2000 before the job starts; torch has it by default "
                "from 2.11 on");
  }
  return ok();
}

ExitStatus deliver_each(const snapshot::Capture& capture, const OutputOptions& output) {
  ExitStatus worst = kAllRead;
  for (const std::string& key : snapshot::keys_to_select(capture)) {
    worst = std::max(worst, deliver(snapshot::job_of(capture, key), output));
  }
  return worst;
}

Result<snapshot::Capture> capture_here(const NodeOptions& options) {
  node::NodeRequest request;
  request.pids = options.pids;
  request.select = options.select;
  request.any_job = options.each;
  NodeCapture capture_options = options.capture;
  if (!options.fr_dump.empty()) {
    ODDRANK_TRY_STATUS(check_folder(options.fr_dump));
    capture_options.read.newest_calls = 0;
  }
  ProgressLine progress("processes", options.output.quiet);
  std::size_t processes = 0;
  request.progress = [&](std::size_t done, std::size_t total) {
    processes = total;
    progress.update(done, total);
  };
  request.sampling_again = [&](node::SampleReason reason, std::size_t sample) {
    progress.update(processes, processes, "", node::again_words(reason, sample));
  };
  ODDRANK_TRY(snapshot::Capture capture, node::capture_node(request, capture_options));
  if (!options.fr_dump.empty()) {
    ODDRANK_TRY_STATUS(write_dumps(capture, options.fr_dump));
  }
  node::add_given_dumps(capture, options.capture.fr, true, options.capture.timeout);
  return capture;
}

int run_node(const NodeOptions& options) {
  const auto show = [&options](const snapshot::Capture& capture, const OutputOptions& output,
                               const snapshot::Capture* earlier) {
    // One process gets a dump of its own; several get a verdict, ranks or not.
    return options.pids.size() == 1 ? deliver_processes(capture, output)
           : options.each           ? deliver_each(capture, output)
                                    : deliver(capture, output, earlier);
  };
  return make_report(
      options.output, "", [&options] { return capture_here(options); }, show);
}

}  // namespace

void add_node_command(Parser& parser) {
  auto options = std::make_shared<NodeOptions>();
  Command command = parser.command(
      "node", "Diagnose the ranks of this node, or print the stacks of processes, without SLURM");
  command.option("PID", options->pids, "Processes to read instead of all ranks").positive();
  const Option select =
      command
          .option("--select", options->select,
                  "Choose the job with this name if several run on this node; for "
                  "a SLURM job, its number is enough")
          .value("NAME");
  Option each = command.flag("--each", options->each, "Print one report for each job on this node")
                    .not_with(select);
  add_capture_options(command, options->capture);
  add_output_options(command, options->output);
  each.not_with(add_live_options(command, options->output));
  command
      .option("--fr-dump", options->fr_dump,
              "Write the calls in the ranks' memory into this folder, as dumps of PyTorch's flight "
              "recorder (rank_0, rank_1, ...), which torchfrtrace reads")
      .value("DIR");
  add_locals_options(command, options->capture, options->output);
  command.footer(
      "Examples:\n"
      "  oddrank node           which rank of this node holds the others up?\n"
      "  oddrank node 31337     one process: Python and native frames in one stack\n"
      "  oddrank node 71 72 73  do these processes, ranks or not, wait for each other?\n"
      "  oddrank node -w        the report again and again, with what changed marked\n"
      "  oddrank node --serve   the report as a page in a browser, read again on request\n"
      "  oddrank node --json - | jq .verdict");
  command.runs([options] { return run_node(*options); });
}

}  // namespace oddrank::cli
