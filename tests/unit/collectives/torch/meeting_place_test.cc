#include "collectives/torch/meeting_place.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using std::chrono::minutes;

// Stores as torch makes them; `counts`: bytes of reference counts, `abi`: of their texts.
class Stores {
 public:
  explicit Stores(std::uint64_t counts = 8, StringAbi abi = StringAbi::kNew)
      : fields_(16 + counts), abi_(abi) {}

  Addr tcp(std::string_view host, std::uint16_t port, std::int64_t timeout = 60'000) {
    const Addr store = make("N4c10d8TCPStoreE", timeout);
    put_text(store + fields_, host);
    heap_.put(store + fields_ + string_size(abi_), port);
    return store;
  }
  Addr file(std::string_view path) {
    const Addr store = make("N4c10d9FileStoreE", 60'000);
    put_text(store + fields_, path);
    return store;
  }
  Addr other() { return make("N4c10d9HashStoreE", 60'000); }
  Addr prefix(std::string_view text, Addr below) {
    const Addr store = make("N4c10d11PrefixStoreE", 300'000);
    put_text(store + fields_, text);
    heap_.put_pointer(store + fields_ + string_size(abi_), below);
    return store;
  }
  // Adds the Python object, and reads the store.
  std::optional<MeetingPlace> read(Addr store, std::string_view type = "PrefixStore") {
    const Addr object = heap_.object(heap_.type(type));
    heap_.put_pointer(object + heap_.layout().object.head, store);
    cpython::PythonMemory memory = heap_.memory();
    return read_meeting_place(memory, object);
  }
  test::PythonHeap& heap() { return heap_; }
  std::uint64_t fields() const { return fields_; }

 private:
  Addr make(std::string_view name, std::int64_t timeout) {
    const Addr type = heap_.allocate(16);
    const Addr table = heap_.allocate(16);
    const Addr text = heap_.allocate(name.size() + 1);
    for (std::size_t i = 0; i < name.size(); ++i) {
      heap_.put(text + i, name[i]);
    }
    heap_.put_pointer(type + 8, text);
    heap_.put_pointer(table, type);
    const Addr store = heap_.allocate(128);
    heap_.put_pointer(store, table + 8);
    heap_.put(store + fields_ - 8, timeout);
    return store;
  }
  void put_text(Addr at, std::string_view text) {
    const Addr whole = heap_.allocate(text.size() + 32);
    heap_.put(whole, std::uint64_t{text.size()});
    heap_.put(whole + 8, std::uint64_t{text.size()});
    for (std::size_t i = 0; i < text.size(); ++i) {
      heap_.put(whole + 24 + i, text[i]);
    }
    heap_.put_pointer(at, whole + 24);
    if (abi_ == StringAbi::kNew) {
      heap_.put(at + 8, std::uint64_t{text.size()});
      heap_.put(at + 16, std::uint64_t{text.size()});
    }
  }

  test::PythonHeap heap_{cpython::layout_3_11()};
  std::uint64_t fields_;
  StringAbi abi_;
};

TEST_CASE("a group's members met at the store below its prefixes") {
  for (const std::uint64_t counts : {8U, 16U}) {
    for (const StringAbi abi : {StringAbi::kNew, StringAbi::kOld}) {
      Stores stores(counts, abi);
      const Addr base = stores.tcp("trainer-0.cluster.local", 29777, 47 * 60'000);
      const Addr inner = stores.prefix("/worker/attempt_0 of a long name", base);
      const auto place = stores.read(stores.prefix("weights", inner));
      REQUIRE(place);
      CHECK(place->base == base);
      CHECK(place->where == "trainer-0.cluster.local:29777");
      CHECK(place->prefixes == "/worker/attempt_0 of a long name/weights/");
      CHECK(place->timeout == minutes(47));
    }
  }
}

TEST_CASE("stores of other kinds, and without a prefix") {
  Stores stores;
  CHECK(stores.read(stores.prefix("x", stores.file("/shared/meet")))->where == "/shared/meet");
  CHECK(stores.read(stores.prefix("x", stores.other()))->where.empty());
  const auto bare = stores.read(stores.tcp("n0", 29500), "torch._C._distributed_c10d.TCPStore");
  REQUIRE(bare);
  CHECK(bare->where == "n0:29500");
  CHECK(bare->prefixes.empty());
  CHECK_FALSE(bare->timeout);
}

TEST_CASE("a store that differs from torch's in any step is none") {
  Stores stores;
  const Addr base = stores.tcp("n0", 29500);
  CHECK_FALSE(stores.read(Addr{}));
  CHECK_FALSE(stores.read(Addr{0x10}));
  CHECK_FALSE(stores.read(base, "dict"));
  CHECK_FALSE(stores.read(stores.prefix("x", Addr{})));
  CHECK_FALSE(stores.read(stores.prefix("x\n", base)));
  CHECK_FALSE(stores.read(stores.prefix("", base)));
  const Addr ring = stores.prefix("x", base);
  stores.heap().put_pointer(ring + stores.fields() + 32, ring);
  const auto cut = stores.read(ring);
  CHECK((!cut || cut->where.empty()));
  CHECK(stores.read(stores.prefix("x", stores.tcp("n0", 0)))->where.empty());
  for (const std::int64_t timeout : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{999},
                                     std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    CHECK_FALSE(stores.read(stores.prefix("x", stores.tcp("n0", 1, timeout)))->timeout);
  }
}

}  // namespace
}  // namespace oddrank::collectives
