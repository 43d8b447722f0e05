#include "aggregate/view/rank_view.h"

#include <algorithm>
#include <csignal>

#include "aggregate/view/coroutines.h"

namespace oddrank::aggregate {

using snapshot::ProcessCapture;
using snapshot::ReadState;
using snapshot::ThreadSample;

bool is_dead(const ProcessCapture& process) {
  return process.state == 'Z' || process.state == 'X';
}

const snapshot::ThreadCapture* main_thread(const ProcessCapture& process) {
  const auto main = std::ranges::find(process.threads, process.pid, &snapshot::ThreadCapture::tid);
  return main == process.threads.end() ? nullptr : &*main;
}

namespace {

// Returns whether the Python stack of the main thread was read: what it does is known, though its
// native frames may lack names because its files do not answer.
bool shows_python(const ProcessCapture& process) {
  const auto* main = main_thread(process);
  return main != nullptr && main->has_python && !main->samples.empty() &&
         main->samples.back().stack != snapshot::StackId{};
}

}  // namespace

Presence presence_of(const ProcessCapture& process) {
  if (is_dead(process)) {
    return Presence::kDead;
  }
  switch (process.read) {
    case ReadState::kFull:
      return Presence::kRead;
    case ReadState::kPartial:
      return shows_python(process) ? Presence::kRead : Presence::kPartial;
    case ReadState::kNone:
      break;
  }
  // Returns whether /proc gave a state letter.
  return process.state == '?' ? Presence::kUnread : Presence::kPartial;
}

bool RankView::speaks_by_coroutine() const {
  return coroutine != nullptr && decider == &coroutine->thread;
}

bool RankView::in_part() const {
  return presence == Presence::kPartial ||
         (presence == Presence::kRead && process->read == ReadState::kPartial);
}

bool RankView::stays_stopped() const {
  if (decider == nullptr || decider->samples.empty()) {
    return process != nullptr && snapshot::is_stopped_state(process->state);
  }
  return std::ranges::all_of(decider->samples, [](const ThreadSample& each) {
    return snapshot::is_stopped_state(each.state);
  });
}

bool RankView::crashed() const {
  if (process == nullptr || !process->crash->is_own(process->pid) ||
      process->ending != snapshot::Ending::kNone) {
    return false;
  }
  const bool by_decider =
      decider != nullptr && decider->tid == process->crash->tid && !decider->call;
  return process->crash->signal != SIGABRT || by_decider;
}

}  // namespace oddrank::aggregate
