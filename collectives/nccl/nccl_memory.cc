#include "collectives/nccl/nccl_memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/nccl/nccl_layout.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::all_whole;
using attach::request_of;
using attach::Target;

// Programs have tens; the list grows by 32 at a time.
constexpr std::int32_t kMaxCommunicators = 1024;
constexpr std::int32_t kMaxCommunicatorRanks = 1 << 24;
constexpr int kMaxReads = 3;
constexpr int kFirstWithJson = 22807;  // of the service: it names communicators by three hashes

// The members of the struct, as they are in memory.
struct RawCommunicator {
  std::uint64_t start_magic = 0;
  std::uint64_t end_magic = 0;
  std::uint64_t peer_info = 0;
  std::uint8_t peer_info_valid = 0;
  std::uint64_t hash = 0;
  std::int32_t rank = -1;
  std::int32_t ranks = -1;
  std::int32_t device = -1;
  std::int32_t async_result = 0;
  std::uint64_t abort_flag = 0;
  std::uint32_t destroy_flag = 0;
  std::int32_t init_state = 0;
  std::uint8_t finalize_called = 0;
  std::array<std::uint64_t, snapshot::kRasOperations> counts{};

  bool valid() const;
};

bool RawCommunicator::valid() const {
  return start_magic == kNcclMagic && end_magic == kNcclMagic && ranks > 0 &&
         ranks <= kMaxCommunicatorRanks && rank >= 0 && rank < ranks;
}

// Where the list is, and how long.
struct Place {
  std::uint64_t array = 0;
  std::int32_t entries = 0;

  bool operator==(const Place&) const = default;
};

Result<Place> place_of(const Target& target, const NcclVariables& variables) {
  Place place;
  std::array requests = {request_of(variables.list, place.array),
                         request_of(variables.entries, place.entries)};
  target.read_many(requests);
  if (!all_whole(requests)) {
    return fail(Errc::kBadData, "its list of communicators cannot be read");
  }
  place.entries = std::clamp(place.array == 0 ? 0 : place.entries, 0, kMaxCommunicators);
  return place;
}

Result<std::vector<Addr>> addresses_at(const Target& target, const Place& place) {
  std::vector<Addr> addresses(static_cast<std::size_t>(place.entries));
  if (!addresses.empty()) {
    ODDRANK_TRY_STATUS(
        target.read(Addr{place.array}, std::as_writable_bytes(std::span(addresses))));
  }
  std::erase(addresses, Addr{});
  return addresses;
}

class ListReader {
 public:
  ListReader(const Target& target, const NcclVariables& list, const NcclLayout& layout)
      : target_(target), list_(list), layout_(layout) {}
  Result<RasAnswer> run();

 private:
  Status read_all(const Place& place, RasAnswer& answer) const;
  std::optional<RawCommunicator> read_one(Addr at) const;
  // Adds the communicator, unless it is still being created: then it has no name yet, and RAS omits
  // it too.
  void add(const RawCommunicator& raw, RasAnswer& answer) const;
  std::string name(std::uint64_t hash, std::uint64_t host_hash, std::uint64_t pid_hash) const;

  const Target& target_;
  const NcclVariables& list_;
  const NcclLayout& layout_;
};

Result<RasAnswer> ListReader::run() {
  RasAnswer answer;
  for (int i = 0; i < kMaxReads; ++i) {
    answer = RasAnswer{list_.version, {}, {}, 0};
    ODDRANK_TRY(const Place before, place_of(target_, list_));
    ODDRANK_TRY_STATUS(read_all(before, answer));
    ODDRANK_TRY(const Place after, place_of(target_, list_));
    if (before == after) {
      break;
    }
  }
  return answer;
}

Status ListReader::read_all(const Place& place, RasAnswer& answer) const {
  ODDRANK_TRY(const std::vector<Addr> addresses, addresses_at(target_, place));
  std::size_t valid = 0;
  for (const Addr address : addresses) {
    if (const auto raw = read_one(address)) {
      ++valid;
      add(*raw, answer);
    }
  }
  if (!addresses.empty() && valid == 0) {
    return fail(Errc::kBadData, "the communicators of NCCL " + list_.version +
                                    " are not where that version keeps them");
  }
  return ok();
}

std::optional<RawCommunicator> ListReader::read_one(Addr at) const {
  RawCommunicator raw;
  std::uint8_t nothing = 1;
  std::array requests = {
      request_of(at, raw.start_magic),
      request_of(at + layout_.end_magic, raw.end_magic),
      request_of(at + layout_.peer_info, raw.peer_info),
      request_of(at + layout_.peer_info_valid,
                 layout_.peer_info_valid != 0 ? raw.peer_info_valid : nothing),
      request_of(at + layout_.hash, raw.hash),
      request_of(at + layout_.rank, raw.rank),
      request_of(at + layout_.ranks, raw.ranks),
      request_of(at + layout_.device, raw.device),
      request_of(at + layout_.async_result, raw.async_result),
      request_of(at + layout_.abort_flag, raw.abort_flag),
      request_of(at + layout_.destroy_flag, raw.destroy_flag),
      request_of(at + layout_.init_state, raw.init_state),
      request_of(at + layout_.finalize_called, raw.finalize_called),
      request_of(at + layout_.counts, raw.counts),
  };
  target_.read_many(requests);
  if (!all_whole(requests) || !raw.valid()) {
    return std::nullopt;
  }
  return raw;
}

void ListReader::add(const RawCommunicator& raw, RasAnswer& answer) const {
  const bool known_peers = layout_.peer_info_valid == 0 || raw.peer_info_valid != 0;
  std::uint64_t host_hash = 0;
  std::uint64_t pid_hash = 0;
  std::uint32_t abort_flag = 0;
  std::array requests = {request_of(Addr{raw.peer_info} + layout_.host_hash, host_hash),
                         request_of(Addr{raw.peer_info} + layout_.pid_hash, pid_hash),
                         request_of(Addr{raw.abort_flag}, abort_flag)};
  if (!known_peers || raw.peer_info == 0) {
    return;
  }
  target_.read_many(requests);
  if (!all_whole(std::span(requests).first(2)) || host_hash == 0) {
    return;
  }
  RasMember member;
  member.rank = raw.rank;
  member.device = raw.device;
  member.presence = snapshot::RasPresence::kMemory;
  member.init_state = std::max(raw.init_state, 0);
  member.async_error = std::max(raw.async_result, 0);
  member.leaving = raw.finalize_called != 0 || raw.destroy_flag != 0 || abort_flag != 0;
  for (std::size_t at = 0; at < raw.counts.size(); ++at) {
    member.counts[at] = std::max<std::int64_t>(static_cast<std::int64_t>(raw.counts[at]), -1);
  }
  answer.groups.push_back({name(raw.hash, host_hash, pid_hash), raw.ranks, {std::move(member)}});
}

std::string ListReader::name(std::uint64_t hash,
                             std::uint64_t host_hash,
                             std::uint64_t pid_hash) const {
  return layout_.version < kFirstWithJson
             ? fmt::format("0x{:016x}", hash)
             : fmt::format("0x{:x} 0x{:x}:0x{:x}", hash, host_hash, pid_hash);
}

}  // namespace

Result<std::vector<Addr>> list_nccl_communicators(const Target& target,
                                                  const NcclVariables& variables) {
  ODDRANK_TRY(const Place place, place_of(target, variables));
  return addresses_at(target, place);
}

Result<RasAnswer> read_nccl_list(const Target& target, const NcclVariables& list) {
  if (const NcclLayout* layout = nccl_layout(nccl_version_code(list.version))) {
    return ListReader(target, list, *layout).run();
  }
  // An empty list can be read without the layout.
  std::uint64_t array = 0;
  std::array requests = {request_of(list.list, array)};
  target.read_many(requests);
  if (all_whole(requests) && array == 0) {
    return RasAnswer{list.version, {}, {}, 0};
  }
  return fail(Errc::kUnsupported,
              "the layout of communicators in NCCL " + list.version + " is unknown");
}

}  // namespace oddrank::collectives
