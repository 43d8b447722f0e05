#include "collectives/collect_groups.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/parse_number.h"
#include "base/printable.h"
#include "collectives/group_labels.h"
#include "collectives/name_table.h"
#include "collectives/torch/meeting_place.h"
#include "collectives/torch/process_group.h"
#include "collectives/torch_groups.h"
#include "collectives/world_in_memory.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/types.h"
#include "cpython/remote_reader.h"
#include "snapshot/rank_text.h"
#include "snapshot/variable.h"

namespace oddrank::collectives {
namespace {

using cpython::PythonMemory;

constexpr std::string_view kAt = " at 0x";
constexpr std::string_view kMesh = "<DeviceMesh ";

// Names of objects, by their addresses.
using Names = std::unordered_map<std::uint64_t, std::string>;

// Replaces each "<type at 0xaddress>" in the text.
std::string with_names(std::string_view text, const Names& names) {
  std::string result;
  for (auto at = text.find(kAt); at != std::string_view::npos; at = text.find(kAt)) {
    const std::size_t digits = at + kAt.size();
    const std::size_t end = text.find('>', digits);
    const std::size_t begin = text.rfind('<', at);
    const auto address = end == std::string_view::npos
                             ? std::nullopt
                             : parse_number<std::uint64_t>(text.substr(digits, end - digits), 16);
    if (!address || begin == std::string_view::npos) {
      result += text.substr(0, digits);
      text.remove_prefix(digits);
      continue;
    }
    const auto name = names.find(*address);
    result += text.substr(0, begin);
    result +=
        name != names.end() ? name->second : std::string(text.substr(begin, at - begin)) + ">";
    text.remove_prefix(end + 1);
  }
  return result.append(text);
}

template <typename Visit>
void for_each_local(snapshot::ProcessCapture& process, const Visit& visit) {
  for (snapshot::ThreadCapture& thread : process.threads) {
    for (snapshot::FrameLocals& of_frame : thread.locals) {
      for (snapshot::Local& local : of_frame.locals) {
        visit(local);
      }
    }
  }
}

// Maps names of groups to the dimension of the mesh for which the group was made. Meshes are
// searched for in the locals of all frames and in the variables of the main module.
std::map<std::string, std::string> labels_of_meshes(PythonMemory& memory,
                                                    const NameTable& modules,
                                                    const snapshot::Tables& tables,
                                                    snapshot::ProcessCapture& process) {
  std::map<std::string, std::string> labels;
  const auto add = [&labels](std::string_view mesh) {
    for (auto& [group, label] : mesh_labels(mesh)) {
      labels.emplace(std::move(group), std::move(label));
    }
  };
  for_each_local(process, [&](const snapshot::Local& local) {
    if (const auto text = tables.text(local.value); text.starts_with(kMesh)) {
      add(text);
    }
  });
  const Addr main = modules.find("__main__");
  for (const auto& variable : cpython::read_dict(memory, cpython::dict_of_module(memory, main))) {
    if (cpython::type_name(memory, variable.value) == "DeviceMesh") {
      add(cpython::print_object(memory, variable.value));
    }
  }
  return labels;
}

std::string label_of(const TorchGroup& group,
                     const std::vector<GroupLabel>& of_libraries,
                     const std::map<std::string, std::string>& of_meshes) {
  const auto at =
      std::find_if(of_libraries.begin(), of_libraries.end(),
                   [&group](const GroupLabel& label) { return label.object == group.object; });
  if (at != of_libraries.end()) {
    return at->label;
  }
  const auto mesh = of_meshes.find(group.name);
  return mesh == of_meshes.end() ? std::string() : mesh->second;
}

// Returns where the members of a group met, if that is not where the default group's did; else "".
class OtherPlaces {
 public:
  OtherPlaces(PythonMemory& memory, const std::vector<TorchGroup>& groups);
  std::string of(const TorchGroup& group);

 private:
  PythonMemory& memory_;
  std::optional<MeetingPlace> usual_;
};

OtherPlaces::OtherPlaces(PythonMemory& memory, const std::vector<TorchGroup>& groups)
    : memory_(memory) {
  const auto at = std::ranges::find_if(groups, &TorchGroup::is_default);
  if (at != groups.end() && groups.size() > 1) {
    usual_ = read_meeting_place(memory, at->store);
  }
}

std::string OtherPlaces::of(const TorchGroup& group) {
  const auto place =
      usual_ && !group.is_default ? read_meeting_place(memory_, group.store) : std::nullopt;
  const bool same = !place || place->base == usual_->base ||
                    (!place->where.empty() && place->where == usual_->where);
  return same ? std::string() : place->where + " " + place->prefixes;
}

// Fills in what the group's C++ object holds.
void add_memory(const GroupMemory& read, snapshot::Tables& tables, snapshot::ProcessGroup& group) {
  group.rank = read.rank;
  group.size = read.size;
  for (const BackendCounts& counts : read.backends) {
    group.counters.push_back({tables.string(counts.backend), counts.collectives, counts.transfers,
                              counts.collectives, counts.transfers, counts.mixed});
  }
}

}  // namespace

std::string group_text(std::string_view name) {
  return "<ProcessGroup " + std::string(name) + ">";
}

ranks::ReportedWorld collect_groups(const cpython::PythonProcess& python,
                                    snapshot::Tables& tables,
                                    snapshot::ProcessCapture& process) {
  PythonMemory memory = python.memory();
  const NameTable modules = NameTable::of_modules(memory, python.main_interpreter());
  process.groups.clear();
  Names names;
  const auto torch = read_torch_tables(memory, modules);
  if (torch) {
    const auto of_libraries = read_group_labels(memory, modules);
    const auto of_meshes = labels_of_meshes(memory, modules, tables, process);
    GroupReader reader(memory, torch->version);
    OtherPlaces places(memory, torch->groups);
    if (!torch->version.empty()) {
      snapshot::add_setup(tables, process, "PyTorch", torch->version);
    }
    for (const TorchGroup& group : torch->groups) {
      if (group.name.empty()) {
        continue;  // the group is being made, or destroyed
      }
      names.emplace(value_of(group.object), group_text(group.name));
      snapshot::ProcessGroup& row = process.groups.emplace_back();
      row.name = tables.string(group.name);
      row.label = tables.string(label_of(group, of_libraries, of_meshes));
      row.backend = tables.string(group.backend);
      row.is_default = group.is_default;
      row.members = tables.string(snapshot::rank_text(group.members));
      row.met_at = tables.string(places.of(group));
      if (const auto read = reader.read(group.object)) {
        add_memory(*read, tables, row);
      }
    }
    if (torch->cut) {
      process.why = tables.string(
          join_clauses(tables.text(process.why),
                       "only " + std::to_string(kMaxGroups) + " of its process groups are read"));
    }
    names.emplace(value_of(torch->isend), "isend");
    names.emplace(value_of(torch->irecv), "irecv");
  }
  for_each_local(process, [&](snapshot::Local& local) {
    const std::string_view text = tables.text(local.value);
    const bool may_have = text.starts_with('<') || text.starts_with('[') || text.starts_with('(');
    if (may_have && text.find(kAt) != std::string_view::npos) {
      local.value = tables.string(with_names(text, names));
    }
  });
  return read_world(memory, modules, torch ? torch->init_method : std::string(), tables, process);
}

}  // namespace oddrank::collectives
