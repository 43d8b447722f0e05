// Finds the variables of PyTorch's libraries that point to their flight recorders.
//
// They are local symbols among half a million, so they are looked up once for each file and node,
// not by every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elf/elf_image.h"
#include "elf/module_map.h"

namespace oddrank::node {

// What the symbols of one library say.
struct RecorderVariables {
  std::string build_id;
  bool has_symbols = false;              // its own, not only exported ones
  std::vector<std::uint64_t> addresses;  // of the variables, as in the file
  // Addresses of maps of further recorders, by backend (collectives/torch/recorder_maps.h).
  std::vector<std::uint64_t> registries;
};

// Returns whether the library at that path may have such variables.
bool may_have_recorder(std::string_view path);

// The search in two steps, so that other code can go through the half million symbols: the first
// returns what to search for, nullopt if nothing can be found; the second turns what was found into
// the result.
std::optional<elf::VariableSearch> recorder_search(const elf::ElfImage& library);
RecorderVariables recorder_variables(const elf::ElfImage& library,
                                     const std::vector<elf::NamedRange>& variables);

// Searches the library's symbols.
RecorderVariables find_recorder_variables(const elf::ElfImage& library);

// Searches all such libraries of a process that have a build id. Opens their files, which may
// block.
std::vector<RecorderVariables> find_recorder_variables(elf::ModuleMap& modules);

// Carry the result from a child as text. Invalid lines are left out.
std::string encode_variables(const std::vector<RecorderVariables>& libraries);
std::vector<RecorderVariables> decode_variables(std::string_view text);

}  // namespace oddrank::node
