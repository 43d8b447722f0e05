// The ring of a flight recorder, copied out of a target: its entries as bytes, in the order of
// their calls. recorder.h interprets them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "collectives/torch/recorder_layout.h"

namespace oddrank::collectives {

// The head of a recorder as in memory.
struct RingHead {
  std::array<std::byte, RecorderHead::kSize> bytes{};

  template <typename T>
  T at(std::uint32_t offset) const;
  std::uint64_t begin() const { return at<std::uint64_t>(RecorderHead::kEntries); }
  std::uint64_t end() const { return at<std::uint64_t>(RecorderHead::kEntries + 8); }
  std::uint64_t most() const { return at<std::uint64_t>(RecorderHead::kMost); }
  std::uint64_t next() const { return at<std::uint64_t>(RecorderHead::kNext); }
  std::uint64_t id() const { return at<std::uint64_t>(RecorderHead::kId); }
  bool enabled() const { return at<std::uint8_t>(RecorderHead::kEnabled) == 1; }
  bool plausible() const;
};

template <typename T>
T RingHead::at(std::uint32_t offset) const {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// A recorder and all of its entries, copied at about the same time.
struct Ring {
  RingHead head;
  std::vector<std::byte> bytes;
  std::uint64_t written = 0;  // calls that were made while it was copied: so many entries are torn
};

// One entry of a ring that was copied.
class RawEntry {
 public:
  RawEntry(Addr address, std::span<const std::byte> bytes) : address_(address), bytes_(bytes) {}

  Addr address() const { return address_; }
  template <typename T>
  T at(std::uint32_t offset) const;

 private:
  Addr address_;
  std::span<const std::byte> bytes_;
};

template <typename T>
T RawEntry::at(std::uint32_t offset) const {
  T value{};
  if (offset + sizeof value <= bytes_.size()) {
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
  }
  return value;
}

// Returns the addresses whose objects look like recorders with calls, for the search in a library
// without symbols. Reads all of them in few system calls.
std::vector<Addr> likely_recorders(const attach::Target& target, std::span<const Addr> objects);

// Copies the ring; reads again if it was written meanwhile. kBadData: it is not a recorder, or
// cannot be read.
Result<Ring> copy_ring(const attach::Target& target, Addr recorder);

// Returns whether calls were made since the ring was copied.
bool has_moved(const attach::Target& target, Addr recorder, const Ring& ring);

// Returns the number of the oldest call that is still where it was when the ring was copied.
std::uint64_t oldest_number(const attach::Target& target,
                            Addr recorder,
                            const Ring& ring,
                            std::uint64_t entry_size);

// Returns the entries in the order of their calls, borrowed from the ring; nullopt if the layout
// does not fit. `epoch`: entries of earlier epochs are left out; nullopt: unknown. The oldest calls
// may be missing: they were overwritten while the ring was read.
std::optional<std::vector<RawEntry>> entries_of(const Ring& ring,
                                                const RecorderLayout& layout,
                                                std::optional<std::uint64_t> epoch);

}  // namespace oddrank::collectives
