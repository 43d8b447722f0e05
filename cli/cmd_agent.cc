#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "base/deadline.h"
#include "base/isolated.h"
#include "base/write_file.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/shipped_copy.h"
#include "node/capture_node.h"
#include "reach/wire/drop_box.h"
#include "reach/wire/frames.h"
#include "snapshot/format/capture_file.h"

namespace oddrank::cli {
namespace {

struct AgentOptions {
  std::string out = "-";
  FileMode mode;
  std::string box;      // folder for the answer; stdout then only names the file
  std::string shipped;  // path of this program if it is a copy that was sent; else empty
  std::string run;      // the starter's word for this run (reach/wire/frames.h)
  bool framed = false;
  bool after_stdin = false;  // begin with a line on stdin: then the reader of the answer listens
  node::NodeRequest request;
  NodeCapture capture;
};

// A node on which nothing could be read still sends a capture that says why. It counts as an answer
// only if the search worked and found no rank: the report then concludes that ranks are missing.
snapshot::Capture empty_capture(const std::string& host, const Error& error) {
  snapshot::Capture capture;
  capture.nodes.emplace_back();
  auto& node = capture.nodes.front();
  node.host = host;
  node.answered = error.code == Errc::kNotFound;
  (node.answered ? node.notes.emplace_back() : node.why) = error.what;
  capture.job.hosts = {host};
  return capture;
}

// After this time the process that started us has given up. Everything else that could end us may
// be gone too (the controller restarted, the connection broke), so SIGALRM ends us, and no process
// of ours stays on the node. Readers exit with us and release the threads that they stopped.
void end_when_nobody_waits(std::chrono::milliseconds timeout) {
  constexpr std::chrono::seconds kGrace{10};
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(
      static_cast<unsigned>((std::chrono::ceil<std::chrono::seconds>(timeout) + kGrace).count()));
}

// Returns also if stdin ends.
void wait_for_line() {
  char byte = 0;
  ssize_t count = 0;
  do {
    count = ::read(STDIN_FILENO, &byte, 1);
  } while ((count == 1 && byte != '\n') || (count < 0 && errno == EINTR));
}

// Sends lines as long as they are taken: a reader that does not keep up is not worth waiting for.
void send_if_taken(const std::string& lines) {
  const Deadline deadline = Deadline::after(std::chrono::seconds(1));
  std::size_t begin = 0;
  while (begin < lines.size()) {
    pollfd out{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&out, 1, deadline.poll_timeout()) != 1) {
      return;
    }
    const std::size_t end = std::min(lines.find('\n', begin), lines.size() - 1) + 1;
    send_bytes(STDOUT_FILENO, lines.substr(begin, end - begin));
    begin = end;
  }
}

// Returns what is sent through stdout: the capture, or the note that names it in the shared folder.
// If this node does not share that folder, the capture says so.
std::string answer_of(const AgentOptions& options,
                      const std::string& host,
                      snapshot::Capture& capture) {
  std::string bytes = snapshot::encode_capture(capture);
  if (options.box.empty()) {
    return bytes;
  }
  auto note = reach::leave_in_box(options.box, host, bytes);
  if (note) {
    return *std::move(note);
  }
  capture.nodes.front().notes.push_back("the folder of --shared is not shared by this node (" +
                                        note.error().what + "), so its answer came through srun");
  return snapshot::encode_capture(capture);
}

int run_agent(AgentOptions& options) {
  delete_shipped_copy(options.shipped);
  if (options.framed) {
    end_when_nobody_waits(options.capture.timeout + node::longest_sampling(options.capture));
  }
  if (options.after_stdin) {
    wait_for_line();
  }
  if (options.request.host.empty()) {
    options.request.host = own_variable("SLURMD_NODENAME");
  }
  if (options.out == "-" && !options.framed && ::isatty(STDOUT_FILENO) != 0) {
    return report_error({Errc::kUsage, "refusing to write a binary capture to a terminal",
                         "give --out FILE, or use `oddrank node` to see the report"});
  }
  reach::Sender sender{options.request.host, reach::new_stream_id(), options.run};
  if (options.framed) {
    send_bytes(STDOUT_FILENO, reach::encode_hello(sender));
    options.request.sampling_again = [&](node::SampleReason reason, std::size_t sample) {
      send_bytes(STDOUT_FILENO, reach::encode_doing(sender, node::again_words(reason, sample)));
    };
    options.request.draft = [&](const std::string& draft) {
      reach::Sender drafter = sender;
      drafter.host = sender.host.empty() ? node::host_name() : sender.host;
      const auto note = options.box.empty() ? Result<std::string>(draft)
                                            : reach::leave_in_box(options.box, drafter.host, draft);
      send_if_taken(reach::encode_draft(drafter, note.value_or(draft)));
    };
  }
  auto capture = node::capture_node(options.request, options.capture);
  ExitStatus status = kAllRead;
  if (!capture) {
    status = report_error(capture.error());
    if (status == kWrongUsage) {
      return status;
    }
    capture = empty_capture(options.request.host, capture.error());
  }
  if (options.framed) {
    sender.host = capture->nodes.front().host;
    const std::string answer = answer_of(options, sender.host, *capture);
    return send_bytes(STDOUT_FILENO, reach::encode_frames(sender, answer)) ? status : kToolFault;
  }
  const std::string bytes = snapshot::encode_capture(*capture);
  if (auto written = write_file(options.out, bytes, options.mode.bits); !written) {
    return report_error(written.error());
  }
  return status;
}

}  // namespace

void add_agent_command(Parser& parser) {
  auto options = std::make_shared<AgentOptions>();
  Command command = parser.command(
      "agent",
      "Capture this node to stdout or a file; started by other commands, useful in scripts");
  command.option("--out", options->out, "Write the capture to this file; '-' is stdout")
      .value("FILE");
  add_mode_option(command, options->mode);
  command.flag("--framed", options->framed, "Write checksummed text lines, for srun's output");
  command.option("--slurm-job", options->request.slurm_job, "Read only ranks of this SLURM job")
      .value("JOBID");
  command
      .option("--slurm-user", options->request.slurm_user,
              "Number of the user of this SLURM job; processes of others that name it are not read")
      .value("UID");
  command
      .option("--slurm-step", options->request.slurm_step,
              "Read only ranks of this step of the job")
      .value("STEP");
  command
      .option("--select", options->request.select,
              "Choose the job with this name if several run on this node")
      .value("NAME");
  command
      .option("--beside", options->request.beside,
              "Choose the job that this process is a rank of if several run on this node")
      .value("PID");
  command
      .option("--host", options->request.host,
              "Name of this node in the report [SLURMD_NODENAME or the host name]")
      .value("NAME");
  command.option("--box", options->box).hidden();
  command.option("--run", options->run).hidden();
  command.flag("--after-stdin", options->after_stdin).hidden();
  command.option("--delete-self", options->shipped).hidden();
  add_capture_options(command, options->capture);
  add_locals_options(command, options->capture);
  command.footer(
      "Examples:\n"
      "  oddrank agent --out /shared/$(hostname).odd     then: oddrank report /shared/*.odd\n"
      "  pdsh -w n[0-3] oddrank agent --out /shared/%h.odd");
  command.runs([options] { return run_agent(*options); });
}

}  // namespace oddrank::cli
