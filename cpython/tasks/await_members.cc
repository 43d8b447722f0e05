// Sources: Lib/asyncio/tasks.py, taskgroups.py of 3.8 to 3.15; anyio/_backends/_asyncio.py of 4.16
// (TaskGroup) and trio/_core/_run.py of 0.35 (Nursery).
#include "cpython/tasks/await_members.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <tuple>

#include "cpython/locals.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/sets.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

// A function that waits, and its variable (or an attribute of the variable) that holds the members.
struct WaitingFunction {
  std::string_view file;
  std::string_view name;  // without its class; "" = any
  std::string_view variable;
  std::string_view attribute;
};

constexpr auto kWaitingFunctions = std::to_array<WaitingFunction>({
    {"/asyncio/tasks.py", "_wait", "fs", ""},
    {"/asyncio/tasks.py", "wait_for", "fut", ""},             // up to 3.11 by its own future
    {"/asyncio/tasks.py", "_wait_for_one", "self", "_todo"},  // as_completed from 3.13 on
    {"/asyncio/taskgroups.py", "", "self", "_tasks"},
    {"/anyio/_backends/_asyncio.py", "__aexit__", "self", "_tasks"},
    {"/trio/_core/_run.py", "_nested_child_finished", "self", "_children"},
});

std::vector<Addr> members_of(PythonMemory& memory, Addr collection, std::size_t limit) {
  const Layout& layout = memory.layout();
  if (collection == Addr{}) {
    return {};
  }
  const bool list = is_instance(memory, collection, TypeFlag::kList);
  if (!list && !is_instance(memory, collection, TypeFlag::kTuple)) {
    const std::string type = type_name(memory, collection);
    return type == "set" ? read_set(memory, collection, limit) : std::vector<Addr>{collection};
  }
  const Addr items = list ? memory.pointer_or_null(collection + layout.object.list_items)
                          : collection + layout.object.tuple_items;
  const auto count = memory.value<std::uint64_t>(collection + layout.object.size).value_or(0);
  std::vector<Addr> members;
  for (std::uint64_t i = 0; i < count && i < limit; ++i) {
    members.push_back(memory.pointer_or_null(items + i * sizeof(std::uint64_t)));
  }
  return members;
}

// Returns the collection of members that the innermost waiting function of the library holds; null
// if there is none.
Addr held_by_frames(PythonMemory& memory,
                    const CodeCache& codes,
                    const std::vector<RawFrame>& frames) {
  for (const RawFrame& frame : frames) {
    const CodeObject& code = codes.at(frame.code);
    if (!is_of_event_library(code.file)) {
      break;
    }
    const auto name = std::string_view(code.function).substr(code.function.rfind('.') + 1);
    for (const WaitingFunction& waiting : kWaitingFunctions) {
      if (!code.file.ends_with(waiting.file) || (!waiting.name.empty() && waiting.name != name)) {
        continue;
      }
      const Addr value = read_local(memory, frame, waiting.variable);
      const Addr held = value == Addr{} || waiting.attribute.empty()
                            ? value
                            : read_slot_or_attribute(memory, value, waiting.attribute);
      if (held != Addr{}) {
        return held;
      }
    }
  }
  return Addr{};
}

bool gathers(PythonMemory& memory, Addr future) {
  return type_name(memory, future).ends_with("_GatheringFuture");
}

// Returns the members; for a member that gathers others (wait_for up to 3.11 has one), these
// others.
std::vector<Addr> expanded(PythonMemory& memory,
                           const std::vector<Addr>& members,
                           std::size_t limit) {
  std::vector<Addr> all;
  for (const Addr member : members) {
    if (member != Addr{} && gathers(memory, member)) {
      std::ranges::copy(members_of(memory, read_attribute(memory, member, "_children"), limit),
                        std::back_inserter(all));
    } else {
      all.push_back(member);
    }
    if (all.size() > limit) {
      break;
    }
  }
  return all;
}

std::vector<Addr> find_members(PythonMemory& memory,
                               const CodeCache& codes,
                               const AwaitChain& chain,
                               std::size_t limit) {
  auto members =
      gathers(memory, chain.awaited)
          ? members_of(memory, read_attribute(memory, chain.awaited, "_children"), limit)
          : expanded(memory, members_of(memory, held_by_frames(memory, codes, chain.frames), limit),
                     limit);
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

}  // namespace

bool is_of_event_library(std::string_view file) {
  constexpr std::array<std::string_view, 3> kFolders = {"/asyncio/", "/trio/", "/anyio/"};
  return std::ranges::any_of(kFolders, [file](std::string_view folder) {
    return file.find(folder) != std::string_view::npos;
  });
}

AwaitedMembers read_awaited_members(PythonMemory& memory,
                                    const CodeCache& codes,
                                    const AwaitChain& chain,
                                    const TaskNames& names,
                                    std::size_t limit) {
  const bool trios = !chain.frames.empty() &&
                     codes.at(chain.frames.front().code).file.ends_with("/trio/_core/_run.py");
  if (chain.awaited == Addr{} && !trios) {
    return {};
  }
  std::vector<Addr> members = find_members(memory, codes, chain, limit + 1);
  const bool cut = members.size() > limit;
  members.resize(std::min(members.size(), limit));
  std::vector<std::string> tasks;
  std::vector<std::string> futures;
  for (const Addr member : members) {
    if (const auto task = names.find(value_of(member)); task != names.end()) {
      tasks.push_back(task->second.empty() ? "<Task>" : task->second);
      continue;
    }
    const std::string type = type_name(memory, member);
    if (type.find("Future") != std::string::npos) {
      futures.push_back("<" + type.substr(type.rfind('.') + 1) + ">");
    }
  }
  std::sort(tasks.begin(), tasks.end(), task_comes_before);
  tasks.insert(tasks.end(), futures.begin(), futures.end());
  return {std::move(tasks), cut};
}

bool task_comes_before(const std::string& a, const std::string& b) {
  return std::tuple(a.size(), a) < std::tuple(b.size(), b);
}

}  // namespace oddrank::cpython
