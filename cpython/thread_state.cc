#include "cpython/thread_state.h"

#include <algorithm>
#include <span>

namespace oddrank::cpython {
namespace {

Addr gil_of(PythonMemory& memory, Addr runtime, Addr interpreter) {
  const Layout& layout = memory.layout();
  if (layout.interpreter.gil != kAbsent) {
    return memory.pointer_or_null(interpreter + layout.interpreter.gil);
  }
  return layout.runtime.gil == kAbsent ? Addr{} : runtime + layout.runtime.gil;
}

// Returns the address of the flag that is set while garbage is collected; null if it is not known.
Addr collecting_at(const Layout& layout, Addr runtime, Addr interpreter) {
  if (layout.runtime.collecting != kAbsent) {
    return runtime + layout.runtime.collecting;
  }
  return layout.interpreter.collecting == kAbsent ? Addr{}
                                                  : interpreter + layout.interpreter.collecting;
}

// Returns whether a list with this head leads back to it.
bool is_ring(PythonMemory& memory, Addr head) {
  constexpr std::uint64_t kFlags = 3;
  const Addr next = memory.pointer_or_null(head);
  const auto back = memory.value<std::uint64_t>(next + kPointerSize);
  return next != Addr{} && back && (*back & ~kFlags) == value_of(head);
}

// Finds the generation that is being collected by the counts of collections. A collection begins
// with counting itself in the next older generation and setting the counts of its own and younger
// ones to zero; no other one begins meanwhile. Before that it runs the program's gc.callbacks; if
// there are any, the generation is unknown.
std::int8_t generation_collected(PythonMemory& memory, Addr collecting) {
  constexpr std::uint32_t kCount = 20;  // in struct gc_generation: list head, threshold, count
  const Layout& layout = memory.layout();
  const Addr generations =
      layout.semantics.counts_collections ? find_generations(memory, collecting) : Addr{};
  // Pointers to gc.garbage and gc.callbacks follow the flag.
  const std::uint64_t behind = value_of(collecting) + sizeof(std::int32_t) + kPointerSize - 1;
  const Addr garbage{behind - behind % kPointerSize};
  const Addr callbacks = memory.pointer_or_null(garbage + kPointerSize);
  const auto size = memory.value<std::int64_t>(callbacks + layout.object.size);
  const auto middle = memory.value<std::int32_t>(generations + kGenerationSize + kCount);
  const auto old = memory.value<std::int32_t>(generations + 2 * kGenerationSize + kCount);
  if (generations == Addr{} || !size || *size != 0 || !middle || !old) {
    return -1;
  }
  return *middle > 0 ? std::int8_t{0} : *old > 0 ? std::int8_t{1} : std::int8_t{2};
}

void read_collection(PythonMemory& memory, Addr collecting, InterpreterRow& row) {
  row.collecting = collecting;
  row.collects = collecting != Addr{} && memory.value<std::int32_t>(collecting).value_or(0) != 0;
  row.generation = row.collects ? generation_collected(memory, collecting) : std::int8_t{-1};
}

// No machine runs as many threads; bounds the walk to the oldest one.
constexpr std::size_t kMaxWalkedStates = std::size_t{1} << 17;

// Follows a list of thread states. A state that does not point back ends the list: it was freed
// meanwhile, or was never a thread state. So does a cycle: it returns to an anchor that moves at
// each power of two (Brent's algorithm), so no set of visited members is needed.
class StateWalk {
 public:
  StateWalk(PythonMemory& memory, Addr interpreter)
      : memory_(memory),
        interpreter_(interpreter),
        next_(memory.pointer_or_null(interpreter + memory.layout().interpreter.threads_head)) {}

  // Returns the next state; null at the end.
  Addr take();
  std::size_t taken() const { return count_; }

 private:
  PythonMemory& memory_;
  Addr interpreter_;
  Addr next_;
  Addr anchor_{};
  std::size_t count_ = 0;
};

Addr StateWalk::take() {
  constexpr std::uint64_t kNear = std::uint64_t{32} << 10;
  const ThreadOffsets& offsets = memory_.layout().thread;
  if (next_ == Addr{} || next_ == anchor_) {
    return {};
  }
  if (count_ == 1) {
    // The list can only be followed step by step; but most of its members were allocated one
    // after another, near each other.
    const PythonMemory::Range around{Addr{value_of(next_) - kNear}, 2 * kNear};
    memory_.prefetch(std::span(&around, 1));
  }
  if ((count_ & (count_ - 1)) == 0) {
    anchor_ = next_;
  }
  const Addr state = next_;
  const bool whole = memory_.pointer_or_null(state + offsets.interp) == interpreter_;
  next_ = whole ? memory_.pointer_or_null(state + offsets.next) : Addr{};
  count_ += whole ? 1 : 0;
  return whole ? state : Addr{};
}

ThreadStateRow row_of(PythonMemory& memory, Addr state) {
  const ThreadOffsets& offsets = memory.layout().thread;
  ThreadStateRow row;
  row.address = state;
  row.pthread = memory.value<std::uint64_t>(state + offsets.thread_id).value_or(0);
  if (offsets.native_thread_id != kAbsent) {
    row.native_thread_id =
        memory.value<std::uint64_t>(state + offsets.native_thread_id).value_or(0);
  }
  return row;
}

// Appends the thread states of one interpreter: as many as there is room for, and the oldest.
void read_list(PythonMemory& memory, Addr interpreter, ThreadStates& states) {
  StateWalk walk(memory, interpreter);
  Addr state = walk.take();
  for (; state != Addr{} && states.threads.size() < kMaxThreads; state = walk.take()) {
    states.threads.push_back(row_of(memory, state));
  }
  Addr oldest{};
  const std::size_t before = walk.taken();
  for (; state != Addr{} && walk.taken() < kMaxWalkedStates; state = walk.take()) {
    oldest = state;
  }
  if (oldest != Addr{}) {
    states.threads.push_back(row_of(memory, oldest));
    states.left_out += walk.taken() - before;
  }
}

void read_newest_frames(PythonMemory& memory, std::vector<ThreadStateRow>& rows) {
  const ThreadOffsets& offsets = memory.layout().thread;
  if (offsets.cframe == kAbsent) {
    for (ThreadStateRow& row : rows) {
      row.newest_frame = memory.pointer_or_null(row.address + offsets.frame);
    }
    return;
  }
  std::vector<Addr> cframes;
  std::vector<PythonMemory::Range> ranges;
  for (const ThreadStateRow& row : rows) {
    cframes.push_back(memory.pointer_or_null(row.address + offsets.cframe));
    ranges.push_back({cframes.back(), offsets.frame + sizeof(std::uint64_t)});
  }
  memory.prefetch(ranges);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].newest_frame = memory.pointer_or_null(cframes[i] + offsets.frame);
    rows[i].native_anchor = cframes[i];
  }
}

Error no_threads() {
  return Error{Errc::kBadData,
               "no thread state points back to an interpreter: it starts up, or was finalized",
               "if it starts up, try again"};
}

}  // namespace

Addr find_generations(PythonMemory& memory, Addr collecting) {
  const std::uint32_t lists = memory.layout().collector.lists;
  if (lists == kAbsent || collecting == Addr{}) {
    return {};
  }
  for (const std::uint32_t padding : {0U, 4U}) {
    const Addr first{value_of(collecting) - lists - padding};
    int rings = 0;
    for (std::uint32_t i = 0; i < kGenerations; ++i) {
      rings += is_ring(memory, first + i * kGenerationSize) ? 1 : 0;
    }
    if (rings + 1 >= static_cast<int>(kGenerations)) {
      return first;
    }
  }
  return {};
}

std::vector<InterpreterRow> read_interpreters(PythonMemory& memory, Addr runtime) {
  const Layout& layout = memory.layout();
  std::vector<InterpreterRow> list;
  Addr next = memory.pointer_or_null(runtime + layout.runtime.interpreters_head);
  const auto seen = [&list](Addr address) {
    return std::any_of(list.begin(), list.end(),
                       [&](const InterpreterRow& one) { return one.address == address; });
  };
  const auto add = [&](Addr address) {
    InterpreterRow row;
    row.address = address;
    if (layout.interpreter.id != kAbsent) {
      row.id = memory.value<std::int64_t>(address + layout.interpreter.id).value_or(-1);
    }
    row.gil = gil_of(memory, runtime, address);
    if (layout.gil.enabled != kAbsent) {
      row.gil_enabled = memory.value<std::int32_t>(row.gil + layout.gil.enabled).value_or(0) != 0;
    }
    read_collection(memory, collecting_at(layout, runtime, address), row);
    list.push_back(row);
  };
  while (next != Addr{} && list.size() < kMaxInterpreters && !seen(next)) {
    add(next);
    next = memory.pointer_or_null(next + layout.interpreter.next);
  }
  // The main one lies behind the list's head (is_finalized()).
  const Addr main =
      memory.pointer_or_null(runtime + layout.runtime.interpreters_head + kPointerSize);
  if (list.size() == kMaxInterpreters && layout.interpreter.id != kAbsent && main != Addr{} &&
      !seen(main)) {
    add(main);
  }
  if (layout.interpreter.id == kAbsent) {  // the newest comes first
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i].id = static_cast<std::int64_t>(list.size() - 1 - i);
    }
  }
  return list;
}

Addr gil_holder(PythonMemory& memory, Addr runtime, const InterpreterRow& interpreter) {
  const Layout& layout = memory.layout();
  if (layout.runtime.tstate_current != kAbsent) {
    // It is null from before the GIL is dropped until after it is taken again.
    return memory.pointer_or_null(runtime + layout.runtime.tstate_current);
  }
  const Addr gil = interpreter.gil;
  if (gil == Addr{} || !interpreter.gil_enabled ||
      memory.value<std::int32_t>(gil + layout.gil.locked).value_or(0) != 1) {
    return Addr{};  // last_holder stays set after the release
  }
  return memory.pointer_or_null(gil + layout.gil.last_holder);
}

// struct pyinterpreters begins with a lock, head, main and next_id (3.7 to 3.15): next_id counts
// the interpreters from the first on, and is 0 or -1 before.
bool is_finalized(PythonMemory& memory, Addr runtime) {
  const std::uint32_t head = memory.layout().runtime.interpreters_head;
  if (memory.layout().interpreter.id == kAbsent) {
    return false;  // 3.6 has no such counter
  }
  const auto first = memory.value<std::uint64_t>(runtime + head);
  const auto next_id = memory.value<std::int64_t>(runtime + head + 2 * kPointerSize);
  return first && *first == 0 && next_id && *next_id > 0;
}

Status check_thread_states(PythonMemory& memory, Addr runtime) {
  for (const InterpreterRow& interpreter : read_interpreters(memory, runtime)) {
    if (StateWalk(memory, interpreter.address).take() != Addr{}) {
      return ok();
    }
  }
  return fail(no_threads());
}

Result<ThreadStates> read_thread_states(PythonMemory& memory, Addr runtime) {
  ThreadStates states;
  states.interpreters = read_interpreters(memory, runtime);
  const Addr finalizing = memory.pointer_or_null(runtime + memory.layout().runtime.finalizing);
  for (std::size_t index = 0; index < states.interpreters.size(); ++index) {
    const InterpreterRow& interpreter = states.interpreters[index];
    const std::size_t first = states.threads.size();
    const Addr holder = gil_holder(memory, runtime, interpreter);
    read_list(memory, interpreter.address, states);
    for (std::size_t i = first; i < states.threads.size(); ++i) {
      states.threads[i].interpreter = index;
      ThreadStateRow& row = states.threads[i];
      row.holds_gil = row.address == holder;
      row.finalizes = row.address == finalizing;
      // A finaliser that blocks lets the GIL go, and another thread may take it meanwhile.
      row.collects = interpreter.collects && first + 1 == states.threads.size();
    }
  }
  if (states.threads.empty()) {
    return fail(no_threads());
  }
  read_newest_frames(memory, states.threads);
  return states;
}

}  // namespace oddrank::cpython
