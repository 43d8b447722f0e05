// A store's daemon in made-up memory, laid out as measured. Real ones:
// tests/live/store_keys_test.py.
#include "collectives/torch/store_contents.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;

constexpr std::uint64_t kStoreHeap = 0x20000000;
constexpr std::uint64_t kStoreHeapBytes = 0x40000;
constexpr std::uint64_t kStoreStack = 0x30000000;
constexpr std::uint64_t kTorchBase = 0x7f0000000000;
constexpr std::string_view kDaemonClass = "N4c10d6detail16LibUVStoreDaemonE";
constexpr std::uint64_t kMapsInDaemon = 1008;

class StoreMemory {
 public:
  explicit StoreMemory(std::string_view class_name = kDaemonClass) {
    add_mapping(kStoreHeap, kStoreHeapBytes, "");
    add_mapping(kStoreStack, 0x10000, "");
    add_mapping(kTorchBase, 0x2000, "/v/torch/lib/libtorch_cpu.so");
    put(daemon_, kTorchBase + 0x110);             // virtual table
    put(kTorchBase + 0x108, kTorchBase + 0x200);  // type_info
    put(kTorchBase + 0x208, kTorchBase + 0x300);  // its name
    target_.add_memory(Addr{kTorchBase + 0x300}, std::string(class_name) + '\0');
    put(kStoreStack + 0x3e00, daemon_);
    attach::ThreadState thread;
    thread.name = "pt_tcpstore_uv";
    thread.registers.emplace().sp = kStoreStack + 0x100;
    threads_.push_back(thread);
  }

  // Adds a map with these keys, whose vectors have so many bytes each, and `count` as its size.
  void add_map(std::uint64_t index,
               const std::vector<std::pair<std::string, std::uint64_t>>& keys,
               std::uint64_t count) {
    const std::uint64_t map = daemon_ + kMapsInDaemon + 56 * index;
    put(map, kStoreHeap + 0x100);
    put(map + 8, 97);
    std::uint64_t from = map + 16;
    for (const auto& [key, bytes] : keys) {
      const std::uint64_t node = next_;
      next_ += 0x100;
      put(from, node);
      put(node + 8, node + 0x80);
      put(node + 16, key.size());
      put(node + 24, key.size());
      target_.add_memory(Addr{node + 0x80}, key);
      put(node + 40, kStoreHeap);
      put(node + 48, kStoreHeap + bytes);
      put(node + 56, kStoreHeap + bytes);
      from = node;
      last_ = node;
    }
    put(map + 24, count);
    target_.add_object(Addr{map + 32}, 1.0F);
  }
  // Makes the last node of the last map point to itself.
  void close_circle() { put(last_, last_); }

  std::vector<std::pair<std::string, std::uint32_t>> read() const {
    snapshot::Tables tables;
    snapshot::ProcessCapture process;
    collect_store(target_, threads_, tables, process);
    std::vector<std::pair<std::string, std::uint32_t>> found;
    for (const snapshot::StoreKey& key : process.store) {
      found.emplace_back(tables.text(key.name), key.waiting);
    }
    return found;
  }

 private:
  void add_mapping(std::uint64_t start, std::uint64_t bytes, std::string_view path) {
    attach::Mapping mapping;
    mapping.start = start;
    mapping.end = start + bytes;
    mapping.readable = true;
    mapping.writable = path.empty();
    mapping.path = path;
    target_.add_mapping(mapping);
    target_.add_memory(Addr{start}, std::string(bytes, '\0'));
  }
  void put(std::uint64_t at, std::uint64_t value) { target_.add_object(Addr{at}, value); }

  test::FakeTarget target_;
  std::vector<attach::ThreadState> threads_;
  std::uint64_t daemon_ = kStoreHeap + 0x1000;
  std::uint64_t next_ = kStoreHeap + 0x4000;
  std::uint64_t last_ = 0;
};

using StoreRows = std::vector<std::pair<std::string, std::uint32_t>>;

TEST_CASE("store contents: what is set, and for what clients wait") {
  StoreMemory memory;
  memory.add_map(0, {{"/b", 40}, {"/a", 0}}, 2);
  memory.add_map(1, {{"/c", 24}, {"/a", 8}, {"/d", 0}}, 3);  // /a was set meanwhile; none for /d
  CHECK(memory.read() == StoreRows{{"a", 0}, {"b", 0}, {"c", 3}});
}

TEST_CASE("store contents: secrets in keys are masked") {
  StoreMemory memory;
  memory.add_map(0, {{"/password=hunter2hunter2", 4}}, 1);
  memory.add_map(1, {}, 0);
  const auto rows = memory.read();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].first.find("hunter2") == std::string::npos);
}

TEST_CASE("store contents: nothing is said of what looks otherwise") {
  const std::vector<std::pair<std::string, std::uint64_t>> two = {{"/a", 8}, {"/b", 8}};
  {
    StoreMemory memory("N4c10d8TCPStoreE");  // another class
    memory.add_map(0, two, 2);
    memory.add_map(1, {}, 0);
    CHECK(memory.read().empty());
  }
  for (const std::uint64_t count : {0UL, 1UL, 3UL, 1UL << 40}) {
    StoreMemory memory;
    memory.add_map(0, two, count);
    memory.add_map(1, {}, 0);
    INFO(count);
    CHECK(memory.read().empty());
  }
  {
    StoreMemory memory;
    memory.add_map(0, two, 90);
    memory.close_circle();
    memory.add_map(1, {}, 0);
    CHECK(memory.read().empty());
  }
  {
    StoreMemory memory;
    memory.add_map(0, {{std::string(5000, 'k'), 8}}, 1);
    memory.add_map(1, {}, 0);
    CHECK(memory.read().empty());
  }
  {
    StoreMemory memory;  // one map alone
    memory.add_map(0, two, 2);
    CHECK(memory.read().empty());
  }
}

}  // namespace
}  // namespace oddrank::collectives
