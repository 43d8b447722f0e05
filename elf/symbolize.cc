#include "elf/symbolize.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "elf/elf_image.h"
#include "elf/native_addresses.h"
#include "elf/symbol_name.h"
#include "snapshot/carrier.h"

namespace oddrank::elf {
namespace {

using snapshot::Frame;
using snapshot::Stack;
using snapshot::StackId;
using snapshot::StringId;

bool wants_name(const Frame& frame) {
  return frame.function == StringId{};
}

bool is_complete(const AddressNames& names) {
  return std::all_of(names.begin(), names.end(),
                     [](const auto& entry) { return !entry.second.empty(); });
}

// Looks up the addresses that have no name yet. `beside`: what else to look up in the file.
void add_names(Result<UniqueFd> fd,
               AddressNames& names,
               std::string_view path = {},
               const SearchBeside& beside = {}) {
  if (!fd) {
    return;
  }
  const auto image = ElfImage::open(std::move(*fd));
  if (!image) {
    return;
  }
  auto search = beside.wanted ? beside.wanted(path, *image) : std::nullopt;
  std::vector<std::uint64_t> addresses;
  for (const auto& [address, name] : names) {
    if (name.empty()) {
      addresses.push_back(address);
    }
  }
  const auto found = image->names_of(addresses, search ? &*search : nullptr);
  if (search) {
    beside.take(*image, *search);
  }
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    names[addresses[i]] = plain_symbol(found[i]);
  }
}

// Returns a name of each of the module's addresses; "" where none was found.
AddressNames names_in(const snapshot::Tables& tables,
                      const ModuleKey& key,
                      const AskedModule& module,
                      const ModuleFiles& files,
                      const SearchBeside& beside) {
  AddressNames names;
  for (const std::uint64_t address : module.addresses) {
    names.emplace(address, "");
  }
  auto file = open_believed(tables, key, module, files.module);
  const bool has_file = file.has_value();
  const auto path = module.holders.empty() ? StringId{} : module.holders.begin()->second.second;
  add_names(std::move(file), names, tables.text(path), beside);
  if (!is_complete(names)) {
    add_names(open_debug_of(tables, key, module, files), names);
  }
  if (!has_file && !is_complete(names)) {
    add_names(open_believed(tables, key, module, files.memory), names);
  }
  return names;
}

class Renamer {
 public:
  Renamer(snapshot::Capture& capture, const std::map<ModuleKey, AddressNames>& names)
      : capture_(capture), names_(names) {}

  void run();

 private:
  StackId renamed(StackId id);

  snapshot::Capture& capture_;
  const std::map<ModuleKey, AddressNames>& names_;
  std::map<StackId, StackId> renamed_;
};

StackId Renamer::renamed(StackId id) {
  auto& tables = capture_.tables;
  if (!tables.stacks().contains(id)) {
    return id;
  }
  const auto [known, fresh] = renamed_.emplace(id, id);
  if (!fresh) {
    return known->second;
  }
  Stack stack = tables.stack(id);
  const Stack old = stack;
  for_each_native(tables, old, [&](std::size_t i, const Frame& frame, std::uint64_t address) {
    const auto module = names_.find(key_of(frame));
    if (!wants_name(frame) || module == names_.end()) {
      return;
    }
    const auto name = module->second.find(address);
    if (name != module->second.end() && !name->second.empty()) {
      Frame named = frame;
      named.function = tables.string(name->second);
      stack.frames[i] = tables.frame(named);
    }
  });
  known->second = tables.stack(stack);
  return known->second;
}

// Rows of tables never change. So the named rows are added, all references are changed to them, and
// rows still in use move into new tables.
void Renamer::run() {
  for (auto& process : capture_.processes) {
    for (auto& thread : process.threads) {
      for (auto& sample : thread.samples.stored()) {
        sample.stack = renamed(sample.stack);
      }
    }
  }
  snapshot::Tables fresh;
  snapshot::Carrier carrier(capture_.tables, fresh);
  snapshot::CaptureRows& rows = capture_;
  rows = carrier.row(std::move(rows));
  capture_.tables = std::move(fresh);
}

}  // namespace

void find_names(const snapshot::Capture& capture,
                const ModuleFiles& files,
                const TakeNames& take,
                const SearchBeside& beside) {
  for (const auto& [key, module] : ask_modules(capture, wants_name)) {
    AddressNames names = names_in(capture.tables, key, module, files, beside);
    std::erase_if(names, [](const auto& entry) { return entry.second.empty(); });
    take(key, names);
  }
}

void give_names(snapshot::Capture& capture, const std::map<ModuleKey, AddressNames>& names) {
  Renamer(capture, names).run();
}

}  // namespace oddrank::elf
