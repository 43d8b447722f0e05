// Converts frames into rows of a capture: module and offset instead of addresses.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "snapshot/frame.h"
#include "snapshot/tables.h"
#include "unwind/native_unwind.h"

namespace oddrank::stacks {

// All references must outlive the object.
class FrameConverter {
 public:
  // `evaluation`: the address ranges of CPython's evaluation loop; empty if there is none.
  FrameConverter(elf::ModuleMap& modules,
                 snapshot::Tables& tables,
                 std::vector<elf::ElfRange> evaluation)
      : modules_(modules), tables_(tables), evaluation_(std::move(evaluation)) {}

  std::vector<snapshot::Frame> native(const unwind::NativeStack& stack);
  std::vector<snapshot::Frame> python(const std::vector<cpython::PythonFrame>& frames);

 private:
  struct Known {
    snapshot::StringId file{};
    snapshot::StringId build_id{};
    std::uint64_t load_bias = 0;
  };
  const Known& known(const elf::Module& module);
  bool is_evaluation(std::uint64_t address) const;

  elf::ModuleMap& modules_;
  snapshot::Tables& tables_;
  std::vector<elf::ElfRange> evaluation_;
  std::unordered_map<const elf::Module*, Known> known_;
};

}  // namespace oddrank::stacks
