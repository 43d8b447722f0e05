#include "cli/ask_nodes.h"

#include <chrono>
#include <utility>
#include <vector>

#include "base/confine.h"
#include "base/deadline.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/read_file.h"
#include "base/span_words.h"
#include "base/write_file.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_line.h"
#include "node/enough_samples.h"
#include "reach/wire/answers.h"
#include "reach/wire/node_clock.h"
#include "snapshot/capture.h"
#include "snapshot/format/decode_many.h"
#include "snapshot/merge.h"
#include "snapshot/replicas/number_replicas.h"

namespace oddrank::cli {
namespace {

// When each answer was in transit, by this machine's wall clock. The gathering must have ended just
// now.
class Arrivals {
 public:
  explicit Arrivals(std::chrono::milliseconds took)
      : began_(std::chrono::duration_cast<std::chrono::microseconds>(
            (std::chrono::system_clock::now() - took).time_since_epoch())) {}

  reach::Stay of(const reach::NodeAnswer& node) const;

 private:
  std::chrono::microseconds began_;
};

reach::Stay Arrivals::of(const reach::NodeAnswer& node) const {
  const std::chrono::microseconds arrived = began_ + node.after;
  return {began_.count(), arrived.count()};
}

// An agent reads its own node only, and a capture of another node is not believed.
Result<snapshot::Capture> checked_answer(Result<snapshot::Capture> capture,
                                         const reach::NodeAnswer& node) {
  if (!capture || (capture->nodes.size() == 1 && capture->nodes.front().host == node.host)) {
    return capture;
  }
  return fail(Errc::kBadData, capture->nodes.empty()
                                  ? "its answer names no node, and is not used"
                                  : "its answer claims to be from " +
                                        printable(capture->nodes.front().host, 64) +
                                        ", and is not used");
}

// Says why there is only a draft.
void mark_as_draft(snapshot::Capture& capture, const reach::NodeAnswer& node) {
  snapshot::NodeCapture& part = capture.nodes.front();
  part.answered = false;
  part.why = node.why + "; shown is what it had read after " + span_words(node.after);
  for (snapshot::ProcessCapture& process : capture.processes) {
    if (process.read == snapshot::ReadState::kNone) {
      process.why = capture.tables.string(node.why + "; not read until then");
    }
  }
}

// Joins the captures that the agents of several nodes sent into one. The answers are foreign bytes,
// so this confines the process for good (base/confine.h): it cannot start programs afterwards.
// Precondition: one thread. Nodes without a readable answer are in the capture with the reason.
snapshot::Capture join_answers(snapshot::JobInfo job, const reach::GatherResult& gathered) {
  confine(kReporter);
  snapshot::Capture whole;
  whole.job = std::move(job);
  for (const reach::NodeAnswer& node : gathered.nodes) {
    whole.job.hosts.push_back(node.host);
  }
  snapshot::Merger merger(whole);
  const Arrivals arrivals(gathered.took);
  std::vector<reach::NodeClock> clocks;
  const auto& nodes = gathered.nodes;
  snapshot::decode_many(
      nodes.size(),
      [&nodes](std::size_t i) -> Result<std::string> {
        if (nodes[i].payload.empty()) {
          return fail(Errc::kNotFound, nodes[i].why);
        }
        return nodes[i].payload;
      },
      [&](std::size_t i, Result<snapshot::Capture> decoded) {
        Result<snapshot::Capture> capture = checked_answer(std::move(decoded), nodes[i]);
        if (capture) {
          if (!nodes[i].answered) {
            mark_as_draft(*capture, nodes[i]);
          }
          const std::int64_t ahead = reach::clock_ahead_us(*capture, arrivals.of(nodes[i]));
          if (ahead != 0) {
            reach::set_clock_back(*capture, ahead);
            clocks.push_back({nodes[i].host, ahead});
          }
          merger.add(std::move(*capture));
          return;
        }
        if (nodes[i].answered) {
          log_line(LogLevel::kWarning, nodes[i].host + ": " + capture.error().what);
        }
        snapshot::Capture part;
        part.nodes = {{nodes[i].host, false, capture.error().what, 0, {}, {}}};
        merger.add(std::move(part));
      });
  snapshot::number_replicas(whole);
  if (!whole.nodes.empty()) {
    auto& notes = whole.job.notes;
    notes.insert(notes.end(), gathered.notes.begin(), gathered.notes.end());
    if (std::string note = reach::clock_note(clocks); !note.empty()) {
      notes.push_back(std::move(note));
    }
  }
  return whole;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
}

}  // namespace

Result<NodeAnswers> ask_nodes(reach::FrontEnd& front_end,
                              const NodeQuestion& question,
                              const NodeCapture& capture) {
  NodeAnswers answers;
  ODDRANK_TRY(answers.job, front_end.find_job(Deadline::after(capture.timeout)));
  reach::AgentOptions options;
  ODDRANK_TRY(options.agent_path, question.agent.empty() ? read_link("/proc/self/exe")
                                                         : Result<std::string>(question.agent));
  options.run = random_word();
  options.agent_args = question.command;
  append(options.agent_args, front_end.job_arguments());
  append(options.agent_args, capture.given);
  append(options.agent_args, {"--run", options.run});
  options.node_timeout = capture.timeout;
  options.longest_delay = node::longest_sampling(capture);
  options.interrupted = catch_interrupts();
  ProgressLine progress(question.nodes, question.quiet);
  options.progress = [&progress](const reach::GatherProgress& now) {
    progress.update(now.done, now.total, now.waiting_for, now.doing);
  };
  StepLog steps;
  ODDRANK_TRY(answers.gathered, front_end.gather(options));
  steps.done("asked the nodes");
  return answers;
}

Result<snapshot::Capture> capture_nodes(reach::FrontEnd& front_end,
                                        const NodeQuestion& question,
                                        const NodeCapture& capture) {
  ODDRANK_TRY(NodeAnswers answers, ask_nodes(front_end, question, capture));
  StepLog steps;
  snapshot::Capture whole = join_answers(std::move(answers.job), answers.gathered);
  steps.done("joined their answers");
  return whole;
}

}  // namespace oddrank::cli
