#include "cli/ask_nodes.h"

#include <utility>

#include "base/deadline.h"
#include "base/read_file.h"
#include "base/step_log.h"
#include "base/write_file.h"
#include "cli/join_answers.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/progress_line.h"
#include "node/enough_samples.h"

namespace oddrank::cli {
namespace {

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
