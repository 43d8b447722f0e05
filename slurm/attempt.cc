#include "slurm/attempt.h"

#include <algorithm>
#include <utility>

namespace oddrank::slurm {

Result<Attempt> Attempt::start(const AgentStep& step, const std::string& run) {
  ODDRANK_TRY(ChildCommand child, ChildCommand::start(agent_command(step)));
  // Task N of a step with one task a node runs on its Nth node (seen in 22.05, with -w as well).
  // How the tasks of a heterogeneous step are numbered, SLURM decides.
  reach::Speakers speakers{run, step.parts.empty() ? step.nodes : std::vector<std::string>(), true};
  return Attempt(std::move(child), step, std::move(speakers));
}

bool Attempt::advance() {
  if (ended_) {
    return false;
  }
  const auto exit = child_.exit_status();  // before reading, so that no output is missed
  child_.read_output(
      [this](OutputStream stream, std::string_view bytes) { take_output(stream, bytes); });
  if (exit) {
    conclude();
  }
  return !ended_;
}

void Attempt::leave() {
  if (advance()) {
    conclude();
  }
}

void Attempt::take_output(OutputStream stream, std::string_view bytes) {
  if (stream == OutputStream::kStdout) {
    out_.feed(bytes);
  } else if (!terminated_) {
    err_.feed(bytes);
  }
}

void Attempt::conclude() {
  out_.finish();
  err_.finish();
  ended_ = true;
  end_ = Deadline::Clock::now();
  read_words();
}

void Attempt::read_words() {
  const auto found = err_.text().find(-1);
  if (!terminated_ && found != err_.text().end()) {
    words_ = parse_srun_words(found->second);
  }
}

void Attempt::terminate() {
  if (!ended_) {
    read_words();
    terminated_ = true;
    child_.signal(SIGTERM);
  }
}

reach::FrameLimits Attempt::stderr_limits() {
  reach::FrameLimits limits;
  limits.text = std::size_t{256} << 10;  // srun has a line or two for each node
  return limits;
}

bool Attempt::covers(std::string_view host) const {
  return std::find(nodes_.begin(), nodes_.end(), host) != nodes_.end();
}

int Attempt::label_of(const std::string& host) const {
  for (const auto& [label, of_host] : out_.hosts_of_labels()) {
    if (of_host == host) {
      return label;
    }
  }
  for (const auto& [label, of_host] : words_.task_hosts) {
    if (of_host == host) {
      return label;
    }
  }
  const auto found = std::find(nodes_.begin(), nodes_.end(), host);
  return static_cast<int>(found - nodes_.begin());
}

bool any_heard_of(const Attempts& attempts, std::string_view host) {
  return std::any_of(attempts.begin(), attempts.end(),
                     [host](const Attempt& each) { return each.heard_of(host); });
}

std::string Attempt::agent_text(const std::string& host) const {
  std::string text;
  for (const reach::FrameCollector* output : {&out_, &err_}) {
    const auto found = output->text().find(label_of(host));
    if (found != output->text().end()) {
      text += found->second;
    }
  }
  return text;
}

}  // namespace oddrank::slurm
