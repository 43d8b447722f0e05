#include "collectives/mpi/mpich.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

namespace oddrank::collectives {
namespace {

constexpr std::uint32_t kWorldHandle = 0x44000000;
constexpr std::uint32_t kSelfHandle = 0x44000001;
constexpr std::uint32_t kKindMask = 0x3c000000;
constexpr std::uint32_t kCommunicatorKind = 0x04000000;
constexpr std::uint32_t kPlaceMask = 0xc0000000;
constexpr std::int32_t kMaxReferences = 1 << 20;
constexpr std::int32_t kOneGroup = 0;  // kind of a communicator that is not between two groups

// The C library's, and its owner and depth.
constexpr std::size_t kMutexBytes = sizeof(pthread_mutex_t) + 16;

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

}  // namespace

std::optional<MpiCommunicator> read_mpich_communicator(cpython::RemoteReader& reader, Addr object) {
  if (value_of(object) % alignof(std::uint64_t) != 0) {
    return std::nullopt;
  }
  const auto handle = reader.value<std::uint32_t>(object);
  if (!handle || (*handle & kPlaceMask) == 0 || (*handle & kKindMask) != kCommunicatorKind) {
    return std::nullopt;
  }
  const auto head = reader.value<MpichCommunicator>(object);
  const bool fits = head && head->references > 0 && head->references <= kMaxReferences &&
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
  return found;
}

}  // namespace oddrank::collectives
