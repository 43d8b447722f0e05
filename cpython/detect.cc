#include "cpython/detect.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/base_name.h"
#include "cpython/cold_ranges.h"
#include "cpython/layouts/debug_offsets.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/types.h"
#include "cpython/runtime_scan.h"
#include "cpython/thread_state.h"
#include "elf/mapped_symbols.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint32_t kLastWithoutRuntime = 6;  // 3.6 has no _PyRuntime
constexpr std::uint32_t kConditionSize = 48;  // pthread_cond_t, which waiters for the GIL wait on

// A module that may hold a CPython.
struct Candidate {
  const elf::Module* module = nullptr;
  const elf::ElfImage* image = nullptr;
  std::shared_ptr<const elf::ElfImage> copied;  // the image, if the file cannot be opened
  std::uint64_t bias = 0;
  bool is_program = false;
  std::optional<Version> named;  // the version in its file name
};

bool named_like_python(const std::string& path) {
  const std::string_view name = base_name(path);
  return name.starts_with("libpython") || name.starts_with("python");
}

// Returns a candidate whose file cannot be opened: what the dynamic linker needs is in memory.
std::optional<Candidate> copied_candidate(const attach::Target& target,
                                          elf::ModuleMap& modules,
                                          const elf::Module& module) {
  const auto header = modules.mapped_header(module);
  auto symbols = elf::copy_mapped_symbols(target, module);
  auto image = symbols ? elf::ElfImage::from_memory(*std::move(symbols))
                       : Result<elf::ElfImage>(fail(symbols.error()));
  if (!header || !image) {
    return std::nullopt;
  }
  Candidate candidate;
  candidate.copied = std::make_shared<const elf::ElfImage>(*std::move(image));
  candidate.image = candidate.copied.get();
  candidate.bias = (*header)->load_bias;
  return candidate;
}

std::optional<Candidate> candidate_of(const attach::Target& target,
                                      elf::ModuleMap& modules,
                                      const elf::Module& module) {
  std::optional<Candidate> candidate;
  const auto image = modules.image_of(module);
  const auto bias = modules.load_bias(module);
  if (image && bias) {
    candidate.emplace();
    candidate->image = *image;
    candidate->bias = *bias;
  } else {
    candidate = copied_candidate(target, modules, module);
  }
  if (candidate) {
    candidate->module = &module;
    candidate->named = version_from_file_name(module.path);
  }
  return candidate;
}

// Returns whether a module of any name may have a CPython in it: it must be large enough and have
// the runtime's section or symbol. (The size is checked first, since it takes long to find that a
// symbol is missing.)
bool has_runtime(elf::ModuleMap& modules, const elf::Module& module) {
  constexpr std::uint64_t kMinPython = std::uint64_t{1} << 20;  // 3.6 has 2 MiB of code alone
  constexpr std::uint64_t kMaxPython = std::uint64_t{64} << 20;
  const std::uint64_t size = module.end - module.start;
  if (size < kMinPython || size > kMaxPython) {
    return false;
  }
  const auto image = modules.image_of(module);
  return image && ((*image)->section(".PyRuntime") || (*image)->symbol("_PyRuntime"));
}

// `any_name`: takes the modules whose names are not like Python's; else the others.
std::vector<Candidate> find_candidates(const attach::Target& target,
                                       elf::ModuleMap& modules,
                                       bool any_name) {
  std::vector<Candidate> candidates;
  const std::vector<elf::Module>& all = modules.modules();
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The program itself has the lowest address.
    const bool expected = i == 0 || named_like_python(all[i].path);
    if (expected == any_name || (any_name && !has_runtime(modules, all[i]))) {
      continue;
    }
    if (auto candidate = candidate_of(target, modules, all[i])) {
      candidate->is_program = i == 0;
      candidates.push_back(*std::move(candidate));
    }
  }
  return candidates;
}

std::string_view constants_of(const Candidate& candidate) {
  const auto section = candidate.image->section(".rodata");
  const auto bytes = section ? candidate.image->bytes_at(section->address, section->size)
                             : std::span<const std::byte>();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Calls `try_layout` with each layout that processes do not publish themselves, the newest first,
// until it returns true.
template <typename TryLayout>
void first_layout(TryLayout try_layout) {
  constexpr std::uint32_t kFirst = kLastWithoutRuntime + 1;
  constexpr std::uint32_t kLastWithoutOffsets = 12;
  for (std::uint32_t minor = kLastWithoutOffsets; minor >= kFirst; --minor) {
    const Version version{3, minor, "3." + std::to_string(minor)};
    const Layout* layout = static_layout(version);
    if (layout != nullptr && try_layout(*layout, version)) {
      return;
    }
  }
}

// Finds the runtime of a stripped program without the runtime's section (up to 3.9), if it has a
// constant of Python's.
Addr scan_with_all_layouts(const attach::Target& target, const Candidate& candidate) {
  constexpr std::string_view kOfPython("PYTHONHOME", sizeof("PYTHONHOME"));
  Addr found{};
  if (constants_of(candidate).find(kOfPython) != std::string_view::npos) {
    first_layout([&](const Layout& layout, const Version& /*version*/) {
      PythonMemory memory(target, layout);
      found = scan_for_interpreters(memory, *candidate.module);
      return found != Addr{};
    });
  }
  return found;
}

Addr find_runtime(const attach::Target& target, const Candidate& candidate) {
  if (const auto symbol = candidate.image->symbol("_PyRuntime")) {
    return Addr{symbol->address + candidate.bias};
  }
  if (const auto section = candidate.image->section(".PyRuntime")) {
    return Addr{section->address + candidate.bias};
  }
  if (const auto head = candidate.image->symbol("interp_head")) {  // 3.6
    return Addr{head->address + candidate.bias};
  }
  if (candidate.named) {
    const Layout* layout = static_layout(*candidate.named);
    if (layout != nullptr && !publishes_offsets(*candidate.named)) {
      PythonMemory memory(target, *layout);
      return scan_for_interpreters(memory, *candidate.module);
    }
  }
  if (!candidate.named && !candidate.is_program) {
    return {};
  }
  // A program of any name may have a Python linked in.
  const Addr found = scan_for_cookie(target, *candidate.module);
  return found == Addr{} && !candidate.named ? scan_with_all_layouts(target, candidate) : found;
}

// Gives a runtime without _PyRuntime (3.6) its variables as fields, if the file has names for them.
// Its address, so far the list of interpreters, becomes the lowest of their addresses.
void take_variables(const Candidate& candidate, Runtime& runtime) {
  constexpr std::array<std::pair<const char*, std::uint32_t RuntimeOffsets::*>, 5> kVariables = {{
      {"_Py_Finalizing", &RuntimeOffsets::finalizing},
      {"main_thread", &RuntimeOffsets::main_thread},
      {"_PyThreadState_Current", &RuntimeOffsets::tstate_current},
      {"gil_cond", &RuntimeOffsets::gil},
      {"collecting", &RuntimeOffsets::collecting},
  }};
  constexpr std::uint64_t kMaxDistance = 16U << 20;
  const std::uint64_t head = value_of(runtime.address);
  std::vector<std::pair<std::uint64_t, std::uint32_t RuntimeOffsets::*>> found = {
      {head, &RuntimeOffsets::interpreters_head}};
  for (const auto& [name, field] : kVariables) {
    const auto symbol = candidate.image->symbol(name);
    const std::uint64_t address = symbol ? symbol->address + candidate.bias : 0;
    if (address != 0 && std::max(address, head) - std::min(address, head) < kMaxDistance) {
      found.emplace_back(address, field);
    }
  }
  const std::uint64_t lowest = std::min_element(found.begin(), found.end(), [](auto& a, auto& b) {
                                 return a.first < b.first;
                               })->first;
  for (const auto& [address, field] : found) {
    runtime.layout.runtime.*field = static_cast<std::uint32_t>(address - lowest);
  }
  runtime.layout.gil.size = kConditionSize;
  runtime.address = Addr{lowest};
}

std::optional<Version> find_version(RemoteReader& reader, const Candidate& candidate) {
  if (const auto symbol = candidate.image->symbol("Py_Version")) {  // 3.11+
    const auto hex = reader.value<std::uint32_t>(Addr{symbol->address + candidate.bias});
    auto version = hex ? version_from_hex(*hex) : std::nullopt;
    if (version) {
      return version;
    }
  }
  const auto minor =
      candidate.named ? std::optional<std::uint32_t>(candidate.named->minor) : std::nullopt;
  const auto version = version_from_constants(constants_of(candidate), minor);
  return version ? version : candidate.named;
}

// Returns the version whose layout fits the memory: the first thread state points back to its
// interpreter, which has a module `sys`. For files that do not tell their version: a stripped
// program that has Python linked in, whose constants also hold versions of other libraries.
std::optional<Version> version_that_fits(const attach::Target& target,
                                         const Candidate& candidate,
                                         Addr address) {
  std::optional<Version> first;
  std::optional<Version> exact;
  first_layout([&](const Layout& layout, const Version& version) {
    PythonMemory memory(target, layout);
    const auto interpreters = read_interpreters(memory, address);
    if (!check_thread_states(memory, address) || interpreters.empty() ||
        type_name(memory, find_module(memory, interpreters.back().address, "sys")) != "module") {
      return false;
    }
    first = first ? first : version;
    // The fields of 3.9 that are read here are at the same offsets in 3.10.
    exact = version_from_constants(constants_of(candidate), version.minor);
    return exact.has_value();
  });
  return exact ? exact : first;
}

// Returns whether this is a debug build: these export the function that a failed reference check
// calls.
bool is_debug_build(const Candidate& candidate) {
  return candidate.image->symbol("_Py_NegativeRefcount").has_value();
}

// Finds the version and layout of a candidate; does not check whether they match.
Result<Runtime> examine(const attach::Target& target, const Candidate& candidate) {
  RemoteReader reader(target);
  Runtime runtime;
  runtime.address = find_runtime(target, candidate);
  if (runtime.address == Addr{}) {
    // A small program that loads a libpython has none either.
    if (candidate.named && candidate.image->symbol("_PyEval_EvalFrameDefault")) {
      return fail(unsupported_version(find_version(reader, candidate).value_or(*candidate.named)));
    }
    if (candidate.named && candidate.image->symbol("PyEval_EvalFrameEx")) {
      return fail(unsupported_version(find_version(reader, candidate).value_or(*candidate.named)));
    }
    return fail(Errc::kNotFound, "no _PyRuntime in " + candidate.module->path);
  }
  if (is_debug_build(candidate)) {
    const auto version = find_version(reader, candidate);
    return fail(Errc::kUnsupported,
                "a debug build of Python" + (version ? " " + version->text : "") +
                    " is not supported: its objects lie elsewhere",
                "native stacks are read all the same");
  }
  std::vector<std::byte> head(kDebugOffsetsSize);
  if (reader.read(runtime.address, head) && has_debug_offsets(head)) {
    ODDRANK_TRY(DebugOffsets offsets, parse_debug_offsets(head));
    runtime.version = std::move(offsets.version);
    runtime.layout = offsets.layout;
    return runtime;
  }
  const bool is_named = candidate.named || candidate.image->symbol("Py_Version");
  auto version = is_named ? std::nullopt : version_that_fits(target, candidate, runtime.address);
  if (!version) {
    version = find_version(reader, candidate);
  }
  if (!version) {
    return fail(Errc::kUnsupported, "a Python of unknown version in " + candidate.module->path);
  }
  const Layout* layout = static_layout(*version);
  if (layout == nullptr || publishes_offsets(*version)) {
    return fail(unsupported_version(*version));
  }
  runtime.version = *version;
  runtime.layout = *layout;
  if (version->minor == kLastWithoutRuntime) {
    take_variables(candidate, runtime);
  }
  return runtime;
}

Status check(const attach::Target& target, Runtime& runtime) {
  PythonMemory memory(target, runtime.layout);
  const Status checked = check_thread_states(memory, runtime.address);
  runtime.finalized = !checked && is_finalized(memory, runtime.address);
  return checked || runtime.finalized
             ? ok()
             : fail(Error(checked.error()).in("Python " + runtime.version.text));
}

std::vector<elf::ElfRange> find_evaluation_ranges(const Candidate& candidate) {
  auto parts = candidate.image->functions_with_prefix("_PyEval_EvalFrameDefault");
  if (parts.size() == 1) {  // no cold part, or one without a symbol
    const auto cold = cold_ranges(*candidate.image, parts.front());
    parts.insert(parts.end(), cold.begin(), cold.end());
  }
  for (elf::ElfRange& range : parts) {
    range.address += candidate.bias;
  }
  return parts;
}

// Returns null for 3.6, which follows another order of slots in its dicts.
Addr find_hash_secret(const Candidate& candidate, const Version& version) {
  const auto symbol = version.minor == kLastWithoutRuntime
                          ? std::nullopt
                          : candidate.image->symbol("_Py_HashSecret");
  return symbol ? Addr{symbol->address + candidate.bias} : Addr{};
}

// Ranks failures by how much they tell: an unsupported Python above a broken one, and a broken one
// above none.
int weight(Errc code) {
  return code == Errc::kUnsupported ? 2 : code == Errc::kNotFound ? 0 : 1;
}

Result<Runtime> examine_and_check(const attach::Target& target, const Candidate& candidate) {
  ODDRANK_TRY(Runtime runtime, examine(target, candidate));
  ODDRANK_TRY_STATUS(check(target, runtime));
  return runtime;
}

bool runs_code(const attach::Target& target, const Runtime& runtime) {
  PythonMemory memory(target, runtime.layout);
  const auto states = read_thread_states(memory, runtime.address);
  return states &&
         std::any_of(states->threads.begin(), states->threads.end(),
                     [](const ThreadStateRow& one) { return one.newest_frame != Addr{}; });
}

// The first Python is read; the others are named. One that was finalized, or that runs no code,
// comes after one that runs code: a library that was loaded last is often mapped first.
void add_runtime(const attach::Target& target,
                 const Candidate& candidate,
                 Runtime runtime,
                 std::optional<Runtime>& found) {
  const bool second =
      found && !found->finalized && !runtime.finalized && runtime.address != found->address;
  runtime.name = runtime.version.text + " of " + candidate.module->path;
  if (!found || found->finalized ||
      (second && !runs_code(target, *found) && runs_code(target, runtime))) {
    runtime.evaluation_ranges = [candidate] { return find_evaluation_ranges(candidate); };
    runtime.hash_secret = find_hash_secret(candidate, runtime.version);
    if (second) {
      runtime.others = std::move(found->others);
      runtime.others.push_back(std::move(found->name));
    }
    found = std::move(runtime);
  } else if (second) {
    found->others.push_back(std::move(runtime.name));
  }
}

bool is_pypy(const elf::Module& module) {
  const std::string_view name = base_name(module.path);
  return name.starts_with("libpypy") || name.starts_with("pypy");
}

}  // namespace

Result<Runtime> detect_runtime(const attach::Target& target, elf::ModuleMap& modules) {
  Error worst{Errc::kNotFound, "no Python in pid " + std::to_string(target.pid()), {}};
  std::optional<Runtime> found;
  for (const bool any_name : {false, true}) {
    if (found || worst.code != Errc::kNotFound) {
      break;
    }
    for (const Candidate& candidate : find_candidates(target, modules, any_name)) {
      if (auto runtime = examine_and_check(target, candidate)) {
        add_runtime(target, candidate, *std::move(runtime), found);
      } else if (weight(runtime.error().code) > weight(worst.code)) {
        worst = runtime.error();
        worst.what = "pid " + std::to_string(target.pid()) + ": " + worst.what;
      }
    }
  }
  if (found) {
    return *std::move(found);
  }
  const auto& all = modules.modules();
  if (worst.code == Errc::kNotFound && std::any_of(all.begin(), all.end(), is_pypy)) {
    return fail(Errc::kUnsupported,
                "pid " + std::to_string(target.pid()) + " is PyPy; only CPython's frames are read",
                "native stacks are read all the same");
  }
  return fail(std::move(worst));
}

}  // namespace oddrank::cpython
