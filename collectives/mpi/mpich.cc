#include "collectives/mpi/mpich.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/machine.h"

namespace oddrank::collectives {
namespace {

constexpr std::uint32_t kWorldHandle = 0x44000000;
constexpr std::uint32_t kSelfHandle = 0x44000001;
constexpr std::uint32_t kKindMask = 0x3c000000;
constexpr std::uint32_t kCommunicatorKind = 0x04000000;
constexpr std::uint32_t kWindowKind = 0x20000000;
constexpr std::uint32_t kPlaceMask = 0xc0000000;
constexpr std::int32_t kMaxReferences = 1 << 20;
// A communicator begins with a mutex of the C library; offsets behind it were measured on x86-64.
// Communicators of the library's own, for the processes of a node and for one of each node, have
// larger kinds.
constexpr std::uint64_t kHierarchyAt = 264 + kMutexGrowth;
constexpr std::int32_t kOfProgram = 1;
constexpr std::uint64_t kNextTagAt = 328 + kMutexGrowth;  // of the next nonblocking collective
constexpr std::int32_t kOneGroup = 0;  // kind of a communicator that is not between two groups

// The C library's, and its owner and depth.
constexpr std::size_t kMutexBytes = 56 + kMutexGrowth;

// The head of a communicator, 4.0.
struct MpichCommunicator {
  std::uint32_t handle = 0;
  std::int32_t references = 0;
  std::array<std::byte, kMutexBytes> mutex{};
  std::uint16_t context = 0;
  std::uint16_t receive_context = 0;
  std::int32_t remote_size = 0;
  std::int32_t rank = -1;
  std::int32_t padding = 0;
  std::uint64_t attributes = 0;
  std::int32_t local_size = 0;
  std::int32_t more_padding = 0;
  std::array<std::uint64_t, 2> groups{};
  std::int32_t kind = -1;
  std::array<char, 128> name{};
};
static_assert(offsetof(MpichCommunicator, name) == 60 + kMutexBytes);

// How ranks become processes: MPIDI_rank_map_t, 4.0. The first "address table" has the ranks of the
// world, in their order.
constexpr std::uint64_t kRankMapAt = 784 + kMutexGrowth;
struct RankMap {
  std::uint32_t mode = 0;
  std::uint32_t table = 0;
  std::int32_t size = 0;
  std::int32_t offset = 0;
  std::int32_t stride = 0;
  std::int32_t block = 0;
  std::uint64_t list_owner = 0;
  std::uint64_t list = 0;
  std::uint32_t local_mode = 0;  // of a communicator between two groups
};
static_assert(offsetof(RankMap, local_mode) == 40);
// Each mode has a second number if the processes are of one job.
constexpr std::uint32_t kDirect = 0;
constexpr std::uint32_t kOffset = 2;
constexpr std::uint32_t kStride = 4;
constexpr std::uint32_t kBlocks = 6;
constexpr std::uint32_t kList = 8;
constexpr std::uint32_t kNoMap = 11;

// Returns whether an object of that kind may be there: each begins with its handle.
bool may_be_of_kind(cpython::RemoteReader& reader, Addr object, std::uint32_t kind) {
  if (value_of(object) % alignof(std::uint64_t) != 0) {
    return false;
  }
  const auto handle = reader.value<std::uint32_t>(object);
  return handle && (*handle & kPlaceMask) != 0 && (*handle & kKindMask) == kind;
}

std::int32_t world_rank(const RankMap& map, std::int32_t rank) {
  switch (map.mode & ~1U) {
    case kDirect:
      return rank;
    case kOffset:
      return rank + map.offset;
    case kStride:
    case kBlocks: {
      const std::int64_t at = std::int64_t{rank / map.block} * map.stride + rank % map.block;
      const std::int64_t found = at + map.offset;
      return found >= 0 && found < kMaxMpiProcesses ? static_cast<std::int32_t>(found) : -1;
    }
    default:
      return -1;
  }
}

// Returns nothing if the map does not fit.
std::vector<std::int32_t> mapped_ranks(cpython::RemoteReader& reader,
                                       Addr object,
                                       std::int32_t size) {
  const auto map = reader.value<RankMap>(object + kRankMapAt);
  const bool fits = map && map->table == 0 && map->size == size && map->local_mode == kNoMap &&
                    map->mode <= kList + 1 &&
                    ((map->mode & ~1U) < kStride || (map->mode & ~1U) == kList || map->block > 0);
  if (!fits) {
    return {};
  }
  std::vector<std::int32_t> ranks;
  for (std::int32_t rank = 0; rank < size; ++rank) {
    const Addr item = Addr{map->list} + static_cast<std::uint64_t>(rank) * sizeof(std::int32_t);
    const auto listed = (map->mode & ~1U) == kList ? reader.value<std::int32_t>(item)
                                                   : std::optional(world_rank(*map, rank));
    if (!listed || *listed < 0 || *listed >= kMaxMpiProcesses) {
      return {};
    }
    ranks.push_back(*listed);
  }
  auto sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return distinct ? ranks : std::vector<std::int32_t>();
}

constexpr std::uint32_t kRequestKind = 0x2c000000;
// The head of a request, 4.0.
struct RequestHead {
  std::uint32_t handle = 0;
  std::int32_t references = 0;
  std::uint32_t kind = 0;
  std::uint32_t padding = 0;
  std::uint64_t counter_at = 0;
  std::int32_t counter = 0;  // of what is to be done yet
  std::int32_t more_padding = 0;
  std::uint64_t unused = 0;
  std::uint64_t communicator = 0;
};
constexpr std::uint64_t kCounterAt = 24;
static_assert(offsetof(RequestHead, counter) == kCounterAt);
constexpr std::uint32_t kSendRequest = 1;
constexpr std::uint32_t kReceiveRequest = 2;
constexpr std::uint32_t kCollectiveRequest = 10;
constexpr std::int32_t kMaxParts = 1 << 16;  // of a request

// What libfabric's tcp provider keeps of a posted receive; a word of the request leads to its end.
constexpr std::uint64_t kFabricEntryAt = 176;
constexpr std::uint64_t kFabricEntryBytes = 0x140;
constexpr std::uint64_t kEntryRequest = 64;
constexpr std::uint64_t kEntryTag = 240;
struct EntryTag {
  std::uint64_t bits = 0;  // context, rank of the sender, two bits of the protocol, tag
  std::uint64_t mask = 0;  // of the bits that must be equal
  std::uint64_t number = 0;
};
constexpr std::uint64_t kTagMask = 0x1fffffff;
constexpr std::uint64_t kSourceMask = 0xffff00000000;
constexpr std::uint64_t kContextMask = 0xffff000000000000;
constexpr std::uint32_t kOwnContexts = 7;
constexpr unsigned kSourceShift = 32;
constexpr unsigned kContextShift = 48;

void read_entry(cpython::RemoteReader& reader, Addr object, MpichRequest& request) {
  const auto end = reader.value<std::uint64_t>(object + kFabricEntryAt);
  if (!end || *end <= kFabricEntryBytes || *end % alignof(std::uint64_t) != 0) {
    return;
  }
  const Addr entry{*end - kFabricEntryBytes};
  const auto owner = reader.value<std::uint64_t>(entry + kEntryRequest);
  const auto tag = reader.value<EntryTag>(entry + kEntryTag);
  const bool fits = owner && tag && *owner == value_of(object) &&
                    (tag->mask & kContextMask) == kContextMask && tag->number < (1ULL << 62);
  if (!fits) {
    return;
  }
  const auto context = static_cast<std::uint32_t>(tag->bits >> kContextShift);
  // The last bits tell collectives and communicators of the library's own apart.
  request.of_collective = (context & kOwnContexts) != 0;
  request.context = static_cast<std::int32_t>(context & ~kOwnContexts);
  request.tag = static_cast<std::int32_t>(tag->bits & kTagMask);
  request.posted = static_cast<std::int64_t>(tag->number);
  if ((tag->mask & kSourceMask) == kSourceMask) {
    request.source = static_cast<std::int32_t>((tag->bits & kSourceMask) >> kSourceShift);
  }
}

// What a window knows of the part of one rank: MPIDIG_win_target_t, 4.0, which begins with three
// counts. The parts are in a hash table, whose nodes hold the address of their key.
struct WindowPart {
  std::array<std::int32_t, 3> open{};
  std::int32_t epoch = -1;
  std::uint32_t locked = 0;
  std::uint32_t assertions = 0;
  std::int32_t rank = -1;
  std::int32_t padding = 0;
  std::uint64_t table = 0;
  std::uint64_t before = 0;
  std::uint64_t next = 0;
  std::array<std::uint64_t, 2> in_bucket{};
  std::uint64_t key = 0;
  std::uint32_t key_bytes = 0;
};
constexpr std::uint64_t kPartRankAt = 24;
static_assert(offsetof(WindowPart, rank) == kPartRankAt);
constexpr std::uint32_t kNoCheck = 1024;  // MPI_MODE_NOCHECK: locked without asking
constexpr int kMaxWindowParts = 1024;     // that a process has talked to

std::optional<WindowPart> read_part(cpython::RemoteReader& reader, Addr at) {
  const auto part =
      value_of(at) % alignof(std::uint64_t) == 0 ? reader.value<WindowPart>(at) : std::nullopt;
  const bool fits = part && part->key == value_of(at) + kPartRankAt &&
                    part->key_bytes == sizeof(part->rank) && part->locked <= 1 && part->rank >= 0 &&
                    part->rank < kMaxMpiProcesses && part->table != 0;
  return fits ? part : std::nullopt;
}

// Adds the parts of the same table that are locked, in one direction from this one.
void add_locked(cpython::RemoteReader& reader,
                const WindowPart& from,
                std::uint64_t WindowPart::*direction,
                std::vector<std::int32_t>& had) {
  auto part = std::optional(from);
  for (int i = 0; i < kMaxWindowParts && (*part).*direction != 0; ++i) {
    part = read_part(reader, Addr{(*part).*direction});
    if (!part || part->table != from.table) {
      return;
    }
    if (part->locked == 1 && (part->assertions & kNoCheck) == 0) {
      had.push_back(part->rank);
    }
  }
}

}  // namespace

std::optional<MpiCommunicator> read_mpich_communicator(cpython::RemoteReader& reader, Addr object) {
  if (!may_be_of_kind(reader, object, kCommunicatorKind)) {
    return std::nullopt;
  }
  const auto head = reader.value<MpichCommunicator>(object);
  const auto hierarchy = reader.value<std::int32_t>(object + kHierarchyAt);
  const bool fits = head && hierarchy && *hierarchy >= 0 && *hierarchy <= kOfProgram &&
                    head->references > 0 && head->references <= kMaxReferences &&
                    head->kind == kOneGroup && head->local_size == head->remote_size &&
                    head->local_size > 0 && head->local_size <= kMaxMpiProcesses &&
                    head->rank >= 0 && head->rank < head->local_size &&
                    head->context == head->receive_context;
  if (!fits) {
    return std::nullopt;
  }
  const auto* const end = std::find(head->name.begin(), head->name.end(), '\0');
  const bool plain = end != head->name.end() && std::all_of(head->name.begin(), end, [](char c) {
                       return c >= ' ' && c < 127;
                     });
  if (!plain || head->handle == kSelfHandle) {
    return std::nullopt;
  }
  MpiCommunicator found;
  found.id = head->context;
  found.name = std::string(head->name.begin(), end);
  found.is_world = head->handle == kWorldHandle;
  found.rank = head->rank;
  found.size = head->local_size;
  found.nonblocking = reader.value<std::int32_t>(object + kNextTagAt).value_or(-1);
  if (!found.is_world) {
    found.members = mapped_ranks(reader, object, found.size);
  }
  return found;
}

bool is_mpich_window(cpython::RemoteReader& reader, Addr object) {
  // Behind the handle are the references. The first word of many objects is a pointer, whose halves
  // may look like these; the upper half of one into user space is larger.
  constexpr std::uint32_t kMaxOfWindow = 1 << 10;
  if (!may_be_of_kind(reader, object, kWindowKind)) {
    return false;
  }
  const auto references = reader.value<std::uint32_t>(object + sizeof(std::uint32_t));
  return references && *references > 0 && *references <= kMaxOfWindow;
}

std::optional<WindowLocks> read_mpich_locks(cpython::RemoteReader& reader, Addr record) {
  const auto wish = read_part(reader, record);
  if (!wish || wish->locked != 0) {
    return std::nullopt;
  }
  WindowLocks found;
  found.wanted = wish->rank;
  add_locked(reader, *wish, &WindowPart::before, found.had);
  add_locked(reader, *wish, &WindowPart::next, found.had);
  return found;
}

std::optional<MpichRequest> read_mpich_request(cpython::RemoteReader& reader, Addr object) {
  if (!may_be_of_kind(reader, object, kRequestKind)) {
    return std::nullopt;
  }
  const auto head = reader.value<RequestHead>(object);
  const bool open = head && head->references > 0 && head->references <= kMaxReferences &&
                    head->counter_at == value_of(object) + kCounterAt && head->counter > 0 &&
                    head->counter <= kMaxParts;
  if (!open) {
    return std::nullopt;
  }
  MpichRequest found;
  switch (head->kind) {
    case kSendRequest:
      found.kind = MpiRequestKind::kSend;
      break;
    case kReceiveRequest:
      read_entry(reader, object, found);
      break;
    case kCollectiveRequest:
      found.kind = MpiRequestKind::kCollective;
      found.communicator = Addr{head->communicator};
      break;
    default:
      return std::nullopt;
  }
  return found;
}

}  // namespace oddrank::collectives
