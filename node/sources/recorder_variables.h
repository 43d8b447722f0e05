// Finds the variables of PyTorch's libraries that point to their flight recorders.
//
// They are local symbols of files with half a million of these, so they are looked up once a file
// and node, and not by every rank.
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
  bool has_symbols = false;              // of its own, not only those that others use
  std::vector<std::uint64_t> addresses;  // of the variables, in the file
  // Those of maps of further recorders, by backend (collectives/torch/recorder_maps.h).
  std::vector<std::uint64_t> registries;
};

// Returns whether the library at that path may have such variables.
bool may_have_recorder(std::string_view path);

// The search in two steps, so that somebody else can go through the symbols, of which there are
// half a million: what to search for, nullopt if there is nothing to be found, and what was found.
std::optional<elf::VariableSearch> recorder_search(const elf::ElfImage& library);
RecorderVariables recorder_variables(const elf::ElfImage& library,
                                     const std::vector<elf::NamedRange>& variables);

// Searches the library's symbols.
RecorderVariables find_recorder_variables(const elf::ElfImage& library);

// Searches all such libraries of a process that have a build id. Opens their files, which may
// block.
std::vector<RecorderVariables> find_recorder_variables(elf::ModuleMap& modules);

// For the way from a child. Lines that are not as encoded are left out.
std::string encode_variables(const std::vector<RecorderVariables>& libraries);
std::vector<RecorderVariables> decode_variables(std::string_view text);

}  // namespace oddrank::node
