#include "collectives/store_timeout.h"

#include <optional>
#include <string>
#include <string_view>

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::int64_t kOwn = 300'000;

// Stores in a row as torch makes them, the outermost first; `counts`: bytes of reference counts.
class Stores {
 public:
  explicit Stores(std::uint64_t counts = 8) : timeout_at_(8 + counts) {}

  Addr last(std::int64_t timeout) { return make(tcp_, timeout); }
  Addr prefix(std::string_view text, Addr below, std::int64_t own = kOwn) {
    const Addr store = make(prefix_, own);
    const Addr string = store + timeout_at_ + 8;
    Addr data = string + 16;
    if (text.size() > 15) {
      data = heap_.allocate(text.size() + 1);
      heap_.put(string + 16, std::uint64_t{text.size()});  // the capacity
    }
    heap_.put_pointer(string, data);
    heap_.put(string + 8, std::uint64_t{text.size()});
    heap_.put_pointer(string + 32, below);
    return store;
  }
  // Adds a store's Python object as pybind11 holds it.
  Addr python(std::string_view type, Addr store, std::optional<Addr> holder = {}) {
    const Addr object = heap_.object(heap_.type(type));
    heap_.put_pointer(object + heap_.layout().object.head, store);
    heap_.put_pointer(object + heap_.layout().object.head + 8, holder.value_or(store));
    return object;
  }

  std::optional<milliseconds> timeout(Addr store) const {
    cpython::RemoteReader reader(heap_.target());
    return read_store_timeout(reader, store);
  }
  Addr store_of(Addr object) const {
    cpython::PythonMemory memory = heap_.memory();
    return prefix_store_of(memory, object);
  }
  test::PythonHeap& heap() { return heap_; }

 private:
  Addr make(Addr vtable, std::int64_t timeout) {
    const Addr store = heap_.allocate(96);
    heap_.put_pointer(store, vtable);
    heap_.put(store + 8, std::uint64_t{3});
    heap_.put(store + timeout_at_, timeout);
    return store;
  }

  test::PythonHeap heap_{cpython::layout_3_11()};
  std::uint64_t timeout_at_;
  Addr prefix_ = heap_.allocate(16);  // vtables
  Addr tcp_ = heap_.allocate(16);
};

TEST_CASE("the timeout of the store below its prefixes is the group's") {
  for (const std::uint64_t counts : {8U, 16U}) {
    Stores stores(counts);
    const Addr inner = stores.prefix("/worker/attempt_0 of a long name", stores.last(47 * 60'000));
    const Addr outer = stores.prefix("default_pg", inner);
    CHECK(stores.timeout(outer) == minutes(47));
    CHECK(stores.timeout(inner) == minutes(47));
  }
}

TEST_CASE("the Python object of a store leads to it") {
  Stores stores;
  const Addr store = stores.prefix("0/", stores.last(60'000));
  const char* name = "torch._C._distributed_c10d.PrefixStore";
  CHECK(stores.store_of(stores.python(name, store)) == store);
  CHECK(stores.store_of(stores.python("PrefixStore", store)) == store);
  CHECK(stores.store_of(stores.python("torch._C._distributed_c10d.TCPStore", store)) == Addr{});
  // Its holder is something else: another kind of holder, or another layout.
  CHECK(stores.store_of(stores.python(name, store, store + 8)) == Addr{});
  CHECK(stores.store_of(Addr{}) == Addr{});
}

TEST_CASE("an object that differs from torch's stores in any step has no timeout") {
  Stores stores;
  const Addr last = stores.last(60'000);
  CHECK_FALSE(stores.timeout(Addr{}));
  CHECK_FALSE(stores.timeout(last));
  CHECK_FALSE(stores.timeout(stores.prefix("x", last, 299'999)));
  CHECK_FALSE(stores.timeout(stores.prefix("x", Addr{})));
  CHECK_FALSE(stores.timeout(stores.prefix("x", Addr{0x10})));
  for (const std::int64_t timeout : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{999},
                                     std::int64_t{1} << 40, INT64_MAX, INT64_MIN}) {
    CHECK_FALSE(stores.timeout(stores.prefix("x", stores.last(timeout))));
  }
  // A text that cannot be one.
  const Addr odd = stores.prefix("x", last);
  stores.heap().put(odd + 32, std::uint64_t{16});
  CHECK_FALSE(stores.timeout(odd));
  // A store that contains itself.
  const Addr ring = stores.prefix("x", last);
  stores.heap().put_pointer(ring + 24 + 32, ring);
  CHECK_FALSE(stores.timeout(ring));
}

}  // namespace
}  // namespace oddrank::collectives
