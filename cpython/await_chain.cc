// Sources: Modules/_asynciomodule.c of 3.8 to 3.14 (TaskObj); Objects/genobject.c (_PyGen_yf, the
// small objects that await); Include/internal/pycore_frame.h (frame states).
#include "cpython/await_chain.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "cpython/objects/attributes.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::size_t kPointer = sizeof(std::uint64_t);
constexpr std::size_t kNameLimit = 128;

struct TaskFields {
  Addr coroutine{};
  Addr name{};
};

// The C struct of a task is in no header and moves between versions. But in all of them stand one
// after another: coroutine, name, context (whose type is
// called "Context" up to 3.9).
std::optional<TaskFields> find_fields(RemoteReader& reader, const Layout& layout, Addr task) {
  constexpr std::size_t kWords = 32;
  for (std::size_t i = 0; i < kWords; ++i) {
    const Addr at = task + layout.object.head + i * kPointer;
    const Addr coroutine = reader.pointer_or_null(at);
    if (coroutine == Addr{}) {
      continue;
    }
    const Addr context = reader.pointer_or_null(at + 2 * kPointer);
    const std::string type = type_name(reader, layout, coroutine);
    if ((type == "coroutine" || type == "generator") && context != Addr{} &&
        type_name(reader, layout, context).ends_with("Context")) {
      return TaskFields{coroutine, reader.pointer_or_null(at + kPointer)};
    }
  }
  // Tasks of pure Python, where the C module is missing.
  const Addr coroutine = read_attribute(reader, layout, task, "_coro");
  if (coroutine == Addr{}) {
    return std::nullopt;
  }
  return TaskFields{coroutine, read_attribute(reader, layout, task, "_name")};
}

std::string name_of(RemoteReader& reader, const Layout& layout, const TaskFields& fields) {
  if (const auto text = read_string(reader, layout, fields.name, kNameLimit)) {
    return text->utf8;
  }
  // 3.12+: a number until somebody asks for the name.
  const auto number = read_int(reader, layout, fields.name);
  return number ? "Task-" + std::to_string(*number) : std::string();
}

bool has_frame(std::string_view type) {
  return type == "coroutine" || type == "generator" || type == "async_generator";
}

// The objects that stand between a frame and the coroutine or future it awaits; what they lead to
// is their first field.
bool leads_on(std::string_view type) {
  constexpr std::array<std::string_view, 5> kTypes = {"coroutine_wrapper", "async_generator_asend",
                                                      "async_generator_athrow", "anext_awaitable",
                                                      "_asyncio.FutureIter"};
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

class Follower {
 public:
  Follower(RemoteReader& reader, const Layout& layout) : reader_(reader), layout_(layout) {}

  AwaitChain take() {
    std::reverse(chain_.frames.begin(), chain_.frames.end());
    return std::move(chain_);
  }

  void follow(const TaskFields& fields) {
    chain_.name = name_of(reader_, layout_, fields);
    Addr object = fields.coroutine;
    for (std::size_t i = 0; i < kAwaitLimit && object != Addr{}; ++i) {
      const std::string type = type_name(reader_, layout_, object);
      if (leads_on(type)) {
        object = reader_.pointer_or_null(object + layout_.object.head);
      } else if (has_frame(type)) {
        object = enter(object);
      } else {
        say_awaited(object, type);
        return;
      }
    }
  }

 private:
  // Takes the frame of a coroutine in; returns what it awaits, null at the end of the chain.
  Addr enter(Addr coroutine) {
    const bool inside = layout_.generator.state != kAbsent;
    const Addr field = coroutine + layout_.generator.frame;
    const Addr address = inside ? field : reader_.pointer_or_null(field);
    if (address == Addr{}) {
      return end(TaskState::kEnded);
    }
    const auto read = read_chains(reader_, layout_, std::span(&address, 1), 1);
    if (read.empty() || read.front().frames.empty()) {
      return end(TaskState::kUnknown);
    }
    const RawFrame frame = read.front().frames.front();
    const TaskState state = inside ? told_state(coroutine) : state_of(frame);
    if (state == TaskState::kEnded) {
      return end(state);
    }
    chain_.frames.push_back(frame);
    return state == TaskState::kWaits ? awaited_by(frame) : end(state);
  }

  // The outermost frame tells the task's state; further in it only ends the chain.
  Addr end(TaskState state) {
    if (chain_.frames.size() <= 1) {
      chain_.state = state;
    }
    return Addr{};
  }

  TaskState told_state(Addr coroutine) {
    const FrameStates& states = layout_.semantics.states;
    const auto state = reader_.value<std::int8_t>(coroutine + layout_.generator.state);
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

  // Up to 3.10: a frame that executes has no end of its stack.
  TaskState state_of(const RawFrame& frame) {
    if (static_cast<std::int64_t>(frame.instruction) < 0) {
      return TaskState::kNotStarted;
    }
    const Addr field = frame.address + layout_.frame.stack_top;
    const bool executes = layout_.semantics.stack_top == StackTopFormat::kDepth
                              ? reader_.value<std::int32_t>(field).value_or(-1) < 0
                              : reader_.pointer_or_null(field) == Addr{};
    return executes ? TaskState::kRuns : TaskState::kWaits;
  }

  Addr base_of_stack(const RawFrame& frame) {
    if (layout_.frame.stack_base != kAbsent) {
      return reader_.pointer_or_null(frame.address + layout_.frame.stack_base);
    }
    const Addr names = reader_.pointer_or_null(frame.code + layout_.code.local_names);
    const auto count = reader_.value<std::uint64_t>(names + layout_.object.size).value_or(0);
    return frame.address + layout_.frame.localsplus +
           std::min<std::uint64_t>(count, 4096) * kPointer;
  }

  // What a suspended frame keeps on its stack; null if there is nothing or the stack is not sound.
  Addr awaited_by(const RawFrame& frame) {
    constexpr std::uint64_t kDeepest = 4096 * kPointer;
    const Addr base = base_of_stack(frame);
    const Addr field = frame.address + layout_.frame.stack_top;
    Addr end{};
    if (layout_.semantics.stack_top == StackTopFormat::kPointer) {
      end = reader_.pointer_or_null(field);
    } else {
      const auto count = reader_.value<std::int32_t>(field).value_or(0);
      const Addr start = layout_.semantics.stack_top == StackTopFormat::kDepth
                             ? base
                             : frame.address + layout_.frame.localsplus;
      end = start + static_cast<std::uint64_t>(std::max(count, 0)) * kPointer;
    }
    chain_.state = TaskState::kWaits;
    const std::uint64_t below = layout_.semantics.awaited_value * kPointer;
    const std::uint64_t used = value_of(end) - value_of(base);
    if (base == Addr{} || end < base || used < below || used > kDeepest) {
      return Addr{};
    }
    return without_tags(layout_, reader_.pointer_or_null(Addr{value_of(end) - below}));
  }

  // A generator that yields has anything on its stack: only what is awaitable for certain counts.
  void say_awaited(Addr object, const std::string& type) {
    if (const auto other = find_fields(reader_, layout_, object)) {
      chain_.awaits = name_of(reader_, layout_, *other);
    } else if (type.find("Future") != std::string::npos) {
      chain_.awaits = "<" + type.substr(type.rfind('.') + 1) + ">";
      chain_.awaited = object;
    }
  }

  RemoteReader& reader_;
  const Layout& layout_;
  AwaitChain chain_;
};

}  // namespace

AwaitChain read_await_chain(RemoteReader& reader, const Layout& layout, Addr task) {
  const auto fields = find_fields(reader, layout, task);
  if (!fields) {
    return {};
  }
  Follower follower(reader, layout);
  follower.follow(*fields);
  return follower.take();
}

}  // namespace oddrank::cpython
