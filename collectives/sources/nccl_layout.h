// Where NCCL keeps the members of a communicator (struct ncclComm): offsets as data, a row for each
// version, made from the debug information of NVIDIA's libraries by scripts/nccl_offsets.
#pragma once

#include <cstdint>
#include <string_view>

namespace oddrank::collectives {

// Octets from the start of the struct, for x86-64.
struct NcclLayout {
  int version = 0;  // NCCL_VERSION_CODE: 22809 is 2.28.9

  // Of struct ncclComm. Its first member is the first magic number, the last one is the other.
  std::uint32_t peer_info = 0;        // pointer to an array of struct ncclPeerInfo
  std::uint32_t peer_info_valid = 0;  // 0: this version does not say
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

  // Of struct ncclPeerInfo.
  std::uint32_t host_hash = 0;
  std::uint32_t pid_hash = 0;
};

// 22809 of "2.28.9"; 0 if that is no plain version ("2.29.0rc1").
int nccl_version_code(std::string_view version);

// nullptr: not known; nothing can be read then.
const NcclLayout* nccl_layout(int version);

}  // namespace oddrank::collectives
