// The memory layout of NCCL's communicators (struct ncclComm), of its proxies (struct
// ncclProxyArgs), and of the frame of its bootstrap root: offsets as data, a row for each version,
// made from the debug information of NVIDIA's libraries by scripts/nccl_offsets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oddrank::collectives {

// At both ends of a struct ncclComm (NCCL_MAGIC).
inline constexpr std::uint64_t kNcclMagic = 0x0280028002800280;

// Bytes from the start of the struct, for x86-64.
struct NcclLayout {
  int version = 0;  // NCCL_VERSION_CODE: 22809 is 2.28.9

  // Members of struct ncclComm. Its first and last members are the magic numbers.
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

struct NcclProxyLayout {
  int version = 0;

  std::uint32_t proxy_state = 0;  // of struct ncclComm: pointer to its struct ncclProxyState

  // Members of struct ncclProxyState. Split communicators share one with their parent; its ranks
  // are the parent's.
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t net = 0;  // pointer to ncclNet_t, which begins with a pointer to its name
  std::uint32_t peer_addresses = 0;  // pointer to `ranks` addresses: where their proxies listen
  std::uint32_t active = 0;          // pointer to the first struct ncclProxyArgs

  // Members of struct ncclProxyArgs, which begins with an array of struct ncclProxySubArgs.
  std::uint32_t sub_count = 0;
  std::uint32_t protocol = 0;
  std::uint32_t state = 0;
  std::uint32_t next = 0;  // of another connection

  // Members of struct ncclProxySubArgs. Steps count from `base`.
  std::uint32_t connection = 0;
  std::uint32_t channel = 0;
  std::uint32_t steps = 0;
  std::uint32_t base = 0;
  std::uint32_t posted = 0;
  std::uint32_t received = 0;
  std::uint32_t transmitted = 0;
  std::uint32_t done = 0;

  // Members of struct ncclProxyConnection.
  std::uint32_t sends = 0;
  std::uint32_t transport = 0;
  std::uint32_t resources = 0;  // pointer to struct sendNetResources or recvNetResources

  // Members of sendNetResources and recvNetResources: the rank that the proxy works for, the rank
  // at the other end, the number of the network's device, the number of the connection between the
  // two ranks.
  std::uint32_t send_rank = 0;
  std::uint32_t send_peer = 0;
  std::uint32_t send_device = 0;
  std::uint32_t send_index = 0;
  std::uint32_t recv_rank = 0;
  std::uint32_t recv_peer = 0;
  std::uint32_t recv_device = 0;
  std::uint32_t recv_index = 0;

  // Members for CollNet. struct ncclComm:
  std::uint32_t collnet_shared = 0;  // collNetSharedRes: pointer; of a split one, its parent's
  std::uint32_t heads = 0;           // pointer to the ranks (32 bits) that are heads on this host
  std::uint32_t head_count = 0;
  std::uint32_t nodes = 0;
  std::uint32_t collnet = 0;             // of struct ncclProxyState: as `net`
  std::uint32_t connection_collnet = 0;  // of struct ncclProxyConnection: as `collnet_shared`
  // sendResources and recvResources of coll_net.cc: the number of the network's device, and which
  // host this is.
  std::uint32_t collnet_send_device = 0;
  std::uint32_t collnet_send_head = 0;
  std::uint32_t collnet_recv_device = 0;
  std::uint32_t collnet_recv_head = 0;

  // Members of the devices of two networks (struct ncclIbMergedDev, struct ncclNetSocketDev).
  std::uint32_t ib_name = 0;
  std::uint32_t socket_name = 0;

  std::uint32_t sub_size = 0;
  std::uint32_t ib_size = 0;
  std::uint32_t socket_size = 0;
};

// The frame of the function bootstrapRoot on x86-64, from its stack pointer while it calls
// ncclSocketAccept.
struct NcclRootLayout {
  int version = 0;

  std::uint32_t ranks = 0;  // nranks
  std::int32_t came = -1;   // c; -1: it is in a register
  std::uint32_t infos = 0;  // rankInfo: pointer to what each rank tells the one before it
  // rankAddressesRoot: pointer to where each rank waits for its answer
  std::uint32_t addresses = 0;
  std::uint32_t last = 0;  // struct extInfo: the last message; begins with rank and nranks

  // Members of struct extInfo.
  std::uint32_t part = 0;    // number of this root
  std::uint32_t parts = 0;   // how many roots there are
  std::uint32_t offset = 0;  // ranks that were members before; 0: this version has no such field
};

// Returns 22809 for "2.28.9"; 0 if that is not a plain version ("2.29.0rc1").
int nccl_version_code(std::string_view version);
// Returns "2.28.9" for 22809.
std::string nccl_version_text(int code);

// Return the layouts of that version; nullptr if unknown: then nothing can be read.
const NcclLayout* nccl_layout(int version);
const NcclProxyLayout* nccl_proxy_layout(int version);
const NcclRootLayout* nccl_root_layout(int version);

// The oldest and the newest version with a layout.
struct NcclRange {
  int first = 0;
  int last = 0;
};
// Returns them, as codes.
NcclRange nccl_range();

}  // namespace oddrank::collectives
