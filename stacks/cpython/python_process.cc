#include "stacks/cpython/python_process.h"

#include <algorithm>
#include <span>
#include <unordered_set>

#include "stacks/cpython/code_object.h"
#include "stacks/cpython/detect.h"
#include "stacks/cpython/frame_chain.h"
#include "stacks/cpython/kernel_tid.h"
#include "stacks/cpython/locals.h"
#include "stacks/cpython/remote_reader.h"
#include "stacks/cpython/thread_state.h"

namespace oddrank::stacks::cpython {
namespace {

// Frames whose locals are read: the innermost ones of a thread, and of all threads together. What
// people look for (step, rank, the batch) lies in the loops near the top and the bottom of short
// stacks; deep recursions are cut.
constexpr std::size_t kFramesWithLocals = 128;
constexpr std::size_t kLocalsOfProcess = 16384;

// A loop that is entered but has no frame: what a popped frame owned is being destroyed.
constexpr const char* kNoFrame = "<leaving a function>";
constexpr const char* kUnreadable = "<unreadable>";

}  // namespace

struct PythonProcess::Impl {
  const attach::Target& target;
  Runtime runtime;
  CodeCache codes;
  KernelTids tids;

  Impl(const attach::Target& target_in, Runtime runtime_in)
      : target(target_in), runtime(std::move(runtime_in)) {}

  PythonFrame make_frame(const RawFrame& raw) const {
    PythonFrame frame;
    frame.entry = raw.entry;
    const CodeObject& code = codes.at(raw.code);
    frame.readable = raw.address != Addr{} && code.readable;
    if (frame.readable) {
      frame.function = code.function;
      frame.file = code.file;
      frame.line = line_of(runtime.layout, code, raw);
    } else {
      frame.function = raw.address == Addr{} ? kNoFrame : kUnreadable;
    }
    return frame;
  }

  // One announcement for all frames whose locals will be read.
  void announce_locals(RemoteReader& reader, const std::vector<FrameChain>& chains) const {
    std::vector<RawFrame> frames;
    for (const FrameChain& chain : chains) {
      const auto wanted = std::min(chain.frames.size(), kFramesWithLocals);
      for (const RawFrame& frame : std::span(chain.frames).first(wanted)) {
        if (codes.at(frame.code).readable && frames.size() < kLocalsOfProcess / 8) {
          frames.push_back(frame);
        }
      }
    }
    prefetch_locals(reader, runtime.layout, frames);
  }

  void load_codes(RemoteReader& reader, const std::vector<FrameChain>& chains) {
    std::vector<Addr> wanted;
    std::unordered_set<std::uint64_t> seen;
    for (const FrameChain& chain : chains) {
      for (const RawFrame& frame : chain.frames) {
        if (frame.code != Addr{} && seen.insert(value_of(frame.code)).second) {
          wanted.push_back(frame.code);
        }
      }
    }
    codes.load(reader, runtime.layout, wanted);
  }
};

PythonProcess::PythonProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PythonProcess::PythonProcess(PythonProcess&&) noexcept = default;
PythonProcess& PythonProcess::operator=(PythonProcess&&) noexcept = default;
PythonProcess::~PythonProcess() = default;

Result<PythonProcess> PythonProcess::find(const attach::Target& target, ModuleMap& modules) {
  ODDRANK_TRY(Runtime runtime, detect_runtime(target, modules));
  return PythonProcess(std::make_unique<Impl>(target, std::move(runtime)));
}

const std::string& PythonProcess::version() const {
  return impl_->runtime.version.text;
}

const std::vector<ElfRange>& PythonProcess::evaluation_ranges() const {
  return impl_->runtime.evaluation_ranges;
}

ElfRange PythonProcess::gil_words() const {
  RemoteReader reader(impl_->target);
  const Layout& layout = impl_->runtime.layout;
  const Addr gil = find_gil(reader, layout, impl_->runtime.address);
  return gil == Addr{} ? ElfRange{} : ElfRange{value_of(gil), layout.gil.size};
}

Result<std::vector<PythonThread>> PythonProcess::threads(bool locals) const {
  const Layout& layout = impl_->runtime.layout;
  const Addr address = impl_->runtime.address;
  RemoteReader reader(impl_->target);
  ODDRANK_TRY(const auto rows, read_thread_states(reader, layout, address));
  std::vector<Addr> newest;
  newest.reserve(rows.size());
  for (const ThreadStateRow& row : rows) {
    newest.push_back(row.newest_frame);
  }
  const std::vector<FrameChain> chains = read_chains(reader, layout, newest);
  impl_->load_codes(reader, chains);
  const std::vector<pid_t> tids = impl_->tids.resolve(impl_->target, reader, layout, address, rows);

  if (locals) {
    impl_->announce_locals(reader, chains);
  }

  std::vector<PythonThread> threads(rows.size());
  std::size_t budget = locals ? kLocalsOfProcess : 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    PythonThread& thread = threads[i];
    thread.target_tid = tids[i];
    thread.holds_gil = rows[i].holds_gil;
    thread.cut = chains[i].cut;
    thread.frames.reserve(chains[i].frames.size());
    for (const RawFrame& raw : chains[i].frames) {
      thread.frames.push_back(impl_->make_frame(raw));
      PythonFrame& frame = thread.frames.back();
      if (frame.readable && budget > 0 && thread.frames.size() <= kFramesWithLocals) {
        frame.locals = read_locals(reader, layout, raw);
        budget -= std::min(budget, frame.locals.size());
      }
    }
  }
  return threads;
}

}  // namespace oddrank::stacks::cpython
