#include "collectives/nccl/nccl_proxies.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include <arpa/inet.h>

#include "base/ascii.h"
#include "base/hex.h"
#include "collectives/nccl/nccl_collnet.h"
#include "collectives/nccl/nccl_layout.h"
#include "collectives/nccl/proxy_memory.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::all_whole;
using attach::ReadRequest;
using attach::request_of;
using attach::Target;
using snapshot::ProxyTransfer;
using snapshot::StringId;

constexpr std::int32_t kInProgress = 2;        // ncclProxyOpProgress
constexpr std::uint8_t kSimple = 2;            // NCCL_PROTO_SIMPLE
constexpr std::int32_t kNetTransport = 2;      // TRANSPORT_NET
constexpr std::int32_t kCollnetTransport = 3;  // TRANSPORT_COLLNET
constexpr std::int32_t kMaxSubs = 64;          // NCCL_PROXY_MAX_SUBS
constexpr std::size_t kMaxStates = 64;
constexpr std::size_t kMaxOps = 512;       // of one process
constexpr std::size_t kAddressBytes = 28;  // union ncclSocketAddress

// A struct ncclProxyState.
struct ProxyState {
  std::int32_t rank = -1;
  std::int32_t ranks = -1;
  std::uint64_t net = 0;
  std::uint64_t peer_addresses = 0;
  std::uint64_t active = 0;
};

// One end of a connection over the network.
struct ProxyEnd {
  bool known = false;
  bool sends = false;
  std::int32_t rank = -1;
  std::int32_t peer = -1;
  std::int32_t device = -1;
  std::int32_t index = -1;
};

class ProxyReader {
 public:
  ProxyReader(const Target& target,
              const NcclVariables& variables,
              const NcclProxyLayout& layout,
              const NcclLayout& communicators,
              snapshot::Tables& tables)
      : target_(target),
        variables_(variables),
        layout_(layout),
        tables_(tables),
        collnet_(target, variables, layout, communicators, tables) {}
  NcclProxies run();

 private:
  std::set<std::uint64_t> states() const;
  void add_state(Addr at);
  // Returns a text of the addresses at which the first and the last rank's proxies listen: they are
  // the same on all ranks, and in no other communicator.
  StringId group_of(const ProxyState& state);
  void add_op(Addr at, std::int32_t subs, Addr state, const ProxyTransfer& like);
  void add_sub(const RawSub& raw, const ProxyTransfer& like);
  const ProxyEnd& connection_at(std::uint64_t address);
  RawConnection raw_connection(Addr at) const;
  StringId device_name(StringId network, std::int32_t device);

  const Target& target_;
  const NcclVariables& variables_;
  const NcclProxyLayout& layout_;
  snapshot::Tables& tables_;
  std::map<std::uint64_t, ProxyEnd> connections_;
  std::map<std::pair<StringId, std::int32_t>, StringId> devices_;  // by network and number
  std::vector<ProxyTransfer> rows_;
  CollnetReader collnet_;
};

std::set<std::uint64_t> ProxyReader::states() const {
  std::set<std::uint64_t> found;
  std::uint64_t state = 0;
  if (variables_.last_proxy != Addr{} &&
      read_all(target_, std::array{request_of(variables_.last_proxy, state)})) {
    found.insert(state);
  }
  if (variables_.list != Addr{}) {
    const auto communicators = list_nccl_communicators(target_, variables_);
    for (const Addr at : communicators ? *communicators : std::vector<Addr>()) {
      std::uint64_t magic = 0;
      if (found.size() < kMaxStates &&
          read_all(target_, std::array{request_of(at, magic),
                                       request_of(at + layout_.proxy_state, state)}) &&
          magic == kNcclMagic) {
        found.insert(state);
      }
    }
  }
  found.erase(0);
  return found;
}

StringId ProxyReader::group_of(const ProxyState& state) {
  constexpr std::uint64_t kPrime = 0x100000001b3;  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  std::array<std::array<std::byte, kAddressBytes>, 2> addresses{};
  const Addr first{state.peer_addresses};
  if (!read_all(
          target_,
          std::array{request_of(first, addresses[0]),
                     request_of(first + kAddressBytes * static_cast<std::uint64_t>(state.ranks - 1),
                                addresses[1])})) {
    return {};
  }
  for (const auto& address : addresses) {
    const auto family =
        std::to_integer<unsigned>(address[0]) | (std::to_integer<unsigned>(address[1]) << 8U);
    // What is behind the address of a short family is not set.
    const std::size_t size = family == AF_INET ? sizeof(sockaddr_in) / 2 : kAddressBytes;
    for (std::size_t at = 0; at < size; ++at) {
      hash = (hash ^ std::to_integer<std::uint64_t>(address.at(at))) * kPrime;
    }
  }
  return tables_.string(hex_number(hash));
}

void ProxyReader::add_state(Addr at) {
  ProxyState state;
  if (!read_all(target_, std::array{request_of(at + layout_.rank, state.rank),
                                    request_of(at + layout_.ranks, state.ranks),
                                    request_of(at + layout_.net, state.net),
                                    request_of(at + layout_.peer_addresses, state.peer_addresses),
                                    request_of(at + layout_.active, state.active)}) ||
      state.ranks < 2 || state.ranks > kMaxProxyRanks || state.rank < 0 ||
      state.rank >= state.ranks || state.peer_addresses == 0) {
    return;
  }
  if (state.active == 0) {
    return;  // nothing is under way
  }
  ProxyTransfer like;  // what the rows of this communicator have in common
  like.size = state.ranks;
  like.group = group_of(state);
  like.network = tables_.string(network_name(target_, state.net));
  if (like.group == StringId{}) {
    return;
  }
  std::set<std::uint64_t> seen;
  for (std::uint64_t op = state.active; op != 0 && seen.size() < kMaxOps &&
                                        rows_.size() < kMaxProxyRows && seen.insert(op).second;) {
    const Addr here{op};
    std::int32_t subs = 0;
    std::int32_t progress = 0;
    std::uint8_t protocol = 0;
    if (!read_all(target_, std::array{request_of(here + layout_.sub_count, subs),
                                      request_of(here + layout_.state, progress),
                                      request_of(here + layout_.protocol, protocol),
                                      request_of(here + layout_.next, op)})) {
      return;
    }
    like.early = protocol != kSimple;
    if (progress == kInProgress && subs > 0 && subs <= kMaxSubs) {
      add_op(here, subs, at, like);
    }
  }
}

void ProxyReader::add_op(Addr at, std::int32_t subs, Addr state, const ProxyTransfer& like) {
  std::vector<RawSub> raw(static_cast<std::size_t>(subs));
  std::vector<ReadRequest> requests;
  for (std::size_t sub = 0; sub < raw.size(); ++sub) {
    const Addr here = at + sub * layout_.sub_size;
    RawSub& one = raw[sub];
    requests.insert(requests.end(), {request_of(here + layout_.connection, one.connection),
                                     request_of(here + layout_.channel, one.channel),
                                     request_of(here + layout_.steps, one.steps),
                                     request_of(here + layout_.base, one.base),
                                     request_of(here + layout_.posted, one.posted),
                                     request_of(here + layout_.received, one.received),
                                     request_of(here + layout_.transmitted, one.transmitted),
                                     request_of(here + layout_.done, one.done)});
  }
  target_.read_many(requests);
  if (!all_whole(requests)) {
    return;
  }
  // All parts of an operation have the same network.
  const RawConnection first = raw_connection(Addr{raw.front().connection});
  if (first.valid() && first.transport == kCollnetTransport) {
    snapshot::CollnetHead head;
    head.group = like.group;
    head.size = like.size;
    collnet_.add(std::move(raw), first, state, head);
    return;
  }
  for (const RawSub& one : raw) {
    add_sub(one, like);
  }
}

RawConnection ProxyReader::raw_connection(Addr at) const {
  RawConnection raw;
  return read_all(target_, std::array{request_of(at + layout_.sends, raw.sends),
                                      request_of(at + layout_.transport, raw.transport),
                                      request_of(at + layout_.resources, raw.resources)})
             ? raw
             : RawConnection();
}

void ProxyReader::add_sub(const RawSub& raw, const ProxyTransfer& like) {
  const ProxyEnd& connection = connection_at(raw.connection);
  if (!connection.known || raw.channel < 0 || raw.channel >= kMaxProxyChannels || raw.steps <= 0 ||
      connection.rank >= like.size || connection.peer >= like.size) {
    return;
  }
  const auto& [address, channel, steps, base, posted, received, transmitted, done] = raw;
  const std::uint64_t passed = connection.sends ? transmitted : received;
  if (base > kMaxProxySteps || posted > kMaxProxySteps || passed > posted || done > passed) {
    return;
  }
  ProxyTransfer row = like;
  row.rank = connection.rank;
  row.peer = connection.peer;
  row.sends = connection.sends;
  row.early = like.early && !connection.sends;
  row.index = connection.index;
  row.posted = static_cast<std::int64_t>(base + posted);
  row.passed = static_cast<std::int64_t>(base + passed);
  row.done = static_cast<std::int64_t>(base + done);
  row.end = static_cast<std::int64_t>(base) + steps;
  row.device = device_name(like.network, connection.device);
  row.channels = row.still = std::uint64_t{1} << static_cast<unsigned>(channel);
  add_channels(rows_, row);
}

const ProxyEnd& ProxyReader::connection_at(std::uint64_t address) {
  const auto [at, is_new] = connections_.try_emplace(address);
  ProxyEnd& found = at->second;
  if (!is_new || address == 0) {
    return found;
  }
  const RawConnection raw = raw_connection(Addr{address});
  if (!raw.valid() || raw.transport != kNetTransport) {
    return found;
  }
  found.sends = raw.sends == 1;
  const Addr end{raw.resources};
  found.known =
      read_all(
          target_,
          std::array{
              request_of(end + (found.sends ? layout_.send_rank : layout_.recv_rank), found.rank),
              request_of(end + (found.sends ? layout_.send_peer : layout_.recv_peer), found.peer),
              request_of(end + (found.sends ? layout_.send_device : layout_.recv_device),
                         found.device),
              request_of(end + (found.sends ? layout_.send_index : layout_.recv_index),
                         found.index)}) &&
      found.rank >= 0 && found.peer >= 0 && found.rank != found.peer;
  return found;
}

StringId ProxyReader::device_name(StringId network, std::int32_t device) {
  const auto [at, is_new] = devices_.try_emplace({network, device});
  if (!is_new || device < 0 || device >= kMaxNetDevices) {
    return at->second;
  }
  const std::string name(tables_.text(network));
  const auto number = static_cast<std::uint64_t>(device);
  std::string text;
  if (name == "IB" && variables_.ib_devices != Addr{}) {
    text = name_at(target_, variables_.ib_devices + number * layout_.ib_size + layout_.ib_name);
  } else if (name == "Socket" && variables_.socket_devices != Addr{}) {
    text = name_at(target_,
                   variables_.socket_devices + number * layout_.socket_size + layout_.socket_name);
  } else if (!name.empty()) {
    text = name + " " + std::to_string(device);
  }
  return at->second = tables_.string(text);
}

NcclProxies ProxyReader::run() {
  for (const std::uint64_t state : states()) {
    add_state(Addr{state});
  }
  std::sort(rows_.begin(), rows_.end(), [this](const ProxyTransfer& a, const ProxyTransfer& b) {
    const auto key = [this](const ProxyTransfer& row) {
      return std::tuple(tables_.text(row.group), row.rank, row.peer, row.sends, row.index,
                        row.channels);
    };
    return key(a) < key(b);
  });
  return {std::move(rows_), collnet_.run()};
}

template <typename Row>
void compare_rows(std::span<const Row> later, std::span<Row> earlier) {
  for (Row& row : earlier) {
    row.still = 0;
    for (const Row& other : later) {
      row.still |= has_same_numbers(other, row) ? other.channels & row.channels : 0;
    }
  }
}

}  // namespace

std::string name_at(const Target& target, Addr address) {
  constexpr std::size_t kMaxName = 64;
  std::array<char, kMaxName> bytes{};
  if (!target.read(address, std::as_writable_bytes(std::span(bytes)))) {
    return {};
  }
  const auto* const end = std::find_if_not(bytes.begin(), bytes.end(), is_printable_ascii);
  return end == bytes.end() || *end != '\0'
             ? std::string()
             : std::string(bytes.data(), static_cast<std::size_t>(end - bytes.begin()));
}

std::string network_name(const Target& target, std::uint64_t net) {
  std::uint64_t name = 0;
  return read_all(target, std::array{request_of(Addr{net}, name)}) ? name_at(target, Addr{name})
                                                                   : std::string();
}

Result<NcclProxies> read_nccl_proxies(const Target& target,
                                      const NcclVariables& variables,
                                      snapshot::Tables& tables) {
  const int version = nccl_version_code(variables.version);
  const auto* const layout = nccl_proxy_layout(version);
  const auto* const communicators = nccl_layout(version);
  if (layout != nullptr && communicators != nullptr) {
    return ProxyReader(target, variables, *layout, *communicators, tables).run();
  }
  return fail(Errc::kUnsupported,
              "the layout of proxies in NCCL " + variables.version + " is unknown");
}

void compare_proxies(std::span<const ProxyTransfer> later, std::span<ProxyTransfer> earlier) {
  compare_rows(later, earlier);
}

void compare_heads(std::span<const snapshot::CollnetHead> later,
                   std::span<snapshot::CollnetHead> earlier) {
  compare_rows(later, earlier);
}

}  // namespace oddrank::collectives
