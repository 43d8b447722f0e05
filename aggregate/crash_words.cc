#include "aggregate/crash_words.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/ascii.h"
#include "base/hex.h"
#include "base/printable.h"
#include "base/signals/signal_name.h"

namespace oddrank::aggregate {

using snapshot::Crash;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

namespace {

struct CodeWords {
  int signal;
  int code;
  std::string_view words;  // "{}" is the address
};

// sigaction(2). SI_KERNEL of a SIGSEGV: the processor refused an address that cannot exist.
constexpr std::array<CodeWords, 14> kCodes = {{
    {SIGSEGV, SEGV_MAPERR, "nothing is mapped at {}"},
    {SIGSEGV, SEGV_ACCERR, "the memory at {} may not be accessed so"},
    {SIGSEGV, SI_KERNEL, "an address that cannot exist"},
    {SIGBUS, BUS_ADRALN, "{} is not aligned"},
    {SIGBUS, BUS_ADRERR, "the file or device behind {} has no such byte"},
    {SIGBUS, BUS_MCEERR_AR, "the memory at {} is damaged"},
    {SIGILL, ILL_ILLOPC, "no instruction is at {}"},
    {SIGILL, ILL_ILLOPN, "an operand at {} is invalid"},
    {SIGILL, ILL_PRVOPC, "the instruction at {} is privileged"},
    {SIGFPE, FPE_INTDIV, "division by zero at {}"},
    {SIGFPE, FPE_INTOVF, "an integer overflow at {}"},
    {SIGFPE, FPE_FLTDIV, "a division of floats by zero at {}"},
    {SIGFPE, FPE_FLTINV, "an invalid operation on floats at {}"},
    {SIGSYS, 1, "a filter forbids the system call"},
}};

std::string frame_words(const ShownFrame& frame) {
  const std::string place = frame.place();
  return printable(frame.name, 200) + (place.empty() ? "" : " (" + printable(place, 200) + ")");
}

// Returns "in strlen (libc.so.6) below string_at (ctypes/__init__.py:519)".
std::string crash_place(const JobView& view, const ThreadCapture& thread, const Crash& crash) {
  if (thread.samples.empty()) {
    return {};
  }
  const auto& frames = view.model().fold(thread.samples.back()).frames;
  auto at = std::ranges::find_if_not(frames, [&view](const ShownFrame& frame) {
    return view.model().tells(frame.id, Story::kAborts) != nullptr;
  });
  // A handler of the fault (faulthandler's, PyTorch's) has sent the signal once more: the fault is
  // below it. There is no other reason for a process to send itself the signal of a fault.
  const int signal = crash.signal;
  const bool again = crash.code <= 0 && (signal == SIGSEGV || signal == SIGBUS ||
                                         signal == SIGFPE || signal == SIGILL);
  for (auto frame = frames.begin(); frame != frames.end(); ++frame) {
    const bool named = contains(frame->name, ' ' + signal_name(signal) + ' ');
    const bool unnamed = frame->name == "<signal delivered here>";
    if (frame->signal && frame + 1 != frames.end() && (named || (again && unnamed))) {
      at = frame + 1;
    }
  }
  if (at == frames.end()) {
    return {};
  }
  std::string words = "in " + frame_words(*at);
  const auto python = std::find_if(at, frames.end(), [](const ShownFrame& frame) {
    return frame.kind == snapshot::FrameKind::kPython;
  });
  if (python != at && python != frames.end()) {
    words += " below " + frame_words(*python);
  }
  return words;
}

}  // namespace

bool has_crashed(const ProcessCapture& process, const ThreadCapture& thread) {
  return process.crash->signal != 0 && thread.tid == process.crash->tid;
}

const ThreadCapture* crashed_thread(const ProcessCapture& process) {
  const auto at = std::ranges::find_if(process.threads, [&process](const ThreadCapture& thread) {
    return has_crashed(process, thread);
  });
  return at == process.threads.end() ? nullptr : &*at;
}

std::string crash_cause(const ProcessCapture& process) {
  const Crash& crash = *process.crash;
  const std::string signal = signal_name(crash.signal);
  if (crash.sender != 0 && crash.sender != process.pid) {
    return fmt::format("{} from pid {}", signal, crash.sender);
  }
  if (crash.signal == SIGABRT) {
    return signal + " by abort()";
  }
  for (const CodeWords& row : kCodes) {
    if (row.signal == crash.signal && row.code == crash.code) {
      return signal + ": " + fmt::format(fmt::runtime(row.words), "0x" + hex_number(crash.address));
    }
  }
  return crash.address == 0 ? signal : signal + " at 0x" + hex_number(crash.address);
}

std::string crash_words(const JobView& view, const ProcessCapture& process) {
  if (process.crash->signal == 0) {
    return {};
  }
  std::string words =
      (process.crash->is_own(process.pid) ? "Crashed by " : "Ended by ") + crash_cause(process);
  const ThreadCapture* thread = crashed_thread(process);
  if (thread != nullptr) {
    const std::string place = crash_place(view, *thread, *process.crash);
    words += (place.empty() ? "" : ", " + place) + fmt::format(", thread {}", thread->tid);
    const std::string name = printable(view.text(thread->python_name), 60);
    words += name.empty() ? "" : " \"" + name + "\"";
  }
  const std::string_view message = view.text(process.crash->message);
  return words + (message.empty() ? "" : "; it said: \"" + printable(message, 500) + "\"");
}

std::string crash_predicate(const JobView& view, const ProcessCapture& process) {
  const ThreadCapture* thread = crashed_thread(process);
  const std::string place = thread == nullptr ? "" : crash_place(view, *thread, *process.crash);
  if (process.crash->signal == SIGABRT) {
    return "called abort()" + (place.empty() ? "" : " " + place);
  }
  return "crashed by " + crash_cause(process) + (place.empty() ? "" : ", " + place);
}

}  // namespace oddrank::aggregate
