#include "waits/node/node_family.h"

#include <string_view>

#include "base/ascii.h"
#include "base/isolated.h"
#include "base/split.h"

namespace oddrank::waits {

using snapshot::Capture;
using snapshot::ProcessCapture;

std::vector<WaitPlace> find_waits(const Capture& capture,
                                  const std::function<bool(const snapshot::Wait&)>& is_wanted) {
  std::vector<WaitPlace> places;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const auto& threads = capture.processes[i].threads;
    for (std::size_t t = 0; t < threads.size(); ++t) {
      if (is_wanted(threads[t].wait)) {
        places.push_back({i, t});
      }
    }
  }
  return places;
}

std::vector<std::string> answers_in_child(std::size_t count,
                                          std::chrono::milliseconds patience,
                                          const std::function<std::string(std::size_t)>& answer) {
  const auto send_all = [&](int fd) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = answer(i);
      send_bytes(fd, text.substr(0, text.find('\n')) + "\n");
    }
  };
  const std::string bytes =
      count == 0 ? "" : run_isolated({IsolatedTask{send_all, patience}}, 1).front().bytes;
  std::vector<std::string> answers(count);
  std::string_view rest = bytes;
  for (std::size_t i = 0; i < count && contains(rest, "\n"); ++i) {  // the last one may be cut
    answers[i] = take_piece(rest, '\n');
  }
  return answers;
}

bool is_dead(const ProcessCapture& process) {
  return process.state == 'Z' || process.state == 'X';
}

ProcessList children_of(const Capture& capture, std::size_t process) {
  const ProcessCapture& parent = capture.processes[process];
  ProcessList list;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    if (i != process && each.node == parent.node && each.parent == parent.pid) {
      list.push_back(i);
    }
  }
  return list;
}

ProcessList family_of(const Capture& capture, std::size_t process) {
  const ProcessCapture& parent = capture.processes[process];
  ProcessList list;
  for (std::size_t i = 0; i < capture.processes.size(); ++i) {
    const ProcessCapture& each = capture.processes[i];
    const bool owned = parent.is_rank && !each.is_rank && each.owner == parent.pid;
    if (i != process && each.node == parent.node && (each.parent == parent.pid || owned)) {
      list.push_back(i);
    }
  }
  return list;
}

}  // namespace oddrank::waits
