// Flight recorders in made-up memory. Real ones: tests/live/numbers_test.py.
#include "collectives/torch/recorder.h"

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "collectives/torch/recorder_maps.h"
#include "collectives/torch/ring.h"
#include "tests/support/catch.h"
#include "tests/unit/collectives/torch/ring_builder.h"

namespace oddrank::collectives {
namespace {

using snapshot::FlightRecord;
using snapshot::Tables;

Result<FlightRecord> read(const RingBuilder& ring, Tables& texts, std::size_t newest = 0) {
  test::FakeTarget target;
  ring.into(target);
  cpython::RemoteReader reader(target);
  return read_recorder(reader, nullptr, {RingBuilder::kRecorder, newest}, texts);
}

// Makes a ring of ten places that holds the calls up to number `last`.
RingBuilder ring_up_to(const RecorderLayout& layout, std::uint64_t last) {
  constexpr std::uint64_t kMost = 10;
  RingBuilder ring(layout);
  const std::uint64_t count = std::min(last + 1, kMost);
  const std::uint64_t next = last + 1 < kMost ? last + 1 : (last + 1) % kMost;
  ring.head(kMost, next, last + 1);
  for (std::uint64_t at = 0; at < count; ++at) {
    // Place `at` holds the newest call whose number leaves that remainder.
    std::uint64_t id = last - last % kMost + at;
    id -= id > last ? kMost : 0;
    RingCall call;
    call.id = id;
    call.sequence = static_cast<std::int64_t>(id) + 1;
    call.retired = id != last;
    ring.add(call);
  }
  return ring;
}

TEST_CASE("a ring of every layout is read, before and after it has wrapped round") {
  for (const RecorderLayout& layout : recorder_layouts()) {
    for (const std::uint64_t last : {0U, 3U, 8U, 9U, 10U, 26U}) {
      CAPTURE(layout.entry_size, last);
      Tables texts;
      RingBuilder ring = ring_up_to(layout, last);
      const auto record = read(ring, texts);
      REQUIRE(record);
      const std::size_t count = std::min<std::size_t>(last + 1, 10);
      REQUIRE(record->entries.size() == count);
      CHECK(record->from_memory);
      CHECK_FALSE(record->shortened);
      for (std::size_t i = 0; i < count; ++i) {
        const snapshot::FlightEntry& entry = record->entries[i];
        CHECK(entry.record == static_cast<std::int64_t>(last + 1 - count + i));
        CHECK(entry.sequence == entry.record + 1);
        CHECK(entry.retired == (i + 1 < count));
      }
      const snapshot::FlightEntry& newest = record->entries.back();
      CHECK(texts.text(newest.op) == "all_reduce");
      CHECK(texts.text(newest.backend) == "gloo");
      CHECK(texts.text(newest.input_sizes) == "[4, 2]");
      CHECK(texts.text(newest.input_types) == "Float");
      CHECK(newest.input_count == 8);
      CHECK(texts.text(newest.output_sizes).empty());
      REQUIRE(record->groups.size() == 1);
      CHECK(texts.text(record->groups[0].name) == "0");
      CHECK(texts.text(record->groups[0].description) == "default_pg");
    }
  }
}

TEST_CASE("the next place stays 0 in older versions until the ring is full") {
  const RecorderLayout& layout = recorder_layouts()[1];
  RingBuilder ring(layout);
  ring.head(10, 0, 3);
  for (std::uint64_t id = 0; id < 3; ++id) {
    RingCall call;
    call.id = id;
    ring.add(call);
  }
  Tables texts;
  const auto record = read(ring, texts);
  REQUIRE(record);
  CHECK(record->entries.size() == 3);
}

TEST_CASE("calls of groups without a name are left out") {
  const RecorderLayout& layout = recorder_layouts().front();
  RingBuilder ring(layout);
  ring.head(10, 2, 2);
  for (std::uint64_t id = 0; id < 2; ++id) {
    RingCall call;
    call.id = id;
    call.group = id;
    call.group_name = id == 0 ? "" : "0";
    ring.add(call);
  }
  Tables texts;
  const auto record = read(ring, texts);
  REQUIRE(record);
  REQUIRE(record->entries.size() == 1);
  CHECK(record->entries[0].record == 1);
  CHECK(record->shortened);
}

TEST_CASE("only the newest calls of each group are kept, and those that are open") {
  const RecorderLayout& layout = recorder_layouts().front();
  RingBuilder ring(layout);
  ring.head(10, 6, 6);
  for (std::uint64_t id = 0; id < 6; ++id) {
    RingCall call;
    call.id = id;
    call.group = id == 2 ? 7 : 0;
    call.group_name = id == 2 ? "a group whose name is long" : "0";
    call.sequence = id == 2 ? 1 : static_cast<std::int64_t>(id) + 1;
    call.retired = id != 0;
    ring.add(call);
  }
  Tables texts;
  const auto record = read(ring, texts, 2);
  REQUIRE(record);
  CHECK(record->shortened);
  std::vector<std::int64_t> kept;
  for (const auto& entry : record->entries) {
    kept.push_back(entry.record);
  }
  CHECK(kept == std::vector<std::int64_t>{0, 2, 4, 5});
  REQUIRE(record->groups.size() == 2);
  CHECK(texts.text(record->groups[1].name) == "a group whose name is long");
}

TEST_CASE("a recorder that is off or empty is no error of the memory") {
  const RecorderLayout& layout = recorder_layouts().front();
  Tables texts;
  RingBuilder off(layout);
  CHECK(read(off, texts).error().code == Errc::kNotFound);
  RingBuilder empty(layout);
  empty.head(2000, 0, 0);
  CHECK(read(empty, texts).error().code == Errc::kNotFound);
}

TEST_CASE("calls from before a reset are left out") {
  const RecorderLayout& layout = recorder_layouts().front();
  RingBuilder ring(layout);
  ring.head(10, 2, 2);
  for (std::uint64_t id = 0; id < 2; ++id) {
    RingCall call;
    call.id = id;
    call.epoch = 1;
    ring.add(call);
  }
  Tables texts;
  CHECK(read(ring, texts).error().code == Errc::kBadData);  // the recorder has epoch 0
}

TEST_CASE("a locked recorder is read all the same") {
  RingBuilder ring = ring_up_to(recorder_layouts().front(), 4);
  ring.lock(2);
  Tables texts;
  CHECK(read(ring, texts));
}

TEST_CASE("the oldest call may be overwritten while the ring is read") {
  const RecorderLayout& layout = recorder_layouts().front();
  RingBuilder ring = ring_up_to(layout, 26);
  ring.spoil(7, 0, std::uint64_t{27});  // place 7 holds number 17, the oldest
  Tables texts;
  const auto record = read(ring, texts);
  REQUIRE(record);
  CHECK(record->entries.size() == 9);
  CHECK(record->entries.front().record == 18);
}

TEST_CASE("as many calls may be torn as were made while the ring was copied") {
  const RecorderLayout& layout = recorder_layouts().front();
  test::FakeTarget target;
  ring_up_to(layout, 26).into(target);
  auto ring = copy_ring(target, RingBuilder::kRecorder);
  REQUIRE(ring);
  CHECK(ring->written == 0);
  for (std::uint64_t i = 0; i < 3; ++i) {  // places 7 to 9 hold the oldest three
    const std::uint64_t number = 27 + i;
    std::memcpy(ring->bytes.data() + (7 + i) * layout.entry_size, &number, sizeof number);
  }
  CHECK_FALSE(entries_of(*ring, layout, 0));
  ring->written = 3;
  const auto entries = entries_of(*ring, layout, 0);
  REQUIRE(entries);
  CHECK(entries->size() == 7);
  CHECK(entries->front().at<std::uint64_t>(0) == 20);
}

TEST_CASE("calls that were overwritten since are no longer where they were") {
  const RecorderLayout& layout = recorder_layouts().front();
  test::FakeTarget before;
  ring_up_to(layout, 26).into(before);
  const auto ring = copy_ring(before, RingBuilder::kRecorder);
  REQUIRE(ring);
  const auto oldest_in = [&](const RingBuilder& later) {
    test::FakeTarget target;
    later.into(target);
    return std::pair(oldest_number(target, RingBuilder::kRecorder, *ring, layout.entry_size),
                     has_moved(target, RingBuilder::kRecorder, *ring));
  };
  CHECK(oldest_in(ring_up_to(layout, 26)) == std::pair(std::uint64_t{17}, false));
  // The place behind the newest call may be half written.
  CHECK(oldest_in(ring_up_to(layout, 29)) == std::pair(std::uint64_t{21}, true));
  CHECK(oldest_in(ring_up_to(layout, 12)) == std::pair(UINT64_MAX, true));  // it was reset
}

TEST_CASE("recorders that are registered by backend are found, and no others") {
  struct Node {
    std::uint64_t next;
    std::uint64_t text;
    std::uint64_t size;
    std::array<char, 16> name;
    std::uint64_t recorder;
  };
  constexpr std::uint64_t kMap = 0x5000;
  constexpr std::uint64_t kNode = 0x6000;
  const auto found = [](std::uint64_t size, std::uint64_t last) {
    test::FakeTarget target;
    const std::array<std::uint64_t, kRegistryWords> map = {0x7000,     13, kNode, size,
                                                           0x3f800000, 0,  0};
    CHECK(looks_like_registry(map) == (size > 0 && size <= 16));
    target.add_object(Addr{kMap}, map);
    target.add_object(Addr{kNode}, Node{kNode + 256, kNode + 24, 5, {"nccl2"}, 0x9000});
    target.add_object(Addr{kNode + 256}, Node{last, kNode + 256 + 24, 3, {"ucc"}, 0xa000});
    cpython::RemoteReader reader(target);
    return registered_recorders(reader, Addr{kMap});
  };
  CHECK(found(2, 0) == std::vector<Addr>{Addr{0x9000}, Addr{0xa000}});
  CHECK(found(3, 0).empty());
  CHECK(found(2, kNode).empty());  // goes round
  CHECK(found(std::uint64_t{1} << 40, 0).empty());
}

TEST_CASE("what does not fit is no guess") {
  const RecorderLayout& layout = recorder_layouts().front();
  const auto refused = [&](auto change) {
    RingBuilder ring = ring_up_to(layout, 8);
    change(ring);
    Tables texts;
    const auto record = read(ring, texts);
    return !record && record.error().code == Errc::kBadData;
  };
  CHECK(refused([](RingBuilder& ring) { ring.head(4, 9, 9); }));    // more than it can hold
  CHECK(refused([](RingBuilder& ring) { ring.head(10, 8, 9); }));   // the next one is elsewhere
  CHECK(refused([](RingBuilder& ring) { ring.head(10, 9, 12); }));  // the last number differs
  CHECK(refused([](RingBuilder& ring) { ring.spoil(4, 0, std::uint64_t{99}); }));
  CHECK(refused([&](RingBuilder& ring) { ring.spoil(4, layout.is_p2p, std::uint8_t{7}); }));
  CHECK(refused([&](RingBuilder& ring) { ring.spoil(4, layout.name, std::uint64_t{1}); }));
  CHECK(
      refused([&](RingBuilder& ring) { ring.spoil(4, layout.name + 8, std::uint64_t{1} << 40); }));
  CHECK(refused([&](RingBuilder& ring) { ring.spoil(4, layout.sequence, std::int64_t{-4}); }));
  CHECK(refused([&](RingBuilder& ring) { ring.spoil(4, layout.sizes + 8, ~std::uint32_t{0}); }));
  CHECK(refused(
      [&](RingBuilder& ring) { ring.spoil(4, layout.input_dimensions + 8, std::uint32_t{3}); }));
}

TEST_CASE("random damage is read or refused, and never more") {
  std::mt19937 random(20);  // NOLINT(cert-msc51-cpp): the same numbers in each run
  for (const RecorderLayout& layout : recorder_layouts()) {
    for (int i = 0; i < 300; ++i) {
      RingBuilder ring = ring_up_to(layout, 12);
      for (int spoilt = 0; spoilt < 3; ++spoilt) {
        ring.spoil(random() % 10, static_cast<std::uint32_t>(random() % (layout.entry_size - 8)),
                   std::uint64_t{random()} << (random() % 32));
      }
      Tables texts;
      const auto record = read(ring, texts);
      CHECK((!record || record->entries.size() <= 10));
    }
  }
}

TEST_CASE("recorders of one process are joined in the order of time") {
  Tables texts;
  RingBuilder one = ring_up_to(recorder_layouts().front(), 2);
  RingBuilder two = ring_up_to(recorder_layouts().front(), 3);
  const auto all = join_recorders({*read(one, texts), *read(two, texts)});
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].entries.size() == 7);
  CHECK(all[0].groups.size() == 2);
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(all[0].entries[i].record == static_cast<std::int64_t>(i));
    CHECK((i == 0 || all[0].entries[i].created_ns >= all[0].entries[i - 1].created_ns));
  }
}

}  // namespace
}  // namespace oddrank::collectives
