#include "cpython/thread_state.h"

#include <algorithm>
#include <cstring>
#include <string>

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
  // Adds threads 1 to `count` to an interpreter without any, as one piece of memory.
  void add_threads(Addr interpreter, std::size_t count) {
    constexpr std::size_t kSize = 512;
    const Layout& layout = heap.layout();
    const Addr first = heap.allocate(kSize * count);
    std::string bytes(kSize * count, '\0');
    const auto put = [&bytes](std::size_t at, std::uint64_t value) {
      std::memcpy(bytes.data() + at, &value, sizeof value);
    };
    for (std::size_t i = 0; i < count; ++i) {
      put(i * kSize + layout.thread.next, i == 0 ? 0 : value_of(first) + (i - 1) * kSize);
      put(i * kSize + layout.thread.interp, value_of(interpreter));
      put(i * kSize + layout.thread.thread_id, i + 1);
    }
    heap.target().add_memory(first, bytes);
    heap.put_pointer(interpreter + layout.interpreter.threads_head, first + (count - 1) * kSize);
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

TEST_CASE("of too many threads the main one is read, and the others are counted", "[cpython]") {
  for (const std::size_t count :
       {kMaxThreads, kMaxThreads + 1, kMaxThreads + 2, 10 * kMaxThreads}) {
    INFO(count);
    FakeRuntime fake(layout_3_12());
    const Addr main = fake.add_interpreter(Addr{});
    fake.add_threads(main, count);
    PythonMemory memory = fake.heap.memory();
    const auto states = read_thread_states(memory, fake.runtime);
    REQUIRE(states);
    CHECK(states->threads.size() == std::min(count, kMaxThreads + 1));
    CHECK(states->threads.size() + states->left_out == count);
    CHECK(states->threads.front().pthread == count);
    CHECK(states->threads.back().pthread == 1);
  }
}

TEST_CASE("the main interpreter is read behind too many others", "[cpython]") {
  constexpr std::uint64_t kMainThread = 77;
  for (const std::size_t others : {kMaxInterpreters, 10 * kMaxInterpreters}) {
    INFO(others);
    FakeRuntime fake(layout_3_12());
    const Layout& layout = layout_3_12();
    const Addr main = fake.add_interpreter(Addr{});
    fake.add_thread(main, kMainThread);
    const Addr head = fake.runtime + layout.runtime.interpreters_head;
    fake.heap.put_pointer(head + kPointerSize, main);
    Addr newest = main;
    for (std::size_t i = 0; i < others; ++i) {
      newest = fake.add_interpreter(newest);
      fake.heap.put(newest + layout.interpreter.id, static_cast<std::int64_t>(i + 1));
    }
    fake.add_threads(newest, kMaxThreads + 1);
    PythonMemory memory = fake.heap.memory();
    const auto states = read_thread_states(memory, fake.runtime);
    REQUIRE(states);
    CHECK(states->interpreters.size() == kMaxInterpreters + 1);
    CHECK(states->interpreters.back().address == main);
    CHECK(states->threads.back().pthread == kMainThread);
    CHECK(states->interpreters[states->threads.back().interpreter].id == 0);
  }
}

}  // namespace oddrank::cpython
