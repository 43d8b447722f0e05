// Sources: Modules/_asynciomodule.c of 3.8 to 3.14 (TaskObj); Objects/genobject.c (_PyGen_yf, the
// small objects that await); Include/internal/pycore_frame.h (frame states).
#include "cpython/tasks/await_chain.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "cpython/bytecode/current_call.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

struct TaskFields {
  Addr coroutine{};
  Addr name{};
};

// Coroutines that Cython has compiled have types of their own ("_cython_3_0_11.coroutine").
bool is_cythons(std::string_view type) {
  return type.starts_with("_cython_") &&
         (type.ends_with(".coroutine") || type.ends_with(".generator"));
}

// Finds the fields that matter here. The C struct of a task is in no header, and fields move
// between versions. But three of them always follow each other: the coroutine, the name, and the
// context (whose type is called "Context" up to 3.9).
std::optional<TaskFields> find_fields(PythonMemory& memory, Addr task) {
  constexpr std::size_t kWords = 32;
  for (std::size_t i = 0; i < kWords; ++i) {
    const Addr at = task + memory.layout().object.head + i * kPointerSize;
    const Addr coroutine = memory.pointer_or_null(at);
    if (coroutine == Addr{}) {
      continue;
    }
    const Addr context = memory.pointer_or_null(at + 2 * kPointerSize);
    const std::string type = type_name(memory, coroutine);
    if ((type == "coroutine" || type == "generator" || is_cythons(type)) && context != Addr{} &&
        type_name(memory, context).ends_with("Context")) {
      return TaskFields{coroutine, memory.pointer_or_null(at + kPointerSize)};
    }
  }
  // A task implemented in pure Python: the C module is missing.
  if (const Addr coroutine = read_attribute(memory, task, "_coro"); coroutine != Addr{}) {
    return TaskFields{coroutine, read_attribute(memory, task, "_name")};
  }
  const bool may_be_trios = type_name(memory, task).ends_with("Task");
  const Addr trios = may_be_trios ? read_slot_or_attribute(memory, task, "coro") : Addr{};
  return trios == Addr{}
             ? std::nullopt
             : std::optional(TaskFields{trios, read_slot_or_attribute(memory, task, "name")});
}

std::string name_of(PythonMemory& memory, const TaskFields& fields) {
  if (const auto text = read_string(memory, fields.name, kMaxNameLength)) {
    return text->utf8;
  }
  // 3.12+: a number until the program reads the name.
  const auto number = read_int(memory, fields.name);
  return number ? "Task-" + std::to_string(*number) : std::string();
}

bool has_frame(std::string_view type) {
  return type == "coroutine" || type == "generator" || type == "async_generator";
}

// Returns whether the type is one of those between a frame and the coroutine or future that it
// awaits. The first field of such an object is the object that it leads to.
bool leads_on(std::string_view type) {
  constexpr std::array<std::string_view, 5> kTypes = {"coroutine_wrapper", "async_generator_asend",
                                                      "async_generator_athrow", "anext_awaitable",
                                                      "_asyncio.FutureIter"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

// Returns what a coroutine of Cython's awaits; null if it is not known. Its struct differs between
// versions, and has few pointers: to its closure, to exceptions, to names, and to this.
Addr awaited_by_cythons(PythonMemory& memory, Addr coroutine) {
  constexpr std::size_t kCythonWords = 16;
  for (std::size_t i = 0; i < kCythonWords; ++i) {
    const Addr at = coroutine + memory.layout().object.head + i * kPointerSize;
    const Addr object = memory.pointer_or_null(at);
    const std::string type = object == Addr{} ? std::string() : type_name(memory, object);
    if (has_frame(type) || leads_on(type) || is_cythons(type)) {
      return object;
    }
  }
  return Addr{};
}

// The slots of a suspended frame's value stack.
struct SuspendedStack {
  Addr base{};
  std::uint64_t slots = 0;
};

// Returns no slots if they are not valid.
SuspendedStack find_suspended_stack(PythonMemory& memory, const RawFrame& frame) {
  constexpr std::uint64_t kMaxSlots = 4096;
  const Layout& layout = memory.layout();
  const Addr base = value_stack(memory, frame);
  const Addr field = frame.address + layout.frame.stack_top;
  Addr end{};
  if (layout.semantics.stack_top == StackTopFormat::kPointer) {
    end = memory.pointer_or_null(field);
  } else {
    const auto count = memory.value<std::int32_t>(field).value_or(0);
    const Addr start = layout.semantics.stack_top == StackTopFormat::kDepth
                           ? base
                           : frame.address + layout.frame.localsplus;
    end = start + static_cast<std::uint64_t>(std::max(count, 0)) * kPointerSize;
  }
  const std::uint64_t slots = (value_of(end) - value_of(base)) / kPointerSize;
  return base == Addr{} || end < base || slots > kMaxSlots ? SuspendedStack()
                                                           : SuspendedStack{base, slots};
}

class Follower {
 public:
  explicit Follower(PythonMemory& memory) : memory_(memory) {}

  void follow(const TaskFields& fields);
  AwaitChain take();

 private:
  // Appends the frame of a coroutine; returns what it awaits, null at the end of the chain.
  Addr enter(Addr coroutine);
  // Ends the chain; returns null. The outermost frame determines the task's state, inner ones do
  // not.
  Addr end(TaskState state);
  // Returns the state from 3.11 on, which the coroutine stores.
  TaskState stored_state(Addr coroutine);
  // Returns the state up to 3.10: a frame that executes does not store where its stack ends.
  TaskState state_of(const RawFrame& frame);
  // Returns what a suspended frame awaits, from its stack; null if there is nothing or the stack is
  // not valid.
  Addr awaited_by(const RawFrame& frame);
  // Notes the object at the end of the chain. A generator that yields may have any object on its
  // stack, so only a task or a future counts.
  void note_awaited(Addr object, const std::string& type);

  PythonMemory& memory_;
  AwaitChain chain_;
};

void Follower::follow(const TaskFields& fields) {
  chain_.name = name_of(memory_, fields);
  Addr object = fields.coroutine;
  constexpr std::size_t kMaxObjects = 2 * (kMaxAwaits + 1);  // of all types
  for (std::size_t i = 0; i < kMaxObjects && object != Addr{}; ++i) {
    const std::string type = type_name(memory_, object);
    if (leads_on(type)) {
      object = memory_.pointer_or_null(object + memory_.layout().object.head);
    } else if (is_cythons(type)) {
      object = awaited_by_cythons(memory_, object);
    } else if (has_frame(type) && chain_.frames.size() == kMaxAwaits) {
      break;
    } else if (has_frame(type)) {
      object = enter(object);
    } else {
      note_awaited(object, type);
      return;
    }
  }
  chain_.cut = object != Addr{};
}

AwaitChain Follower::take() {
  std::reverse(chain_.frames.begin(), chain_.frames.end());
  return std::move(chain_);
}

Addr Follower::enter(Addr coroutine) {
  const GeneratorOffsets& offsets = memory_.layout().generator;
  const bool inside = offsets.state != kAbsent;
  const RawFrame frame = frame_of_generator(memory_, coroutine);
  if (frame.address == Addr{}) {
    const bool ended = !inside && memory_.pointer_or_null(coroutine + offsets.frame) == Addr{};
    return end(ended ? TaskState::kEnded : TaskState::kUnknown);
  }
  const TaskState state = inside ? stored_state(coroutine) : state_of(frame);
  if (state == TaskState::kEnded) {
    return end(state);
  }
  chain_.frames.push_back(frame);
  return state == TaskState::kWaits ? awaited_by(frame) : end(state);
}

Addr Follower::end(TaskState state) {
  if (chain_.frames.size() <= 1) {
    chain_.state = state;
  }
  return Addr{};
}

TaskState Follower::stored_state(Addr coroutine) {
  const Layout& layout = memory_.layout();
  const FrameStates& states = layout.semantics.states;
  const auto state = memory_.value<std::int8_t>(coroutine + layout.generator.state);
  if (!state) {
    return TaskState::kUnknown;
  }
  if (*state == states.executing) {
    return TaskState::kRuns;
  }
  if (*state > states.executing) {
    return TaskState::kEnded;
  }
  return *state < states.first_suspended ? TaskState::kNotStarted : TaskState::kWaits;
}

TaskState Follower::state_of(const RawFrame& frame) {
  const Layout& layout = memory_.layout();
  if (static_cast<std::int64_t>(frame.instruction) < 0) {
    return TaskState::kNotStarted;
  }
  const Addr field = frame.address + layout.frame.stack_top;
  const bool executes = layout.semantics.stack_top == StackTopFormat::kDepth
                            ? memory_.value<std::int32_t>(field).value_or(-1) < 0
                            : memory_.pointer_or_null(field) == Addr{};
  return executes ? TaskState::kRuns : TaskState::kWaits;
}

Addr Follower::awaited_by(const RawFrame& frame) {
  chain_.state = TaskState::kWaits;
  const SuspendedStack stack = find_suspended_stack(memory_, frame);
  const std::uint64_t below = memory_.layout().semantics.awaited_value;
  return stack.slots < below
             ? Addr{}
             : without_tags(
                   memory_.layout(),
                   memory_.pointer_or_null(stack.base + (stack.slots - below) * kPointerSize));
}

void Follower::note_awaited(Addr object, const std::string& type) {
  if (const auto other = find_fields(memory_, object)) {
    chain_.awaits = name_of(memory_, *other);
    chain_.task = object;
  } else if (type.find("Future") != std::string::npos) {
    chain_.awaits = "<" + type.substr(type.rfind('.') + 1) + ">";
    chain_.awaited = object;
  }
}

}  // namespace

std::vector<Addr> read_suspended_stack(PythonMemory& memory, const RawFrame& frame) {
  const SuspendedStack stack = find_suspended_stack(memory, frame);
  std::vector<Addr> values;
  values.reserve(stack.slots);
  for (std::uint64_t i = 0; i < stack.slots; ++i) {
    values.push_back(
        without_tags(memory.layout(), memory.pointer_or_null(stack.base + i * kPointerSize)));
  }
  return values;
}

TaskNames tell_names_apart(const std::vector<Addr>& tasks, std::vector<AwaitChain>& chains) {
  TaskNames names;
  std::unordered_map<std::string, std::size_t> counts;
  for (std::size_t at = 0; at < chains.size(); ++at) {
    std::string& name = chains[at].name;
    const std::size_t count = name.empty() ? 1 : ++counts[name];
    if (count > 1) {
      name += " (" + std::to_string(count) + ")";
    }
    names.emplace(value_of(tasks[at]), name);
  }
  for (AwaitChain& chain : chains) {
    if (const auto name = names.find(value_of(chain.task)); name != names.end()) {
      chain.awaits = name->second;
    }
  }
  return names;
}

AwaitChain read_await_chain(PythonMemory& memory, Addr task) {
  const auto fields = find_fields(memory, task);
  if (!fields) {
    return {};
  }
  Follower follower(memory);
  follower.follow(*fields);
  return follower.take();
}

}  // namespace oddrank::cpython
