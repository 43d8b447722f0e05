#include "collectives/group_labels.h"

#include <algorithm>
#include <array>

#include "collectives/group_evidence.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/types.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using cpython::Layout;
using cpython::PythonMemory;
using cpython::TypeFlag;

constexpr std::size_t kMaxInOneVariable = 64;

constexpr std::array<std::string_view, 7> kModules = {
    "megatron.core.parallel_state",           "megatron.mpu.initialize",
    "megatron.model_parallel.initialize",     "deepspeed.utils.groups",
    "fairscale.nn.model_parallel.initialize", "vllm.distributed.parallel_state",
    "sglang.srt.distributed.parallel_state",
};

// If parallel sizes are 1, several variables hold the same group: its plainest name comes first.
constexpr std::array kSources = {
    LabelSource{"_TENSOR_MODEL_PARALLEL_GROUP", "tp"},
    LabelSource{"_PIPELINE_MODEL_PARALLEL_GROUP", "pp"},
    LabelSource{"_DATA_PARALLEL_GROUP", "dp"},
    LabelSource{"_CONTEXT_PARALLEL_GROUP", "cp"},
    LabelSource{"_EXPERT_MODEL_PARALLEL_GROUP", "ep"},
    LabelSource{"_EXPERT_PARALLEL_GROUP", "ep"},
    LabelSource{"_SEQUENCE_PARALLEL_GROUP", "sp"},
    LabelSource{"_SEQUENCE_DATA_PARALLEL_GROUP", "sp-dp"},
    LabelSource{"_EXPERT_TENSOR_PARALLEL_GROUP", "etp"},
    LabelSource{"_EXPERT_DATA_PARALLEL_GROUP", "edp"},
    LabelSource{"_DATA_PARALLEL_GROUP_WITH_CP", "dp-cp"},
    LabelSource{"_DATA_PARALLEL_GROUP_GLOO", "dp-gloo"},
    LabelSource{"_DATA_PARALLEL_GROUP_WITH_CP_GLOO", "dp-cp-gloo"},
    LabelSource{"_TENSOR_AND_DATA_PARALLEL_GROUP", "tp-dp"},
    LabelSource{"_TENSOR_AND_DATA_PARALLEL_GROUP_WITH_CP", "tp-dp-cp"},
    LabelSource{"_TENSOR_AND_CONTEXT_PARALLEL_GROUP", "tp-cp"},
    LabelSource{"_MODEL_PARALLEL_GROUP", "mp"},
    LabelSource{"_MODEL_AND_EXPERT_PARALLEL_GROUP", "mp-ep"},
    LabelSource{"_EMBEDDING_GROUP", "embedding"},
    LabelSource{"_POSITION_EMBEDDING_GROUP", "position-embedding"},
    LabelSource{"_TP", "tp", "device_group"},
    LabelSource{"_TP", "tp-cpu", "cpu_group"},
    LabelSource{"_PP", "pp", "device_group"},
    LabelSource{"_PP", "pp-cpu", "cpu_group"},
    LabelSource{"_DP", "dp", "device_group"},
    LabelSource{"_DP", "dp-cpu", "cpu_group"},
    LabelSource{"_EP", "ep", "device_group"},
    LabelSource{"_EP", "ep-cpu", "cpu_group"},
};

// Returns the items of a list or dict, else the object itself.
std::vector<Addr> objects_in(PythonMemory& memory, Addr object) {
  const Layout& layout = memory.layout();
  std::vector<Addr> objects;
  if (cpython::is_instance(memory, object, TypeFlag::kDict)) {
    for (const auto& item : cpython::read_dict(memory, object, kMaxInOneVariable)) {
      objects.push_back(item.value);
    }
  } else if (cpython::is_instance(memory, object, TypeFlag::kList)) {
    const auto size = memory.value<std::uint64_t>(object + layout.object.size).value_or(0);
    const Addr items = memory.pointer_or_null(object + layout.object.list_items);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size, kMaxInOneVariable); ++i) {
      objects.push_back(memory.pointer_or_null(items + i * sizeof(std::uint64_t)));
    }
  } else {
    objects.push_back(object);
  }
  return objects;
}

void add_labels(PythonMemory& memory, const NameTable& variables, std::vector<GroupLabel>& labels) {
  for (const LabelSource& source : kSources) {
    const Addr value = variables.find(source.variable);
    if (value == Addr{}) {
      continue;
    }
    for (Addr object : objects_in(memory, value)) {
      if (!source.member.empty()) {
        object = cpython::read_attribute(memory, object, source.member);
      }
      labels.push_back({object, std::string(source.label)});
    }
  }
}

// Returns the bracketed text after "name="; "" if there is none.
std::string_view bracketed(std::string_view text, std::string_view name) {
  const auto at = text.find(" " + std::string(name) + "=");
  if (at == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(at + name.size() + 2);
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' || text[i] == '[' ? 1 : 0;
    depth -= text[i] == ')' || text[i] == ']' ? 1 : 0;
    if (depth == 0) {
      return i > 0 ? text.substr(0, i + 1) : std::string_view();
    }
  }
  return {};
}

// Returns "tp" for "'tp'"; "" if it is not a plain text in quotes.
std::string unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return quoted ? std::string(text.substr(1, text.size() - 2)) : std::string();
}

// Returns the names of groups in "['3', '5']", or in "[('ptd:3', [0, 1], '3')]" up to torch 2.7.
std::vector<std::string> group_names(std::string_view text) {
  std::vector<std::string> names;
  std::vector<std::string_view> values;
  if (!sequence_size(text, values)) {
    return names;
  }
  for (const std::string_view value : values) {
    std::vector<std::string_view> parts;
    if (value.starts_with('(') && sequence_size(value, parts) && !parts.empty()) {
      names.push_back(unquoted(parts.back()));
    } else {
      names.push_back(unquoted(value));
    }
  }
  return names;
}

}  // namespace

std::span<const LabelSource> label_sources() {
  return kSources;
}

std::vector<GroupLabel> read_group_labels(PythonMemory& memory, const NameTable& modules) {
  std::vector<GroupLabel> labels;
  for (const std::string_view name : kModules) {
    if (const Addr module = modules.find(name); module != Addr{}) {
      add_labels(memory, NameTable::of_module(memory, module), labels);
    }
  }
  return labels;
}

std::vector<std::pair<std::string, std::string>> mesh_labels(std::string_view mesh) {
  std::vector<std::pair<std::string, std::string>> labels;
  std::string_view dimensions = bracketed(mesh, "_mesh_dim_names");
  dimensions = dimensions.empty() ? bracketed(mesh, "mesh_dim_names") : dimensions;
  std::string_view groups = bracketed(mesh, "_dim_group_names");
  groups = groups.empty() ? bracketed(mesh, "_dim_group_infos") : groups;
  std::vector<std::string_view> names;
  if (!sequence_size(dimensions, names)) {
    return labels;
  }
  const std::vector<std::string> of_groups = group_names(groups);
  for (std::size_t i = 0; i < std::min(names.size(), of_groups.size()); ++i) {
    std::string name = unquoted(names[i]);
    if (!name.empty() && !of_groups[i].empty()) {
      labels.emplace_back(of_groups[i], std::move(name));
    }
  }
  return labels;
}

}  // namespace oddrank::collectives
