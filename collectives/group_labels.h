// Finds the program's names for its process groups ("tp", "pp", "dp"), from the globals of the
// libraries that make them. For people only: no group is recognised by its label.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collectives/name_table.h"
#include "cpython/python_memory.h"

namespace oddrank::collectives {

// A global variable with a group, a list or dict of groups, or an object whose attribute `member`
// is one of these.
struct LabelSource {
  std::string_view variable;
  std::string_view label;
  std::string_view member = {};
};

// Returns the variables; the simplest name of a group comes first.
std::span<const LabelSource> label_sources();

struct GroupLabel {
  attach::Addr object{};  // the group
  std::string label;
};

// Reads the labels, in the order of the sources; if a group occurs several times, the first one
// counts. `modules`: sys.modules.
std::vector<GroupLabel> read_group_labels(cpython::PythonMemory& memory, const NameTable& modules);

// Returns pairs of a group's name and its dimension of a mesh, from a DeviceMesh as printed by
// print_object. Empty if the dimensions have no names.
std::vector<std::pair<std::string, std::string>> mesh_labels(std::string_view mesh);

}  // namespace oddrank::collectives
