// A flight recorder in made-up memory, as a layout says.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/torch/recorder.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {

struct RingCall {
  std::uint64_t id = 0;
  std::string name = "gloo:all_reduce";
  std::int64_t sequence = 1;
  bool retired = false;
  std::uint64_t group = 0;
  std::string group_name = "0";
  std::string description = "default_pg";
  std::vector<std::vector<std::int64_t>> inputs = {{4, 2}};
  std::uint64_t epoch = 0;
};

class RingBuilder {
 public:
  static constexpr attach::Addr kRecorder{0x100000};
  static constexpr std::uint64_t kRing = 0x200000;
  static constexpr std::uint64_t kHeap = 0x800000;

  explicit RingBuilder(const RecorderLayout& layout) : layout_(layout) {}

  // Sets what the head says: the size of the ring, the next one, and how many calls there were.
  void head(std::uint64_t most, std::uint64_t next, std::uint64_t id) {
    most_ = most;
    next_ = next;
    id_ = id;
  }
  void add(const RingCall& call) {
    entries_.emplace_back(layout_.entry_size, std::byte{0});
    const std::uint64_t at = kRing + (entries_.size() - 1) * layout_.entry_size;
    put(0, call.id);
    if (layout_.entry_epoch != 0) {
      put(layout_.entry_epoch, call.epoch);
    }
    put(layout_.group_id, call.group);
    text(at, layout_.group_name, call.description);
    text(at, layout_.group_name + static_cast<std::uint32_t>(string_size(layout_.abi)),
         call.group_name);
    put(layout_.sequence, call.sequence);
    put(layout_.sequence + 8, std::int64_t{0});
    put(layout_.sequence + 16, call.sequence);
    text(at, layout_.name, call.name);
    put(layout_.created, std::int64_t{1'700'000'000'000'000'000} + call.sequence);
    if (layout_.timeout != 0) {
      put(layout_.timeout, std::int64_t{1'800'000});
    }
    put(layout_.retired, static_cast<std::uint8_t>(call.retired ? 1 : 0));
    tensors(at, call);
    if (layout_.thread != 0) {
      text(at, layout_.thread, "pt_main_thread");
    }
  }
  // Overwrites bytes of an entry.
  template <typename T>
  void spoil(std::size_t index, std::uint32_t offset, T value) {
    std::memcpy(entries_[index].data() + offset, &value, sizeof value);
  }

  void into(test::FakeTarget& target) const {
    std::vector<std::byte> ring;
    for (const auto& entry : entries_) {
      ring.insert(ring.end(), entry.begin(), entry.end());
    }
    std::array<std::byte, 512> recorder{};
    const auto set = [&recorder](std::uint32_t offset, auto value) {
      std::memcpy(recorder.data() + offset, &value, sizeof value);
    };
    set(RecorderHead::kEnabled, static_cast<std::uint8_t>(most_ > 0 ? 1 : 0));
    set(RecorderHead::kLock, lock_);
    set(RecorderHead::kEntries, kRing);
    set(RecorderHead::kEntries + 8, kRing + ring.size());
    set(RecorderHead::kEntries + 16, kRing + ring.size());
    set(RecorderHead::kMost, most_);
    set(RecorderHead::kNext, next_);
    set(RecorderHead::kId, id_);
    target.add_memory(kRecorder, recorder);
    target.add_memory(attach::Addr{kRing}, ring);
    target.add_memory(attach::Addr{kHeap}, heap_);
  }
  void lock(std::uint32_t word) { lock_ = word; }

 private:
  template <typename T>
  void put(std::uint32_t offset, T value) {
    std::memcpy(entries_.back().data() + offset, &value, sizeof value);
  }
  std::uint64_t allocate(const void* data, std::size_t size) {
    const std::uint64_t at = kHeap + heap_.size();
    const auto* bytes = static_cast<const std::byte*>(data);
    heap_.insert(heap_.end(), bytes, bytes + size);
    heap_.resize((heap_.size() + 15) / 16 * 16);
    return at;
  }
  void text(std::uint64_t entry, std::uint32_t offset, std::string_view value) {
    if (layout_.abi == StringAbi::kOld) {
      std::vector<std::byte> block(24 + value.size() + 1);
      const std::uint64_t size = value.size();
      std::memcpy(block.data(), &size, 8);
      std::memcpy(block.data() + 8, &size, 8);
      std::memcpy(block.data() + 24, value.data(), value.size());
      put(offset, allocate(block.data(), block.size()) + 24);
      return;
    }
    put(offset + 8, static_cast<std::uint64_t>(value.size()));
    if (value.size() <= 15) {
      put(offset, entry + offset + 16);
      std::memcpy(entries_.back().data() + offset + 16, value.data(), value.size());
    } else {
      put(offset, allocate(value.data(), value.size()));
      put(offset + 16, static_cast<std::uint64_t>(value.size()));
    }
  }
  template <typename T>
  void small_vector(std::uint32_t offset, const std::vector<T>& values) {
    put(offset, allocate(values.data(), values.size() * sizeof(T)));
    put(offset + 8, static_cast<std::uint32_t>(values.size()));
    put(offset + 12, static_cast<std::uint32_t>(std::max<std::size_t>(values.size(), 4)));
  }
  void dimensions(std::uint32_t offset, const std::vector<std::int64_t>& values) {
    if (layout_.dimension_bytes == 8) {
      small_vector(offset, values);
    } else {
      small_vector(offset, std::vector<std::int32_t>(values.begin(), values.end()));
    }
  }
  void tensors(std::uint64_t /*entry*/, const RingCall& call) {
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> sizes;
    for (const auto& tensor : call.inputs) {
      counts.push_back(static_cast<std::int64_t>(tensor.size()));
      sizes.insert(sizes.end(), tensor.begin(), tensor.end());
    }
    dimensions(layout_.input_dimensions, counts);
    dimensions(layout_.output_dimensions, {});
    const std::vector<std::uint8_t> types(call.inputs.size(), 6);  // Float
    const std::uint64_t begin = allocate(types.data(), types.size());
    put(layout_.input_types, begin);
    put(layout_.input_types + 8, begin + types.size());
    small_vector(layout_.sizes, sizes);
  }

  const RecorderLayout& layout_;
  std::vector<std::vector<std::byte>> entries_;
  std::vector<std::byte> heap_ = std::vector<std::byte>(64);
  std::uint64_t most_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t id_ = 0;
  std::uint32_t lock_ = 0;
};

}  // namespace oddrank::collectives
