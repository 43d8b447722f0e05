#include "base/programs/run_command.h"

#include <poll.h>

#include <algorithm>
#include <vector>

namespace oddrank {
namespace {

constexpr std::chrono::milliseconds kTermGrace{200};

void keep(std::string& kept, std::string_view bytes, std::size_t limit, bool& cut) {
  const std::size_t room = limit - std::min(limit, kept.size());
  kept.append(bytes.substr(0, room));
  cut = cut || bytes.size() > room;
}

}  // namespace

Result<CommandOutput> run_command(const ProgramCall& command,
                                  const Deadline& deadline,
                                  std::size_t limit) {
  ODDRANK_TRY(ChildCommand child, ChildCommand::start(command));
  CommandOutput output;
  const OutputSink sink = [&output, limit](OutputStream stream, std::string_view bytes) {
    keep(stream == OutputStream::kStdout ? output.out : output.err, bytes, limit, output.cut);
  };
  while (true) {
    const auto ended = child.exit_status();
    const bool open = child.read_output(sink);
    // A child of the program may keep the pipes open longer; all output of the program itself is in
    // them by now.
    if (ended) {
      output.exit = *ended;
      return output;
    }
    if (deadline.passed()) {
      output.exit = child.stop(kTermGrace, sink).value_or(ProgramEnd{});
      output.timed_out = true;
      return output;
    }
    std::vector<pollfd> polled;
    child.add_pollfds(polled);
    ::poll(polled.data(), polled.size(), std::min(deadline.poll_timeout(), open ? 10 : 2));
  }
}

}  // namespace oddrank
