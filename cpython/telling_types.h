// PyTorch types whose instances in a frame's locals show the group of a collective, or the nodes
// that a launcher waits for. Such instances are printed with more than the name of their type
// (objects.h).
#pragma once

#include <array>
#include <string_view>

namespace oddrank::cpython {

struct TellingType {
  // Last part of the type's name; a trailing '*' matches any rest.
  std::string_view name;
  bool identity = false;  // "<ProcessGroup at 0x7f31c0>": the address identifies it
  // These attributes are printed, if it has them: "<P2POp peer=3 ...>".
  std::array<std::string_view, 4> attributes{};
  // Its attributes are telling instances, which are printed with their own attributes.
  bool outer = false;
};

// Up to torch 1.13 a group is an instance of its backend's type, such as ProcessGroupNCCL. The
// attributes with the names of a mesh's dimensions and groups were renamed in 2.8 and 2.2.
inline constexpr std::array kTellingTypes = {
    TellingType{"ProcessGroup*", true, {}},
    TellingType{"P2POp", false, {"op", "peer", "group"}},
    TellingType{"DeviceMesh",
                false,
                {"_mesh_dim_names", "mesh_dim_names", "_dim_group_names", "_dim_group_infos"}},
    // torchrun's launcher, torch 1.9 to 2.13: torch/distributed/elastic/rendezvous.
    TellingType{"StaticTCPRendezvous", false, {"rank", "world_size", "master_addr", "master_port"}},
    TellingType{"RendezvousSettings", false, {"run_id", "min_nodes", "max_nodes"}},
    TellingType{"_RendezvousState", false, {"participants", "round"}},
    TellingType{"_RendezvousContext", false, {"state", "settings"}, true},
};

// Finds the type by the last part of its name; nullptr if it is not one of these.
constexpr const TellingType* find_telling_type(std::string_view name) {
  for (const TellingType& type : kTellingTypes) {
    const bool open = type.name.ends_with('*');
    if (open ? name.starts_with(type.name.substr(0, type.name.size() - 1)) : name == type.name) {
      return &type;
    }
  }
  return nullptr;
}

}  // namespace oddrank::cpython
