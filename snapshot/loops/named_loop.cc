#include "snapshot/loops/named_loop.h"

#include <algorithm>

namespace oddrank::snapshot {

NamedLoop named_loop(const PythonLoop& loop, const Tables& tables) {
  NamedLoop named{.iterates = loop.iterates, .cut = loop.cut, .calls = {}};
  for (const LoopCall& call : loop.calls) {
    named.calls.push_back(named_call(tables.text(call.name), call.object != StringId{}));
    named.calls.back().moves_on = call.moves_on;
    named.calls.back().ends = call.ends;
    named.calls.back().may_end = call.may_end;
  }
  return named;
}

bool sleeps(const ThreadCapture& thread, const Tables& tables) {
  return tables.text(thread.wait.syscall_name).find("nanosleep") != std::string_view::npos;
}

std::optional<Asked> asked_in_loop(const ThreadCapture& thread, const Tables& tables) {
  for (const PythonLoop& loop : thread.loops) {
    if (thread.samples.empty() ||
        python_frames_inside(loop, thread.samples.back(), tables) > kMaxRestFrames) {
      return std::nullopt;
    }
    const NamedLoop named = named_loop(loop, tables);
    const auto asks = find_asking_call(named);
    if (asks || !only_rests(named)) {
      return asks ? std::optional(Asked{asks->on, named.calls[asks->call]}) : std::nullopt;
    }
  }
  return std::nullopt;
}

std::size_t python_frames_inside(const PythonLoop& loop,
                                 const ThreadSample& last,
                                 const Tables& tables) {
  const auto& frames = tables.stacks()[last.python_frames()].frames;
  const auto end = frames.begin() + std::min<std::ptrdiff_t>(loop.frame, std::ssize(frames));
  return static_cast<std::size_t>(std::count_if(frames.begin(), end, [&tables](FrameId id) {
    return tables.frame(id).kind == FrameKind::kPython;
  }));
}

}  // namespace oddrank::snapshot
