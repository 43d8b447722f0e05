// The memory layout of NCCL's communicators (struct ncclComm): offsets as data, a row for each
// version, made from the debug information of NVIDIA's libraries by scripts/nccl_offsets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oddrank::collectives {

// Bytes from the start of the struct, for x86-64.
struct NcclLayout {
  int version = 0;  // NCCL_VERSION_CODE: 22809 is 2.28.9

  // Members of struct ncclComm. Its first member is the first magic number, its last one the other.
  std::uint32_t peer_info = 0;        // pointer to an array of struct ncclPeerInfo
  std::uint32_t peer_info_valid = 0;  // 0: this version has no such field
  std::uint32_t hash = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t device = 0;
  std::uint32_t async_result = 0;
  std::uint32_t abort_flag = 0;  // pointer to 32 bits
  std::uint32_t destroy_flag = 0;
  std::uint32_t init_state = 0;
  std::uint32_t finalize_called = 0;
  std::uint32_t counts = 0;  // seqNumber: 64 bits for each operation that RAS counts
  std::uint32_t end_magic = 0;

  // Members of struct ncclPeerInfo.
  std::uint32_t host_hash = 0;
  std::uint32_t pid_hash = 0;
};

// Returns 22809 for "2.28.9"; 0 if that is not a plain version ("2.29.0rc1").
int nccl_version_code(std::string_view version);
// Returns "2.28.9" for 22809.
std::string nccl_version_text(int code);

// Returns the layout of that version; nullptr if it is unknown, so that nothing can be read.
const NcclLayout* nccl_layout(int version);

// The oldest and the newest version with a layout.
struct NcclRange {
  int first = 0;
  int last = 0;
};
NcclRange nccl_range();

}  // namespace oddrank::collectives
