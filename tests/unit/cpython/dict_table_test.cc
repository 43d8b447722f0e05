
#include "cpython/objects/dicts.h"
#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

constexpr HashKey kKey{3, 4};
constexpr std::int8_t kEmpty = -1;
constexpr std::int8_t kRemoved = -2;
constexpr std::size_t kSlots = 8;

// A dict of 3.12 with one entry, "name": 'value', and indices as a test wants them.
struct HashedDict {
  test::PythonHeap heap{layout_3_12()};
  Addr secret = heap.allocate(16);
  Addr keys = heap.allocate(4096);
  Addr dict = heap.object(heap.type("dict", TypeFlag::kDict));
  Addr value = heap.str("value");

  explicit HashedDict(std::int8_t fill);
  void set(std::size_t slot, std::int8_t index);
  Addr find(std::string_view name) const;
};

HashedDict::HashedDict(std::int8_t fill) {
  const Layout& layout = heap.layout();
  heap.put(secret, kKey.first);
  heap.put(secret + 8, kKey.second);
  heap.put(keys + layout.keys.size, std::uint8_t{3});
  heap.put(keys + layout.keys.index_bytes, std::uint8_t{3});
  heap.put(keys + layout.keys.kind, std::uint8_t{1});
  heap.put(keys + layout.keys.count, std::int64_t{1});
  for (std::size_t slot = 0; slot < kSlots; ++slot) {
    set(slot, fill);
  }
  const Addr name = heap.str("name");
  heap.put(name + layout.object.str_length + 8,
           hash_of_string("name", kKey, HashRounds::kOneAndThree));
  heap.put_pointer(keys + layout.keys.indices + kSlots, name);
  heap.put_pointer(keys + layout.keys.indices + kSlots + 8, value);
  heap.put_pointer(dict + layout.object.dict_keys, keys);
}

void HashedDict::set(std::size_t slot, std::int8_t index) {
  heap.put(keys + heap.layout().keys.indices + slot, index);
}

Addr HashedDict::find(std::string_view name) const {
  PythonMemory memory(heap.target(), heap.layout(), secret);
  return find_in_dict(memory, dict, name);
}

std::size_t slot_of(std::string_view name) {
  return static_cast<std::uint64_t>(hash_of_string(name, kKey, HashRounds::kOneAndThree)) % kSlots;
}

}  // namespace

TEST_CASE("a name is looked up in the slot of its hash", "[cpython]") {
  HashedDict scene(kEmpty);
  CHECK(scene.find("name") == Addr{});  // the index table counts, not the entries
  scene.set(slot_of("name"), 0);
  CHECK(scene.find("name") == scene.value);
  CHECK(scene.find("other") == Addr{});
}

TEST_CASE("a search passes removed keys and other keys in its slot", "[cpython]") {
  HashedDict scene(0);
  scene.set(slot_of("name"), kRemoved);
  CHECK(scene.find("name") == scene.value);
  HashedDict impossible(0);
  impossible.set(slot_of("name"), 77);
  CHECK(impossible.find("name") == impossible.value);
}

TEST_CASE("a damaged index table without an end is left", "[cpython]") {
  CHECK(HashedDict(kRemoved).find("name") == Addr{});
  CHECK(HashedDict(0).find("other") == Addr{});
  CHECK(HashedDict(100).find("name") == Addr{});
}

TEST_CASE("sizes that contradict each other are no table", "[cpython]") {
  HashedDict scene(0);
  PythonMemory memory(scene.heap.target(), scene.heap.layout(), scene.secret);
  REQUIRE(locate_table(memory, scene.keys));
  const KeysOffsets& offsets = scene.heap.layout().keys;
  const auto refused = [&](std::uint32_t offset, auto value) {
    HashedDict damaged(0);
    damaged.heap.put(damaged.keys + offset, value);
    PythonMemory read(damaged.heap.target(), damaged.heap.layout(), damaged.secret);
    return !locate_table(read, damaged.keys);
  };
  CHECK(refused(offsets.size, std::uint8_t{41}));
  CHECK(refused(offsets.size, std::uint8_t{4}));         // more slots than bytes
  CHECK(refused(offsets.index_bytes, std::uint8_t{7}));  // 16 bytes an index
  CHECK(refused(offsets.kind, std::uint8_t{3}));
  CHECK(refused(offsets.count, std::int64_t{9}));
  CHECK(refused(offsets.count, std::int64_t{-1}));
}

}  // namespace oddrank::cpython
