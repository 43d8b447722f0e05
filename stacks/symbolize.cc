#include "stacks/symbolize.h"

#include <fcntl.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "snapshot/carrier.h"
#include "stacks/elf_image.h"
#include "stacks/symbol_name.h"

namespace oddrank::stacks {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::Stack;
using snapshot::StackId;
using snapshot::StringId;

// A file, as frames name it: build id and path.
using ModuleKey = std::pair<StringId, StringId>;

struct WantedModule {
  pid_t pid = 0;                               // some process that has it
  std::map<std::uint64_t, std::string> names;  // by address in the file
};

// The address whose symbol is the frame's function. A return address may lie behind the end of its
// function, whose last instruction is the call; where a thread is, or was when a signal came, does
// not.
std::uint64_t address_of(const Frame& frame, bool exact) {
  return exact || (frame.flags & snapshot::kSignalFrame) != 0 ? frame.offset : frame.offset - 1;
}

bool wants_name(const snapshot::Tables& tables, const Frame& frame) {
  return frame.kind == FrameKind::kNative && frame.function == StringId{} &&
         !tables.text(frame.file).empty();
}

// Calls visit(frame id, address) for each native frame of the stack.
template <typename Visit>
void for_each_native(const snapshot::Tables& tables, const Stack& stack, Visit visit) {
  bool exact = true;
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    const Frame& frame = tables.frame(stack.frames[i]);
    if (frame.kind == FrameKind::kNative) {
      visit(i, frame, address_of(frame, exact));
      exact = (frame.flags & snapshot::kSignalFrame) != 0;
    }
  }
}

// Asks for the addresses that have no name yet.
void add_names(const ElfImage& image, std::map<std::uint64_t, std::string>& names) {
  std::vector<std::uint64_t> addresses;
  for (const auto& [address, name] : names) {
    if (name.empty()) {
      addresses.push_back(address);
    }
  }
  const auto found = image.names_of(addresses);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    names[addresses[i]] = plain_symbol(found[i]);
  }
}

Result<UniqueFd> open_debug_file(std::string_view build_id) {
  const bool is_hex = std::all_of(build_id.begin(), build_id.end(),
                                  [](unsigned char c) { return std::isxdigit(c) != 0; });
  if (build_id.size() < 4 || !is_hex) {
    return fail(Errc::kNotFound, "no build id");
  }
  const std::string path = "/usr/lib/debug/.build-id/" + std::string(build_id.substr(0, 2)) + "/" +
                           std::string(build_id.substr(2)) + ".debug";
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    return fail(Errc::kNotFound, "no " + path);
  }
  return fd;
}

class Namer {
 public:
  Namer(snapshot::Capture& capture, const OpenModule& open) : capture_(capture), open_(open) {}

  void run() {
    collect();
    for (auto& [key, module] : modules_) {
      find_names(key, module);
    }
    rename();
  }

 private:
  void collect();
  void collect(StackId id, pid_t pid);
  void find_names(const ModuleKey& key, WantedModule& module);
  void rename();
  StackId renamed(StackId id);

  snapshot::Capture& capture_;
  const OpenModule& open_;
  std::map<ModuleKey, WantedModule> modules_;
  std::map<StackId, StackId> renamed_;
};

void Namer::collect() {
  std::map<StackId, pid_t> stacks;  // each with some process that has it
  for (const auto& process : capture_.processes) {
    for (const auto& thread : process.threads) {
      for (const auto& sample : thread.samples) {
        stacks.emplace(sample.stack, process.pid);
      }
    }
  }
  for (const auto& [id, pid] : stacks) {
    collect(id, pid);
  }
}

void Namer::collect(StackId id, pid_t pid) {
  const auto& tables = capture_.tables;
  if (!tables.stacks().contains(id)) {
    return;
  }
  for_each_native(tables, tables.stack(id),
                  [&](std::size_t, const Frame& frame, std::uint64_t address) {
                    if (wants_name(tables, frame)) {
                      auto& module = modules_[{frame.build_id, frame.file}];
                      module.pid = pid;
                      module.names[address];
                    }
                  });
}

void Namer::find_names(const ModuleKey& key, WantedModule& module) {
  const std::string build_id(capture_.tables.text(key.first));
  const auto ask = [&](Result<UniqueFd> fd) {
    if (!fd) {
      return;
    }
    const auto image = ElfImage::open(std::move(*fd));
    if (image && image->build_id() == build_id) {
      add_names(*image, module.names);
    }
  };
  ask(open_(module.pid, std::string(capture_.tables.text(key.second))));
  const bool complete = std::all_of(module.names.begin(), module.names.end(),
                                    [](const auto& entry) { return !entry.second.empty(); });
  if (!complete) {
    ask(open_debug_file(build_id));
  }
}

StackId Namer::renamed(StackId id) {
  auto& tables = capture_.tables;
  if (!tables.stacks().contains(id)) {
    return id;
  }
  const auto [known, fresh] = renamed_.emplace(id, id);
  if (!fresh) {
    return known->second;
  }
  Stack stack = tables.stack(id);
  const Stack old = stack;
  for_each_native(tables, old, [&](std::size_t i, const Frame& frame, std::uint64_t address) {
    const auto module = modules_.find({frame.build_id, frame.file});
    if (!wants_name(tables, frame) || module == modules_.end()) {
      return;
    }
    const auto name = module->second.names.find(address);
    if (name != module->second.names.end() && !name->second.empty()) {
      Frame named = frame;
      named.function = tables.string(name->second);
      stack.frames[i] = tables.frame(named);
    }
  });
  known->second = tables.stack(stack);
  return known->second;
}

// Rows of tables never change. So the named rows are added, everything is told to use them, and
// what is still used moves into new tables.
void Namer::rename() {
  for (auto& process : capture_.processes) {
    for (auto& thread : process.threads) {
      for (auto& sample : thread.samples) {
        sample.stack = renamed(sample.stack);
      }
    }
  }
  snapshot::Tables fresh;
  snapshot::Carrier carrier(capture_.tables, fresh);
  for (auto& process : capture_.processes) {
    process = carrier.process(process);
  }
  capture_.tables = std::move(fresh);
}

}  // namespace

void name_frames(snapshot::Capture& capture, const OpenModule& open) {
  Namer(capture, open).run();
}

}  // namespace oddrank::stacks
