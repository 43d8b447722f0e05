#include "collectives/nccl/nccl_root.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "collectives/nccl/nccl_layout.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::all_whole;
using attach::request_of;
using attach::Target;
using snapshot::BootstrapRoot;

constexpr std::size_t kStackWords = 128;  // between accept() and the root's frame there are 20
constexpr std::int32_t kMaxAwaited = 4096;
constexpr std::int32_t kMaxRootRanks = 1 << 24;

using RootAddress = std::array<std::byte, 28>;  // union ncclSocketAddress
using RingInfo = std::array<std::byte, 128>;    // union ringConnectInfo

template <typename Bytes>
bool is_noted(const Bytes& bytes) {
  return std::any_of(bytes.begin(), bytes.end(), [](std::byte one) { return one != std::byte{0}; });
}

bool is_address(const RootAddress& address) {
  std::uint16_t family = 0;
  std::memcpy(&family, address.data(), sizeof family);
  return family == AF_INET || family == AF_INET6;
}

// The variables of the root, as they are in its frame.
struct RawRoot {
  std::int32_t ranks = -1;
  std::int32_t came = -1;
  std::uint64_t infos = 0;
  std::uint64_t addresses = 0;
  // The members that are in the message of the last one that came. Every message has the same.
  std::int32_t rank = -1;
  std::int32_t message_ranks = -1;
  std::int32_t part = -1;
  std::int32_t parts = -1;
  std::int32_t offset = 0;
};

// A root of several waits for a part of the members, and for the first one of the next part.
struct RootPart {
  std::int32_t first = 0;
  std::int32_t own = 0;
  std::int32_t awaited = 0;
};

RootPart part_of(const RawRoot& raw) {
  const std::int32_t each = raw.ranks / raw.parts;
  const std::int32_t more = raw.ranks % raw.parts;
  const std::int32_t own = each + (raw.part < more ? 1 : 0);
  return {raw.part * each + std::min(raw.part, more), own, own + (raw.parts > 1 ? 1 : 0)};
}

bool is_plausible_root(const RawRoot& raw) {
  return raw.ranks > 1 && raw.ranks <= kMaxRootRanks && raw.message_ranks == raw.ranks &&
         raw.rank >= 0 && raw.rank < raw.ranks && raw.parts > 0 && raw.parts <= raw.ranks &&
         raw.part >= 0 && raw.part < raw.parts && raw.offset == 0 && raw.infos != 0 &&
         raw.addresses != 0 && part_of(raw).awaited <= kMaxAwaited;
}

// Reads the root's variables; `frame` is its stack pointer while it calls.
std::optional<RawRoot> read_variables(const Target& target,
                                      const NcclRootLayout& layout,
                                      Addr frame) {
  RawRoot raw;
  const Addr last = frame + layout.last;
  std::int32_t nothing = -1;
  const bool counts = layout.came >= 0;
  std::array requests = {
      request_of(frame + layout.ranks, raw.ranks),
      request_of(frame + (counts ? static_cast<std::uint64_t>(layout.came) : layout.ranks),
                 counts ? raw.came : nothing),
      request_of(frame + layout.infos, raw.infos),
      request_of(frame + layout.addresses, raw.addresses),
      request_of(last, raw.rank),
      request_of(last + sizeof raw.rank, raw.message_ranks),
      request_of(last + layout.part, raw.part),
      request_of(last + layout.parts, raw.parts),
      request_of(last + layout.offset, layout.offset != 0 ? raw.offset : nothing)};
  target.read_many(requests);
  return all_whole(requests) && is_plausible_root(raw) ? std::optional(raw) : std::nullopt;
}

// The members of the two arrays, by their number within the part.
struct RootNotes {
  std::vector<bool> address;
  std::vector<bool> info;
};

std::optional<RootNotes> read_notes(const Target& target,
                                    const RawRoot& raw,
                                    const RootPart& part) {
  const auto size = static_cast<std::size_t>(part.awaited);
  std::vector<RootAddress> addresses(size);
  std::vector<RingInfo> infos(size);
  if (!target.read(Addr{raw.addresses}, std::as_writable_bytes(std::span(addresses))) ||
      !target.read(Addr{raw.infos}, std::as_writable_bytes(std::span(infos)))) {
    return std::nullopt;
  }
  RootNotes notes;
  for (std::size_t at = 0; at < size; ++at) {
    notes.address.push_back(is_noted(addresses[at]));
    notes.info.push_back(is_noted(infos[at]));
    if (notes.address.back() && !is_address(addresses[at])) {
      return std::nullopt;
    }
  }
  return notes;
}

// Returns whether a member that came leaves no note: the root has passed its information on to the
// one before it, and told it of the one behind it, at once.
bool may_leave_no_note(const RootNotes& notes,
                       const RawRoot& raw,
                       const RootPart& part,
                       std::int32_t at) {
  const bool is_one = raw.parts == 1;
  if (at >= part.own || (at == 0 && !is_one)) {
    return false;
  }
  const auto before = static_cast<std::size_t>(at == 0 ? part.awaited - 1 : at - 1);
  const auto behind = static_cast<std::size_t>((at + 1) % part.awaited);
  return notes.address[before] && notes.info[behind];
}

std::optional<BootstrapRoot> root_of(const RawRoot& raw,
                                     const RootNotes& notes,
                                     const RootPart& part,
                                     snapshot::Tables& tables) {
  std::vector<std::int32_t> absent;
  std::vector<std::int32_t> unclear;
  for (std::int32_t at = 0; at < part.awaited; ++at) {
    const auto row = static_cast<std::size_t>(at);
    if (!notes.address[row] && !notes.info[row]) {
      (may_leave_no_note(notes, raw, part, at) ? unclear : absent)
          .push_back((part.first + at) % raw.ranks);
    }
  }
  const auto noted = static_cast<std::size_t>(part.awaited) - absent.size() - unclear.size();
  if (raw.came >= 0) {
    const auto came = static_cast<std::size_t>(raw.came);
    if (came < std::max<std::size_t>(noted, 1) || came > noted + unclear.size() ||
        raw.came >= part.awaited) {
      return std::nullopt;
    }
    if (came == noted) {
      absent.insert(absent.end(), unclear.begin(), unclear.end());
    }
    if (came == noted || came == noted + unclear.size()) {
      unclear.clear();
    }
  } else if (noted == 0) {
    return std::nullopt;
  }
  std::sort(absent.begin(), absent.end());
  return BootstrapRoot{raw.ranks, part.awaited, raw.came,
                       tables.string(snapshot::rank_text(absent)),
                       tables.string(snapshot::rank_text(unclear))};
}

std::optional<BootstrapRoot> read_root(const Target& target,
                                       const NcclVariables& variables,
                                       const NcclRootLayout& layout,
                                       Addr stack,
                                       snapshot::Tables& tables) {
  std::array<std::uint64_t, kStackWords> words{};
  std::array requests = {request_of(stack, words)};
  target.read_many(requests);
  const std::size_t got = requests[0].got / sizeof words[0];
  const std::uint64_t code = attach::value_of(variables.root);
  for (std::size_t at = 0; at < got; ++at) {
    if (words[at] <= code || words[at] - code >= variables.root_size) {
      continue;
    }
    // A return address into the root, which is at the end of its frame.
    const auto raw = read_variables(target, layout, stack + (at + 1) * sizeof words[0]);
    if (!raw) {
      continue;
    }
    const RootPart part = part_of(*raw);
    if (const auto notes = read_notes(target, *raw, part)) {
      return root_of(*raw, *notes, part, tables);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<BootstrapRoot> read_nccl_roots(const Target& target,
                                           const NcclVariables& variables,
                                           std::span<const pid_t> threads,
                                           snapshot::Tables& tables) {
  std::vector<BootstrapRoot> roots;
  const auto* layout = nccl_root_layout(nccl_version_code(variables.version));
  if (layout == nullptr || variables.root == Addr{}) {
    return roots;
  }
  for (const pid_t tid : threads) {
    const auto thread = target.motion(tid);
    if (!thread || !thread->registers) {
      continue;
    }
    const Addr stack{thread->registers->sp};
    if (const auto root = read_root(target, variables, *layout, stack, tables)) {
      roots.push_back(*root);
    }
  }
  return roots;
}

}  // namespace oddrank::collectives
