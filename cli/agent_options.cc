#include "cli/agent_options.h"

#include <utility>

#include "base/read_file.h"
#include "base/write_file.h"
#include "cli/terminal/interrupt.h"
#include "node/enough_samples.h"

namespace oddrank::cli {

Result<reach::AgentOptions> agent_options(std::vector<std::string> command,
                                          const node::CaptureOptions& capture,
                                          ProgressLine& progress) {
  reach::AgentOptions options;
  ODDRANK_TRY(options.agent_path, read_link("/proc/self/exe"));
  options.agent_args = std::move(command);
  const auto more = agent_arguments(capture);
  options.agent_args.insert(options.agent_args.end(), more.begin(), more.end());
  options.run = random_word();
  options.agent_args.insert(options.agent_args.end(), {"--run", options.run});
  options.node_timeout = capture.timeout;
  options.longest_delay = node::longest_sampling(capture);
  options.interrupted = catch_interrupts();
  options.progress = [&progress](const reach::GatherProgress& now) {
    progress.update(now.done, now.total, now.waiting_for, now.doing);
  };
  return options;
}

}  // namespace oddrank::cli
