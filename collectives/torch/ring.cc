#include "collectives/torch/ring.h"

#include <algorithm>

namespace oddrank::collectives {
namespace {

constexpr std::uint64_t kMaxRing = 65536;  // calls
constexpr std::uint64_t kMaxRingBytes = std::uint64_t{64} << 20;
constexpr int kRingReads = 3;

std::optional<RingHead> read_head(const attach::Target& target, Addr recorder) {
  RingHead head;
  if (!target.read(recorder, head.bytes)) {
    return std::nullopt;
  }
  return head;
}

}  // namespace

bool RingHead::plausible() const {
  const auto lock = at<std::uint32_t>(RecorderHead::kLock);
  const auto capacity = at<std::uint64_t>(RecorderHead::kEntries + 16);
  return at<std::uint8_t>(RecorderHead::kEnabled) <= 1 && lock <= 2 && begin() <= end() &&
         end() <= capacity && capacity - begin() <= kMaxRingBytes && begin() % 8 == 0 &&
         most() <= kMaxRing && next() <= most() && id() < std::uint64_t{1} << 48 &&
         enabled() == (most() > 0);
}

Result<Ring> copy_ring(const attach::Target& target, Addr recorder) {
  Ring ring;
  for (int i = 0; i < kRingReads; ++i) {
    const auto before = read_head(target, recorder);
    if (!before || !before->plausible()) {
      return fail(Errc::kBadData, "it is no flight recorder");
    }
    ring.head = *before;
    ring.bytes.resize(before->end() - before->begin());
    if (ring.bytes.empty()) {
      return ring;
    }
    const Status read = target.read(Addr{before->begin()}, ring.bytes);
    const auto after = read_head(target, recorder);
    const bool same = after && after->begin() == before->begin() && after->id() == before->id();
    ring.written = after && after->id() >= before->id() ? after->id() - before->id() : 0;
    if (read && same && before->at<std::uint32_t>(RecorderHead::kLock) == 0) {
      return ring;
    }
    if (!read && i + 1 == kRingReads) {
      return fail(Errc::kBadData, "the calls of the flight recorder cannot be read");
    }
  }
  return ring;
}

bool has_moved(const attach::Target& target, Addr recorder, const Ring& ring) {
  const auto now = read_head(target, recorder);
  return !now || now->begin() != ring.head.begin() || now->id() != ring.head.id();
}

std::uint64_t oldest_number(const attach::Target& target,
                            Addr recorder,
                            const Ring& ring,
                            std::uint64_t entry_size) {
  const auto now = read_head(target, recorder);
  if (!now || now->begin() != ring.head.begin() || now->id() < ring.head.id()) {
    return UINT64_MAX;  // the entries are elsewhere
  }
  const std::uint64_t most = std::max(ring.bytes.size() / entry_size, ring.head.most());
  // If calls are being made, the place of the next one may be half written.
  const std::uint64_t taken = now->id() == ring.head.id() ? now->id() : now->id() + 1;
  return taken > most ? taken - most : 0;
}

std::optional<std::vector<RawEntry>> entries_of(const Ring& ring,
                                                const RecorderLayout& layout,
                                                std::optional<std::uint64_t> epoch) {
  const RingHead& head = ring.head;
  const std::size_t count = ring.bytes.size() / layout.entry_size;
  const bool full = count == head.most();
  // Until the ring is full, the next place is behind the last entry; up to 2.9 it stays 0.
  const bool fits = full ? head.next() <= count : head.next() == count || head.next() == 0;
  if (ring.bytes.size() % layout.entry_size != 0 || count > head.most() || !fits ||
      head.id() < count) {
    return std::nullopt;
  }
  std::vector<RawEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = full ? (head.next() + i) % count : i;
    const RawEntry entry(Addr{head.begin()} + at * layout.entry_size,
                         std::span(ring.bytes).subspan(at * layout.entry_size, layout.entry_size));
    const auto of_epoch = layout.entry_epoch == 0 ? 0 : entry.at<std::uint64_t>(layout.entry_epoch);
    if (!epoch || of_epoch > *epoch) {
      return std::nullopt;
    }
    if (of_epoch == *epoch) {  // others are from before the recorder was reset
      entries.push_back(entry);
    }
  }
  // Numbers ascend by one, and the last one was given last. Calls that are written while the ring
  // is read take the places of the oldest ones.
  std::uint64_t expected = head.id();
  std::size_t kept = 0;
  for (std::size_t i = entries.size(); i-- > 0; ++kept) {
    const bool sound = entries[i].at<std::uint64_t>(0) == expected - 1 &&
                       entries[i].at<std::uint8_t>(layout.is_p2p) <= 1 &&
                       entries[i].at<std::uint8_t>(layout.retired) <= 1 &&
                       entries[i].at<std::int64_t>(layout.created) > 0 &&
                       entries[i].at<std::uint8_t>(layout.started + 8) <= 1 &&
                       entries[i].at<std::uint8_t>(layout.completed + 8) <= 1;
    if (!sound) {
      break;
    }
    --expected;
  }
  const std::size_t torn = entries.size() - kept;
  if (torn > 0 && (kept == 0 || torn > ring.written + 1 || torn > entries.size() / 2)) {
    return std::nullopt;
  }
  entries.erase(entries.begin(), entries.end() - static_cast<std::ptrdiff_t>(kept));
  return entries.empty() ? std::nullopt : std::optional(std::move(entries));
}

std::vector<Addr> likely_recorders(const attach::Target& target, std::span<const Addr> objects) {
  constexpr std::size_t kAtOnce = 1024;
  std::vector<Addr> found;
  std::vector<RingHead> heads(kAtOnce);
  while (!objects.empty()) {
    const auto part = objects.first(std::min(objects.size(), kAtOnce));
    objects = objects.subspan(part.size());
    std::vector<attach::ReadRequest> requests;
    requests.reserve(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) {
      requests.push_back({part[i], heads[i].bytes, 0});
    }
    target.read_many(requests);
    for (std::size_t i = 0; i < part.size(); ++i) {
      const RingHead& head = heads[i];
      if (requests[i].got == RecorderHead::kSize && head.plausible() && head.enabled() &&
          head.begin() != 0 && head.end() != head.begin() && head.id() > 0) {
        found.push_back(part[i]);
      }
    }
  }
  return found;
}

}  // namespace oddrank::collectives
