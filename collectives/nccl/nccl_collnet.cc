#include "collectives/nccl/nccl_collnet.h"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace oddrank::collectives {

using attach::Addr;
using attach::request_of;
using snapshot::CollnetHead;

namespace {

constexpr std::size_t kMaxTogether = 8;  // COLLNET_GROUP_NSUBS
constexpr std::int32_t kMaxHeadsOfHost = 64;
constexpr std::size_t kMaxPlaces = 64;

bool is_possible_sub(const RawSub& sub) {
  return sub.channel >= 0 && sub.channel < kMaxProxyChannels && sub.steps > 0 &&
         std::max({sub.base, sub.posted, sub.received, sub.transmitted, sub.done}) <=
             kMaxProxySteps;
}

// Returns whether both operations are of the same call.
bool has_same_subs(const std::vector<RawSub>& one, const std::vector<RawSub>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const RawSub& a, const RawSub& b) {
                      return a.channel == b.channel && a.base == b.base && a.steps == b.steps;
                    });
}

// Returns how far a part and all before it have come by `count`, and no further than `now` if one
// behind it has not come so far. A part is each `step`th of the operation, or the last.
template <typename Count>
std::uint64_t limit_of(const std::vector<RawSub>& subs,
                       std::size_t part,
                       std::size_t step,
                       std::uint64_t now,
                       Count count) {
  std::uint64_t limit = kMaxProxySteps;
  for (std::size_t end = step; end < subs.size() + step; end += step) {
    const std::size_t at = std::min(end, subs.size()) - 1;
    const std::uint64_t come = count(subs[at]);
    if (at <= part) {
      limit = std::min(limit, come);
    } else if (come < now) {
      limit = std::min(limit, now);
    }
  }
  return limit;
}

}  // namespace

CollnetReader::CollnetReader(const attach::Target& target,
                             const NcclVariables& variables,
                             const NcclProxyLayout& layout,
                             const NcclLayout& communicators,
                             snapshot::Tables& tables)
    : target_(target),
      variables_(variables),
      layout_(layout),
      communicators_(communicators),
      tables_(tables) {}

void CollnetReader::add(std::vector<RawSub> subs,
                        const RawConnection& connection,
                        Addr state,
                        const CollnetHead& like) {
  const Addr resources{connection.resources};
  const bool sends = connection.sends == 1;
  Shared shared = 0;
  Op op{std::move(subs), state, like, -1};
  const Addr first{op.subs.front().connection};
  const auto device = sends ? layout_.collnet_send_device : layout_.collnet_recv_device;
  const auto head = sends ? layout_.collnet_send_head : layout_.collnet_recv_head;
  if (!std::all_of(op.subs.begin(), op.subs.end(), is_possible_sub) ||
      !read_all(target_, std::array{request_of(first + layout_.connection_collnet, shared),
                                    request_of(resources + device, op.device),
                                    request_of(resources + head, op.like.head)}) ||
      shared == 0) {
    return;
  }
  (sends ? sends_ : receives_).try_emplace(shared, std::move(op));
}

void CollnetReader::read_place(Addr communicator) {
  std::uint64_t magic = 0;
  Shared shared = 0;
  std::uint64_t heads = 0;
  std::int32_t head_count = 0;
  std::int32_t rank = -1;
  Place place;
  if (!read_all(target_, std::array{request_of(communicator, magic),
                                    request_of(communicator + layout_.collnet_shared, shared),
                                    request_of(communicator + layout_.heads, heads),
                                    request_of(communicator + layout_.head_count, head_count),
                                    request_of(communicator + layout_.nodes, place.nodes),
                                    request_of(communicator + communicators_.rank, rank),
                                    request_of(communicator + communicators_.hash, place.hash)}) ||
      magic != kNcclMagic || shared == 0 || head_count <= 0 || head_count > kMaxHeadsOfHost ||
      place.nodes < 2 || place.nodes > kMaxProxyRanks) {
    return;
  }
  std::vector<std::int32_t> ranks(static_cast<std::size_t>(head_count));
  if (!target_.read(Addr{heads}, std::as_writable_bytes(std::span(ranks)))) {
    return;
  }
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  if (at == ranks.end()) {
    return;
  }
  place.position = static_cast<std::int32_t>(at - ranks.begin());
  const auto [known, is_new] = places_.try_emplace(shared, place);
  if (!is_new && place.hash < known->second.hash) {
    known->second = place;
  }
}

void CollnetReader::read_places() {
  if (variables_.list == Addr{} || variables_.entries == Addr{}) {
    return;
  }
  const auto communicators = list_nccl_communicators(target_, variables_);
  for (const Addr at : communicators ? *communicators : std::vector<Addr>()) {
    if (places_.size() < kMaxPlaces) {
      read_place(at);
    }
  }
}

std::string CollnetReader::device_name(const Op& op) const {
  std::uint64_t net = 0;
  if (op.device < 0 || op.device >= kMaxNetDevices ||
      !read_all(target_, std::array{request_of(op.state + layout_.collnet, net)})) {
    return {};
  }
  const std::string name = network_name(target_, net);
  return name.empty() ? name : fmt::format("{} {}", name, op.device);
}

// If the sending side is at a later call, or at none, it is done with this one.
void CollnetReader::add_rows(const Op& receive, const Op* send, const Place& place) {
  const bool is_sent = send == nullptr || !has_same_subs(send->subs, receive.subs);
  CollnetHead like = receive.like;
  like.rail = tables_.string(fmt::format("0x{:x}/{}", place.hash, place.position));
  like.heads = place.nodes;
  like.device = tables_.string(device_name(receive));
  if (like.head < 0 || like.head >= like.heads || like.heads > like.size) {
    return;
  }
  const auto& taking = receive.subs;
  for (std::size_t begin = 0; begin < taking.size(); begin += kMaxTogether) {
    const std::size_t end = std::min(begin + kMaxTogether, taking.size());
    const RawSub& last = taking[end - 1];
    const auto steps = static_cast<std::uint64_t>(last.steps);
    const RawSub* sent = is_sent ? nullptr : &send->subs[end - 1];
    const std::uint64_t given = sent == nullptr ? steps : sent->transmitted;
    const std::uint64_t returned = sent == nullptr ? steps : sent->done;
    const std::uint64_t offered = limit_of(taking, end - 1, kMaxTogether, given,
                                           [](const RawSub& sub) { return sub.posted; });
    const std::uint64_t filled =
        sent == nullptr ? steps : limit_of(send->subs, end - 1, 1, given, [](const RawSub& sub) {
          return sub.received;
        });
    if (given > std::min(filled, offered) || returned > given || last.done > returned ||
        std::max(filled, offered) > steps) {
      continue;  // it moves
    }
    CollnetHead row = like;
    const auto from_base = [&last](std::uint64_t count) {
      return static_cast<std::int64_t>(last.base + count);
    };
    row.filled = from_base(filled);
    row.offered = from_base(offered);
    row.given = from_base(given);
    row.returned = from_base(returned);
    row.taken = from_base(last.done);
    row.end = from_base(steps);
    for (std::size_t at = begin; at < end; ++at) {
      row.channels |= std::uint64_t{1} << static_cast<unsigned>(taking[at].channel);
    }
    row.still = row.channels;
    add_channels(rows_, row);
  }
}

std::vector<CollnetHead> CollnetReader::run() {
  if (!receives_.empty()) {
    read_places();
  }
  for (const auto& [shared, receive] : receives_) {
    const auto place = places_.find(shared);
    if (place != places_.end()) {
      const auto send = sends_.find(shared);
      add_rows(receive, send == sends_.end() ? nullptr : &send->second, place->second);
    }
  }
  std::sort(rows_.begin(), rows_.end(), [this](const CollnetHead& a, const CollnetHead& b) {
    return std::tuple(tables_.text(a.rail), a.channels) <
           std::tuple(tables_.text(b.rail), b.channels);
  });
  return std::move(rows_);
}

}  // namespace oddrank::collectives
