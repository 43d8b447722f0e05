#include "node/collect/recorder_variables.h"

#include <algorithm>
#include <cstddef>

#include "base/hex.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "collectives/torch/recorder_layout.h"
#include "collectives/torch/recorder_maps.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::node {
namespace {

constexpr std::uint64_t kPointerSize = sizeof(std::uint64_t);
constexpr std::uint64_t kRegistrySize = collectives::kRegistryWords * kPointerSize;

// Returns whether the name fits one of recorder_symbols().
bool is_recorder_symbol(std::string_view name) {
  const auto patterns = collectives::recorder_symbols();
  return std::any_of(patterns.begin(), patterns.end(), [name](std::string_view pattern) {
    const auto star = pattern.find('*');
    if (star == std::string_view::npos) {
      return name == pattern;
    }
    return name.size() + 1 >= pattern.size() && name.starts_with(pattern.substr(0, star)) &&
           name.ends_with(pattern.substr(star + 1));
  });
}

}  // namespace

std::optional<elf::VariableSearch> recorder_search(const elf::ElfImage& library) {
  // FlightRecorder and, up to 2.5, NCCLTraceBuffer, both in c10d.
  constexpr std::string_view kPrefix = "_ZZN4c10d1";
  const auto variables = library.section(".bss");
  if (!variables) {
    return std::nullopt;
  }
  return elf::VariableSearch{kPrefix, {kPointerSize, kRegistrySize}, *variables, {}};
}

RecorderVariables recorder_variables(const elf::ElfImage& library,
                                     const std::vector<elf::NamedRange>& variables) {
  constexpr std::string_view kRegistry = "_ZZN4c10d17getFlightRecorder";  // 2.15
  RecorderVariables found{library.build_id(), library.has_own_symbols(), {}, {}};
  for (const elf::NamedRange& variable : variables) {
    const bool is_pointer = variable.range.size == kPointerSize;
    if (is_pointer && is_recorder_symbol(variable.name)) {
      found.addresses.push_back(variable.range.address);
    } else if (!is_pointer && variable.name.starts_with(kRegistry) &&
               variable.name.ends_with("E8registry")) {
      found.registries.push_back(variable.range.address);
    }
  }
  return found;
}

bool may_have_recorder(std::string_view path) {
  return snapshot::library_of(path) == snapshot::Library::kTorch;
}

RecorderVariables find_recorder_variables(const elf::ElfImage& library) {
  auto search = recorder_search(library);
  if (search) {
    library.find_variables(*search);
  }
  return recorder_variables(library, search ? search->found : std::vector<elf::NamedRange>());
}

std::vector<RecorderVariables> find_recorder_variables(elf::ModuleMap& modules) {
  std::vector<RecorderVariables> libraries;
  for (const elf::Module& module : modules.modules()) {
    const auto image = may_have_recorder(module.path) ? modules.image_of(module)
                                                      : Result<const elf::ElfImage*>(nullptr);
    if (image && *image != nullptr && !(*image)->build_id().empty()) {
      libraries.push_back(find_recorder_variables(**image));
    }
  }
  return libraries;
}

std::string encode_variables(const std::vector<RecorderVariables>& libraries) {
  std::string text;
  for (const RecorderVariables& library : libraries) {
    text += library.build_id + (library.has_symbols ? " 1" : " 0");
    for (const std::uint64_t address : library.addresses) {
      text += " " + hex_number(address);
    }
    for (const std::uint64_t address : library.registries) {
      text += " @" + hex_number(address);
    }
    text += "\n";
  }
  return text;
}

std::vector<RecorderVariables> decode_variables(std::string_view text) {
  std::vector<RecorderVariables> libraries;
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split_blanks(line);
    if (words.size() < 2 || (words[1] != "0" && words[1] != "1")) {
      continue;
    }
    RecorderVariables library{std::string(words[0]), words[1] == "1", {}, {}};
    for (std::size_t i = 2; i < words.size(); ++i) {
      const bool is_registry = words[i].starts_with('@');
      if (const auto address = parse_number<std::uint64_t>(words[i].substr(is_registry), 16)) {
        (is_registry ? library.registries : library.addresses).push_back(*address);
      }
    }
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace oddrank::node
