#include "unwind/native_unwind.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "snapshot/frame.h"
#include "unwind/known_walk.h"
#include "unwind/stack_walk.h"

namespace oddrank::unwind {
namespace {

using snapshot::StackEnd;

// A thread is compared with so many known walks, so that the work grows with the threads only.
constexpr std::size_t kMaxTriesOfThread = 6;
constexpr std::size_t kMaxReadAtOnce = std::size_t{1} << 20;

}  // namespace

struct NativeUnwinder::Impl {
  Impl(const attach::Target& the_target, elf::ModuleMap& modules)
      : target(the_target), stacks(the_target, modules) {}

  const attach::Target& target;
  StackWalk stacks;

  // Unwinds once the memory is set to the thread's. Returns the known walk, by which the same stack
  // in other threads is recognised, if that is possible.
  std::optional<KnownWalk> unwind_to_know(const attach::ThreadState& thread,
                                          std::size_t limit,
                                          NativeStack& stack);
  // Reads the decisive parts of these threads' stacks, and calls `found` with the frames of each
  // thread whose stack is the same as in the walk.
  void recognise(const KnownWalk& walk,
                 std::span<const attach::ThreadState* const> threads,
                 const std::function<void(std::size_t, NativeStack)>& found) const;
};

NativeUnwinder::NativeUnwinder(const attach::Target& target, elf::ModuleMap& modules)
    : impl_(std::make_unique<Impl>(target, modules)) {}
NativeUnwinder::~NativeUnwinder() = default;

void NativeUnwinder::keep_words(std::vector<elf::ElfRange> code) {
  impl_->stacks.keep_words(std::move(code));
}

std::optional<KnownWalk> NativeUnwinder::Impl::unwind_to_know(const attach::ThreadState& thread,
                                                              std::size_t limit,
                                                              NativeStack& stack) {
  UnwindSpace& space = stacks.space();
  space.begin_log();
  stack = stacks.unwind(thread, limit);
  auto words = space.take_log();
  const bool decided_by_stack =
      words && stack.end == StackEnd::kComplete && stacks.was_certain() && !thread.registers->all &&
      !space.memory().read_others() &&
      std::none_of(stack.frames.begin(), stack.frames.end(), [this](const NativeFrame& frame) {
        return frame.flags != 0 || stacks.is_kept(frame.pc);
      });
  if (!decided_by_stack) {
    return std::nullopt;
  }
  return KnownWalk::of(stack, thread.registers->sp, space.memory().stack_end(), *std::move(words));
}

void NativeUnwinder::Impl::recognise(
    const KnownWalk& walk,
    std::span<const attach::ThreadState* const> threads,
    const std::function<void(std::size_t, NativeStack)>& found) const {
  const std::size_t at_once =
      std::clamp<std::size_t>(kMaxReadAtOnce / std::max<std::size_t>(walk.bytes(), 1), 1, 4096);
  std::vector<std::byte> bytes;
  std::vector<attach::ReadRequest> requests;
  for (std::size_t first = 0; first < threads.size(); first += at_once) {
    const std::size_t count = std::min(at_once, threads.size() - first);
    bytes.resize(count * walk.bytes());
    requests.clear();
    std::span<std::byte> rest(bytes);
    for (std::size_t i = 0; i < count; ++i) {
      for (const KnownWalk::Piece& piece : walk.pieces()) {
        requests.push_back({attach::Addr{threads[first + i]->registers->sp + piece.offset},
                            rest.first(piece.size)});
        rest = rest.subspan(piece.size);
      }
    }
    target.read_many(requests);
    const std::size_t pieces = walk.pieces().size();
    for (std::size_t i = 0; i < count; ++i) {
      const auto own = std::span(requests).subspan(i * pieces, pieces);
      const bool whole = std::all_of(own.begin(), own.end(),
                                     [](const auto& request) { return request.is_whole(); });
      if (!whole) {
        continue;
      }
      const auto of_thread = std::span(bytes).subspan(i * walk.bytes(), walk.bytes());
      if (auto stack = walk.of_thread(threads[first + i]->registers->sp, of_thread)) {
        found(first + i, *std::move(stack));
      }
    }
  }
}

std::vector<NativeStack> NativeUnwinder::unwind_all(
    std::span<const attach::ThreadState* const> threads, std::size_t limit) {
  std::vector<NativeStack> stacks(threads.size());
  std::vector<std::size_t> tries(threads.size());
  std::vector<bool> done(threads.size());
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places;  // by program counter
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (threads[i]->registers && !threads[i]->registers->all) {
      places[threads[i]->registers->pc].push_back(i);
    }
  }
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (done[i]) {
      continue;
    }
    if (!threads[i]->registers) {
      stacks[i] = unwind(*threads[i], limit);
      continue;
    }
    impl_->stacks.space().memory().start_thread(threads[i]->registers->sp);
    done[i] = true;
    const auto walk = impl_->unwind_to_know(*threads[i], limit, stacks[i]);
    if (!walk) {
      continue;
    }
    std::vector<const attach::ThreadState*> others;
    std::vector<std::size_t> of;
    for (const std::size_t other : places[threads[i]->registers->pc]) {
      if (!done[other] && tries[other] < kMaxTriesOfThread) {
        ++tries[other];
        others.push_back(threads[other]);
        of.push_back(other);
      }
    }
    impl_->recognise(*walk, others, [&](std::size_t at, NativeStack stack) {
      stacks[of[at]] = std::move(stack);
      done[of[at]] = true;
    });
  }
  return stacks;
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread, std::size_t limit) {
  if (!thread.registers) {
    NativeStack stack;
    stack.end = thread.state == 'R' ? StackEnd::kRunning : StackEnd::kUnknown;
    return stack;
  }
  impl_->stacks.space().memory().start_thread(thread.registers->sp);
  return impl_->stacks.unwind(thread, limit);
}

NativeStack NativeUnwinder::unwind(const attach::ThreadState& thread,
                                   const StackCopy& copy,
                                   std::size_t limit) {
  if (!thread.registers) {
    return unwind(thread, limit);
  }
  impl_->stacks.space().memory().start_thread(copy);
  return impl_->stacks.unwind(thread, limit);
}

}  // namespace oddrank::unwind
