// How the proxies of NCCL are read, for its two sorts of networks. Private to collectives/nccl.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "attach/target.h"

namespace oddrank::collectives {

inline constexpr std::int32_t kMaxProxyChannels = 64;  // MAXCHANNELS
inline constexpr std::int32_t kMaxProxyRanks = 1 << 24;
inline constexpr std::int32_t kMaxNetDevices = 256;
inline constexpr std::size_t kMaxProxyRows = 256;
inline constexpr std::uint64_t kMaxProxySteps = std::uint64_t{1} << 60;

// The members of a struct ncclProxySubArgs.
struct RawSub {
  std::uint64_t connection = 0;
  std::int32_t channel = -1;
  std::int32_t steps = 0;
  std::uint64_t base = 0;
  std::uint64_t posted = 0;
  std::uint64_t received = 0;
  std::uint64_t transmitted = 0;
  std::uint64_t done = 0;
};

// The members of a struct ncclProxyConnection.
struct RawConnection {
  std::int32_t sends = -1;
  std::int32_t transport = -1;
  std::uint64_t resources = 0;

  bool valid() const { return (sends == 0 || sends == 1) && resources != 0; }
};

// Returns whether all of it could be read.
template <std::size_t N>
bool read_all(const attach::Target& target, std::array<attach::ReadRequest, N> requests) {
  target.read_many(requests);
  return attach::all_whole(requests);
}

// Returns the text at an address; "" if it is no name.
std::string name_at(const attach::Target& target, attach::Addr address);
// Returns the name of a network: `net` is the address of its ncclNet_t or ncclCollNet_t.
std::string network_name(const attach::Target& target, std::uint64_t net);

// Adds the channels to the row that differs in nothing else; without such a row adds this one.
template <typename Rows, typename Row>
void add_channels(Rows& rows, const Row& row);

// Returns whether the rows differ in nothing but their channels.
template <typename Row>
bool has_same_numbers(Row one, const Row& other) {
  one.channels = other.channels;
  one.still = other.still;
  return one == other;
}

template <typename Rows, typename Row>
void add_channels(Rows& rows, const Row& row) {
  for (auto& other : rows) {
    if (has_same_numbers(other, row)) {
      other.channels |= row.channels;
      other.still |= row.still;
      return;
    }
  }
  if (rows.size() < kMaxProxyRows) {
    rows.push_back(row);
  }
}

}  // namespace oddrank::collectives
