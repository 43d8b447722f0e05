#include "node/read_outside.h"

#include <string>
#include <utility>

#include "attach/permission.h"
#include "attach/proc_stat.h"
#include "base/read_file.h"

namespace oddrank::node {
namespace {

// Returns the kernel function that the thread sleeps in; "" if it runs or the kernel hides it.
std::string read_wchan(pid_t pid) {
  auto wchan = read_file("/proc/" + std::to_string(pid) + "/wchan", 256);
  return wchan && *wchan != "0" ? *wchan : std::string();
}

}  // namespace

void read_from_outside(snapshot::Capture& capture, snapshot::ProcessCapture& process) {
  auto stat = attach::read_proc_stat(process.pid);
  if (!stat) {
    const bool gone = stat.error().code == Errc::kGone || stat.error().code == Errc::kNotFound;
    if (gone && process.state != '?') {  // else it was never there
      process.why = capture.tables.string("it exited while it was being read");
      process.state = 'X';
    }
    return;
  }
  process.state = stat->state;
  process.exit_code = stat->state == 'Z' ? attach::exit_code_of(*stat) : -1;
  if (stat->state == 'Z') {
    return;
  }
  snapshot::ThreadCapture thread;
  thread.tid = process.pid;
  thread.name = capture.tables.string(stat->name);
  snapshot::ThreadSample sample;
  sample.state = stat->state;
  sample.cpu_us = stat->cpu_us;
  thread.samples.push_back(sample);
  const std::string wchan = read_wchan(process.pid);
  thread.wait.wchan = capture.tables.string(wchan);
  process.threads = {std::move(thread)};
  process.read = snapshot::ReadState::kPartial;
  std::string why(capture.tables.text(process.why));
  why += std::string(": state ") + stat->state + (wchan.empty() ? "" : " in " + wchan);
  process.why = capture.tables.string(why);
}

}  // namespace oddrank::node
