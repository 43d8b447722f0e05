// What NVIDIA's driver means by the number of an error of a GPU (Xid). One number may have several
// reasons: this is where to look first, and no proof. Source: NVIDIA, "Xid Errors"
// (docs.nvidia.com, deploy/xid-errors), with its catalog for Ampere to Blackwell; the numbers mean
// the same in all versions of the driver.
#pragma once

#include <cstdint>
#include <string_view>

namespace oddrank::snapshot {

// In the order in which they tell of a GPU that stands.
enum class XidFault : std::uint8_t {
  kProgram = 0,  // usually of the program that used the GPU, or the end of an earlier error
  kUnknown,
  kDevice,  // of the GPU, its memory, or a link of it
};

struct XidMeaning {
  XidFault fault = XidFault::kUnknown;
  std::string_view words;  // "the GPU has fallen off the bus"; "": of other numbers
};

XidMeaning meaning_of_xid(std::int32_t xid);

}  // namespace oddrank::snapshot
