#include "collectives/torch_groups.h"

#include <algorithm>
#include <unordered_map>

#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using cpython::DictItem;
using cpython::PythonMemory;
using cpython::TypeFlag;

constexpr std::string_view kModule = "torch.distributed.distributed_c10d";
constexpr std::string_view kVersionModule = "torch.version";
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxInitMethod = 512;

class TableReader {
 public:
  TableReader(PythonMemory& memory, NameTable names) : memory_(memory), names_(names) {}
  TorchTables read();

 private:
  Addr global(std::string_view name) { return names_.find(name); }
  std::vector<DictItem> table(std::string_view name);
  std::unordered_map<std::uint64_t, Addr> by_key(std::string_view name);
  // Returns the default group; null if this torch has no `_world`, or it is not initialised.
  Addr default_group();
  std::string text_of(Addr object, std::size_t limit = kMaxName);
  // Returns the item; null if the object is not a tuple, or has no such item.
  Addr of_tuple(Addr tuple, std::uint32_t index);
  // Reads {global rank: rank within the group}; returns the global ranks in the order of the
  // latter. Empty unless every rank within the group occurs once.
  std::vector<std::int32_t> members_of(Addr dict);
  // Prefetches all of them in one system call.
  void announce_numbers(const std::vector<DictItem>& items);

  PythonMemory& memory_;
  NameTable names_;
};

TorchTables TableReader::read() {
  TorchTables tables;
  tables.isend = global("isend");
  tables.irecv = global("irecv");
  auto backends = table("_pg_map");
  tables.cut = backends.size() > kMaxGroups;
  backends.resize(std::min(backends.size(), kMaxGroups));
  auto group_names = by_key("_pg_names");
  auto ranks = by_key("_pg_group_ranks");
  const Addr known_default = default_group();
  tables.init_method = text_of(global("_default_pg_init_method"), kMaxInitMethod);
  for (const DictItem& item : backends) {
    TorchGroup group;
    group.object = item.key;
    group.backend = text_of(of_tuple(item.value, 0));
    group.store = of_tuple(item.value, 1);
    group.name = text_of(group_names[value_of(item.key)]);
    group.is_default = known_default == Addr{} ? tables.groups.empty() : item.key == known_default;
    if (!group.is_default) {
      group.members = members_of(ranks[value_of(item.key)]);
    }
    tables.groups.push_back(std::move(group));
  }
  return tables;
}

std::vector<DictItem> TableReader::table(std::string_view name) {
  return cpython::read_dict(memory_, global(name), kMaxGroups + 1);
}

std::unordered_map<std::uint64_t, Addr> TableReader::by_key(std::string_view name) {
  std::unordered_map<std::uint64_t, Addr> values;
  for (const DictItem& item : table(name)) {
    values.emplace(value_of(item.key), item.value);
  }
  return values;
}

Addr TableReader::default_group() {
  const Addr world = global("_world");
  const Addr group =
      world == Addr{} ? Addr{} : cpython::read_attribute(memory_, world, "_default_pg");
  return group != Addr{} && cpython::type_name(memory_, group) == "NoneType" ? Addr{} : group;
}

std::string TableReader::text_of(Addr object, std::size_t limit) {
  const auto text = object == Addr{} ? std::nullopt : cpython::read_string(memory_, object, limit);
  return text && !text->cut ? text->utf8 : std::string();
}

Addr TableReader::of_tuple(Addr tuple, std::uint32_t index) {
  if (!cpython::is_instance(memory_, tuple, TypeFlag::kTuple) ||
      memory_.value<std::int64_t>(tuple + memory_.layout().object.size).value_or(0) <= index) {
    return {};
  }
  return memory_.pointer_or_null(tuple + memory_.layout().object.tuple_items +
                                 std::uint64_t{8} * index);
}

std::vector<std::int32_t> TableReader::members_of(Addr dict) {
  const auto items = cpython::read_dict(memory_, dict, snapshot::kMaxRanks + 1);
  if (items.size() > snapshot::kMaxRanks) {
    return {};
  }
  announce_numbers(items);
  std::vector<std::int32_t> members(items.size(), -1);
  for (const DictItem& item : items) {
    const auto global = cpython::read_int(memory_, item.key);
    const auto within = cpython::read_int(memory_, item.value);
    if (!global || !within || *global < 0 || *global > INT32_MAX || *within < 0 ||
        static_cast<std::size_t>(*within) >= members.size() ||
        members[static_cast<std::size_t>(*within)] >= 0) {
      return {};
    }
    members[static_cast<std::size_t>(*within)] = static_cast<std::int32_t>(*global);
  }
  return members;
}

void TableReader::announce_numbers(const std::vector<DictItem>& items) {
  std::vector<PythonMemory::Range> ranges;
  ranges.reserve(items.size() * 2);
  for (const DictItem& item : items) {
    ranges.push_back({item.key, memory_.layout().object.int_digits + 8});
    ranges.push_back({item.value, memory_.layout().object.int_digits + 8});
  }
  memory_.prefetch(ranges);
}

}  // namespace

std::optional<TorchTables> read_torch_tables(PythonMemory& memory, const NameTable& modules) {
  const Addr module = modules.find(kModule);
  if (module == Addr{}) {
    return std::nullopt;
  }
  NameTable names = NameTable::of_module(memory, module);
  if (names.empty()) {
    return std::nullopt;
  }
  TorchTables tables = TableReader(memory, names).read();
  if (const Addr about = modules.find(kVersionModule); about != Addr{}) {
    const Addr text = NameTable::of_module(memory, about).find("__version__");
    const auto version =
        text == Addr{} ? std::nullopt : cpython::read_string(memory, text, kMaxName);
    tables.version = version && !version->cut ? version->utf8 : std::string();
  }
  return tables;
}

}  // namespace oddrank::collectives
