#include "cpython/thread_state.h"

#include "tests/support/catch.h"
#include "tests/unit/cpython/cpython_heap.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

// A runtime with interpreters and thread states, as the layout says.
struct FakeRuntime {
  test::PythonHeap heap;
  Addr runtime;

  explicit FakeRuntime(const Layout& layout) : heap(layout), runtime(heap.allocate(2048)) {}

  Addr add_interpreter(Addr next) {
    const Addr interpreter = heap.allocate(8192);
    heap.put_pointer(interpreter + heap.layout().interpreter.next, next);
    heap.put_pointer(runtime + heap.layout().runtime.interpreters_head, interpreter);
    return interpreter;
  }
  Addr add_thread(Addr interpreter, std::uint64_t pthread) {
    const Layout& layout = heap.layout();
    const Addr thread = heap.allocate(512);
    const Addr head = interpreter + layout.interpreter.threads_head;
    const auto old = attach::read_object<std::uint64_t>(heap.target(), head);
    heap.put(thread + layout.thread.next, old.value_or(0));
    heap.put_pointer(thread + layout.thread.interp, interpreter);
    heap.put(thread + layout.thread.thread_id, pthread);
    heap.put_pointer(head, thread);
    return thread;
  }
  std::vector<ThreadStateRow> read() {
    PythonMemory memory = heap.memory();
    return read_thread_states(memory, runtime).value_or(ThreadStates{}).threads;
  }
};

}  // namespace

TEST_CASE("threads of all interpreters, with the holder of the one GIL", "[cpython]") {
  FakeRuntime fake(layout_3_10());
  const Addr main = fake.add_interpreter(Addr{});
  fake.add_thread(main, 1);
  const Addr second = fake.add_thread(main, 2);
  const Addr sub = fake.add_interpreter(main);
  fake.add_thread(sub, 3);
  auto rows = fake.read();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].pthread == 3);
  CHECK(rows[1].pthread == 2);
  CHECK(rows[2].pthread == 1);
  CHECK_FALSE(rows[1].holds_gil);

  fake.heap.put_pointer(fake.runtime + layout_3_10().runtime.tstate_current, second);
  rows = fake.read();
  CHECK(rows[1].holds_gil);
  CHECK_FALSE(rows[2].holds_gil);
}

TEST_CASE("from 3.12 on the last holder counts while the GIL is locked", "[cpython]") {
  FakeRuntime fake(layout_3_12());
  const Addr main = fake.add_interpreter(Addr{});
  const Addr thread = fake.add_thread(main, 1);
  const Addr gil = fake.heap.allocate(256);
  fake.heap.put_pointer(main + layout_3_12().interpreter.gil, gil);
  fake.heap.put_pointer(gil + layout_3_12().gil.last_holder, thread);
  CHECK_FALSE(fake.read().at(0).holds_gil);
  fake.heap.put(gil + layout_3_12().gil.locked, std::int32_t{1});
  CHECK(fake.read().at(0).holds_gil);
}

TEST_CASE("lists that do not end, and states that do not fit", "[cpython]") {
  FakeRuntime fake(layout_3_9());
  const Addr main = fake.add_interpreter(Addr{});
  const Addr oldest = fake.add_thread(main, 1);
  fake.add_thread(main, 2);
  const Addr newest = fake.add_thread(main, 3);
  fake.heap.put_pointer(oldest + layout_3_9().thread.next, newest);  // a circle
  CHECK(fake.read().size() >= 3);
  CHECK(fake.read().size() < 16);

  fake.heap.put_pointer(main + layout_3_9().interpreter.next, main);
  CHECK(fake.read().size() < 16);

  fake.heap.put_pointer(newest + layout_3_9().thread.interp, Addr{0x1234567});
  PythonMemory memory = fake.heap.memory();
  const auto rows = read_thread_states(memory, fake.runtime);
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == Errc::kBadData);
  PythonMemory elsewhere = fake.heap.memory();
  CHECK_FALSE(read_thread_states(elsewhere, Addr{0xdead0000}));
}

}  // namespace oddrank::cpython
