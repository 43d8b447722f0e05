#include "stacks/cpython/detect.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "stacks/cpython/debug_offsets.h"
#include "stacks/cpython/thread_state.h"

namespace oddrank::stacks::cpython {
namespace {

// A module that may hold a CPython.
struct Candidate {
  const Module* module = nullptr;
  const ElfImage* image = nullptr;
  std::uint64_t bias = 0;
  std::optional<Version> named;  // what its file name says
};

bool named_like_python(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  return name.starts_with("libpython") || name.starts_with("python");
}

std::vector<Candidate> find_candidates(ModuleMap& modules) {
  std::vector<Candidate> candidates;
  const std::vector<Module>& all = modules.modules();
  for (std::size_t i = 0; i < all.size(); ++i) {
    // The program itself lies lowest in memory.
    if (i != 0 && !named_like_python(all[i].path)) {
      continue;
    }
    const auto image = modules.image_of(all[i]);
    const auto bias = modules.load_bias(all[i]);
    if (image && bias) {
      candidates.push_back({&all[i], *image, *bias, version_from_file_name(all[i].path)});
    }
  }
  return candidates;
}

// Address of the cookie of 3.13+ in [start, end); null if it is not there.
Addr scan_range(const attach::Target& target, std::uint64_t start, std::uint64_t end) {
  constexpr std::size_t kStep = 1U << 16;
  std::vector<std::byte> block(kStep);
  for (std::uint64_t at = start; at < end; at += kStep) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, end - at));
    const std::span<std::byte> part(block.data(), size);
    if (!target.read(Addr{at}, part)) {
      return Addr{};
    }
    for (std::size_t offset = 0; offset + kDebugOffsetsHead <= size; offset += 8) {
      if (has_debug_offsets(part.subspan(offset))) {
        return Addr{at + offset};
      }
    }
  }
  return Addr{};
}

// The cookie in the module's writable pages, for a file without symbols and sections.
Addr scan_for_cookie(const attach::Target& target, const Module& module) {
  constexpr std::uint64_t kScanLimit = 8U << 20;
  for (const attach::Mapping& mapping : target.maps().all()) {
    if (!mapping.writable || mapping.start < module.start || mapping.end > module.end) {
      continue;
    }
    const Addr found =
        scan_range(target, mapping.start, std::min(mapping.end, mapping.start + kScanLimit));
    if (found != Addr{}) {
      return found;
    }
  }
  return Addr{};
}

Addr find_runtime(const attach::Target& target, const Candidate& candidate) {
  if (const auto symbol = candidate.image->symbol("_PyRuntime")) {
    return Addr{symbol->address + candidate.bias};
  }
  if (const auto section = candidate.image->section(".PyRuntime")) {
    return Addr{section->address + candidate.bias};
  }
  return candidate.named ? scan_for_cookie(target, *candidate.module) : Addr{};
}

std::optional<Version> find_version(RemoteReader& reader, const Candidate& candidate) {
  if (const auto symbol = candidate.image->symbol("Py_Version")) {  // 3.11+
    const auto hex = reader.value<std::uint32_t>(Addr{symbol->address + candidate.bias});
    auto version = hex ? version_from_hex(*hex) : std::nullopt;
    if (version) {
      return version;
    }
  }
  if (const auto section = candidate.image->section(".rodata")) {
    const auto bytes = candidate.image->bytes_at(section->address, section->size);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto minor =
        candidate.named ? std::optional<std::uint32_t>(candidate.named->minor) : std::nullopt;
    if (auto version = version_from_constants(text, minor)) {
      return version;
    }
  }
  return candidate.named;
}

auto unsupported(const Version& version) {
  return fail(Errc::kUnsupported, "Python " + version.text + " is not supported",
              "known are 3.8 to 3.13; native stacks are read all the same");
}

// Version and layout of a candidate; not yet whether they fit.
Result<Runtime> examine(const attach::Target& target, const Candidate& candidate) {
  RemoteReader reader(target);
  Runtime runtime;
  runtime.address = find_runtime(target, candidate);
  if (runtime.address == Addr{}) {
    // Before 3.7 there was no _PyRuntime; the small program beside a libpython has none, either.
    if (candidate.named && candidate.image->symbol("_PyEval_EvalFrameDefault")) {
      return unsupported(find_version(reader, candidate).value_or(*candidate.named));
    }
    if (candidate.named && candidate.image->symbol("PyEval_EvalFrameEx")) {
      return unsupported(find_version(reader, candidate).value_or(*candidate.named));
    }
    return fail(Errc::kNotFound, "no _PyRuntime in " + candidate.module->path);
  }
  std::vector<std::byte> head(kDebugOffsetsSize);
  if (reader.read(runtime.address, head) && has_debug_offsets(head)) {
    ODDRANK_TRY(DebugOffsets offsets, parse_debug_offsets(head));
    runtime.version = std::move(offsets.version);
    runtime.layout = offsets.layout;
    return runtime;
  }
  const auto version = find_version(reader, candidate);
  if (!version) {
    return fail(Errc::kUnsupported, "a Python of unknown version in " + candidate.module->path);
  }
  const Layout* layout = static_layout(*version);
  if (layout == nullptr) {
    return unsupported(*version);
  }
  runtime.version = *version;
  runtime.layout = *layout;
  return runtime;
}

Status check(const attach::Target& target, const Runtime& runtime) {
  RemoteReader reader(target);
  const auto threads = read_thread_states(reader, runtime.layout, runtime.address);
  if (!threads) {
    return fail(Error(threads.error()).in("Python " + runtime.version.text));
  }
  return ok();
}

void add_evaluation_ranges(const Candidate& candidate, Runtime& runtime) {
  for (const ElfRange& range : candidate.image->functions_with_prefix("_PyEval_EvalFrameDefault")) {
    runtime.evaluation_ranges.push_back({range.address + candidate.bias, range.size});
  }
}

// How much a failure tells: an unsupported Python more than a broken one, that more than none.
int weight(Errc code) {
  return code == Errc::kUnsupported ? 2 : code == Errc::kNotFound ? 0 : 1;
}

}  // namespace

Result<Runtime> detect_runtime(const attach::Target& target, ModuleMap& modules) {
  Error worst{Errc::kNotFound, "no Python in pid " + std::to_string(target.pid()), {}};
  for (const Candidate& candidate : find_candidates(modules)) {
    auto runtime = examine(target, candidate);
    const Status checked = runtime ? check(target, *runtime) : fail(runtime.error());
    if (checked) {
      add_evaluation_ranges(candidate, *runtime);
      return runtime;
    }
    if (weight(checked.error().code) > weight(worst.code)) {
      worst = checked.error();
      worst.what = "pid " + std::to_string(target.pid()) + ": " + worst.what;
    }
  }
  return fail(std::move(worst));
}

}  // namespace oddrank::stacks::cpython
