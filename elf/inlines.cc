#include "elf/inlines.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/names/demangle.h"
#include "elf/cython_lines.h"
#include "elf/dwarf_scopes.h"
#include "elf/native_addresses.h"
#include "elf/symbol_name.h"
#include "snapshot/carrier.h"

namespace oddrank::elf {
namespace {

using snapshot::Frame;
using snapshot::Stack;
using snapshot::StackId;
using ScopesByAddress = std::map<std::uint64_t, SourceScopes>;

struct Source {
  off_t size = 0;
  UniqueFd fd;
  ModuleKey key;
  const AskedModule* module = nullptr;
};

// A stack with its inlined frames, and the new index of each old frame.
struct Expanded {
  StackId id{};
  std::vector<std::size_t> index;
};

bool has_dwarf(const Result<UniqueFd>& fd) {
  return fd && DwarfFile::open(*fd).has_value();
}

off_t size_of(const UniqueFd& fd) {
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 ? status.st_size : 0;
}

// Cython makes up to three C functions of one: what it does, and wrappers for Python. Those that
// were inlined into one another become one, at the innermost place.
void join_cython(SourceScopes& scopes) {
  for (std::size_t i = scopes.size(); i-- > 1;) {
    const SourceScope& inner = scopes[i - 1];
    SourceScope& outer = scopes[i];
    const auto name = demangle_cython(inner.function);
    if (name && inner.function != outer.function && name == demangle_cython(outer.function)) {
      outer.file = inner.file;
      outer.line = inner.line;
      scopes.erase(scopes.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
  }
}

class Inliner {
 public:
  Inliner(snapshot::Capture& capture, const ModuleFiles& files)
      : capture_(capture), files_(files) {}

  bool run(const std::function<bool()>& out_of_time);

 private:
  bool find_scopes(const AskedModules& modules, const std::function<bool()>& out_of_time);
  const CythonLines* cython_lines(const AskedModule& module, const std::string& file);
  void name_cython(const AskedModule& module, ScopesByAddress& scopes);
  const SourceScopes* scopes_of(const Frame& frame, std::uint64_t address) const;
  std::vector<Frame> expand(Frame frame, const SourceScopes& scopes);
  const Expanded& expanded(StackId id);
  void expand_thread(snapshot::ThreadCapture& thread);

  snapshot::Capture& capture_;
  const ModuleFiles& files_;
  std::map<ModuleKey, ScopesByAddress> scopes_;
  std::map<StackId, Expanded> expanded_;
  std::map<std::string, std::optional<CythonLines>> cython_;  // by the C file
};

// Returns the statements of a C file; nullptr if it cannot be read.
const CythonLines* Inliner::cython_lines(const AskedModule& module, const std::string& file) {
  const auto [found, fresh] = cython_.try_emplace(file);
  std::optional<CythonLines>& lines = found->second;
  if (fresh && files_.source) {
    for (auto holder = module.holders.begin(); holder != module.holders.end() && !lines; ++holder) {
      if (const auto code = files_.source(holder->second.first, file)) {
        lines.emplace(*code);
      }
    }
  }
  return lines ? &*lines : nullptr;
}

// Replaces places in functions that Cython has made by the places in its source.
void Inliner::name_cython(const AskedModule& module, ScopesByAddress& scopes) {
  for (auto& [address, functions] : scopes) {
    for (SourceScope& scope : functions) {
      if (!scope.file.starts_with('/') || !demangle_cython(scope.function)) {
        continue;
      }
      const CythonLines* lines = cython_lines(module, scope.file);
      if (const auto place = lines == nullptr ? std::nullopt : lines->at(scope.line)) {
        scope.file = place->file;
        scope.line = place->line;
      }
    }
    join_cython(functions);
  }
}

bool Inliner::find_scopes(const AskedModules& modules, const std::function<bool()>& out_of_time) {
  std::vector<Source> sources;
  for (const auto& [key, module] : modules) {
    if (out_of_time()) {
      break;
    }
    auto fd = open_believed(capture_.tables, key, module, files_.module);
    if (!has_dwarf(fd)) {
      fd = open_debug_of(capture_.tables, key, module, files_);
    }
    if (has_dwarf(fd)) {
      sources.push_back({size_of(*fd), std::move(*fd), key, &module});
    }
  }
  std::stable_sort(sources.begin(), sources.end(),
                   [](const Source& a, const Source& b) { return a.size < b.size; });
  for (const Source& source : sources) {
    if (const auto dwarf = DwarfFile::open(source.fd); dwarf && !out_of_time()) {
      auto scopes = dwarf->scopes_of(source.module->addresses, out_of_time);
      name_cython(*source.module, scopes);
      scopes_[source.key] = std::move(scopes);
    }
  }
  return !out_of_time();
}

const SourceScopes* Inliner::scopes_of(const Frame& frame, std::uint64_t address) const {
  const auto module = scopes_.find(key_of(frame));
  if (frame.file == snapshot::StringId{} || module == scopes_.end()) {
    return nullptr;
  }
  const auto found = module->second.find(address);
  return found == module->second.end() || found->second.empty() ? nullptr : &found->second;
}

std::vector<Frame> Inliner::expand(Frame frame, const SourceScopes& scopes) {
  auto& tables = capture_.tables;
  std::vector<Frame> frames;
  for (std::size_t i = 0; i + 1 < scopes.size(); ++i) {
    Frame inlined = frame;
    inlined.flags = snapshot::kInlined;
    inlined.function = tables.string(plain_symbol(scopes[i].function));
    inlined.source = tables.string(scopes[i].file);
    inlined.line = scopes[i].line;
    frames.push_back(inlined);
  }
  // Aliases of one function have one entry: the symbol's name stays.
  if (frame.function == snapshot::StringId{}) {
    frame.function = tables.string(plain_symbol(scopes.back().function));
  }
  frame.source = tables.string(scopes.back().file);
  frame.line = scopes.back().line;
  frames.push_back(frame);
  return frames;
}

const Expanded& Inliner::expanded(StackId id) {
  const auto [known, fresh] = expanded_.try_emplace(id);
  Expanded& result = known->second;
  if (!fresh) {
    return result;
  }
  result.id = id;
  auto& tables = capture_.tables;
  if (!tables.stacks().contains(id)) {
    return result;
  }
  const Stack old = tables.stack(id);
  std::vector<std::vector<Frame>> instead(old.frames.size());
  for_each_native(tables, old, [&](std::size_t i, const Frame& frame, std::uint64_t address) {
    if (const SourceScopes* scopes = scopes_of(frame, address); scopes != nullptr) {
      instead[i] = expand(frame, *scopes);
    }
  });
  Stack stack{{}, old.end, old.merge};
  for (std::size_t i = 0; i < old.frames.size(); ++i) {
    for (const Frame& frame : instead[i]) {
      stack.frames.push_back(tables.frame(frame));
    }
    if (instead[i].empty()) {
      stack.frames.push_back(old.frames[i]);
    }
    result.index.push_back(stack.frames.size() - 1);
  }
  result.id = tables.stack(stack);
  return result;
}

void Inliner::expand_thread(snapshot::ThreadCapture& thread) {
  // Locals refer to frames of the Python stack if that is separate.
  const bool native = !thread.samples.empty() && thread.samples.back().python_stack == StackId{};
  if (native && !thread.locals.empty()) {
    const auto& index = expanded(thread.samples.back().stack).index;
    for (snapshot::FrameLocals& locals : thread.locals) {
      if (locals.frame < index.size()) {
        locals.frame = static_cast<std::uint32_t>(index[locals.frame]);
      }
    }
  }
  for (auto& sample : thread.samples.stored()) {
    sample.stack = expanded(sample.stack).id;
  }
}

bool Inliner::run(const std::function<bool()>& out_of_time) {
  const AskedModules modules = ask_modules(
      capture_, [](const Frame& frame) { return frame.source == snapshot::StringId{}; });
  const bool whole = find_scopes(modules, out_of_time);
  for (auto& process : capture_.processes) {
    for (auto& thread : process.threads) {
      expand_thread(thread);
    }
  }
  snapshot::Tables fresh;
  snapshot::Carrier carrier(capture_.tables, fresh);
  snapshot::CaptureRows& rows = capture_;
  rows = carrier.row(std::move(rows));
  capture_.tables = std::move(fresh);
  return whole;
}

}  // namespace

bool add_inlined_frames(snapshot::Capture& capture,
                        const ModuleFiles& files,
                        const std::function<bool()>& out_of_time) {
  return Inliner(capture, files).run(out_of_time);
}

}  // namespace oddrank::elf
