#include "unwind/stack_copy.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::unwind {
namespace {

constexpr std::uint64_t kMain = 0x7ffe00000000;
constexpr std::uint64_t kOwn = 0x7f0000000000;
constexpr std::uint64_t kAlternate = 0x600000;
constexpr std::uint64_t kSize = 0x10000;

void add_stack(test::FakeTarget& target, std::uint64_t start, const std::string& path) {
  attach::Mapping mapping;
  mapping.start = start;
  mapping.end = start + kSize;
  mapping.readable = true;
  mapping.writable = true;
  mapping.path = path;
  target.add_mapping(mapping);
  target.add_memory(attach::Addr{start}, std::string(kSize, '\0'));
}

attach::ThreadState thread_at(pid_t tid, std::uint64_t stack_pointer, std::uint64_t fs_base) {
  attach::ThreadState thread;
  thread.tid = tid;
  thread.registers = attach::Registers{};
  thread.registers->sp = stack_pointer;
  thread.registers->thread_pointer = fs_base;
  return thread;
}

std::vector<StackCopy> copy(const test::FakeTarget& target,
                            const std::vector<attach::ThreadState>& threads) {
  std::vector<const attach::ThreadState*> pointers;
  pointers.reserve(threads.size());
  for (const attach::ThreadState& thread : threads) {
    pointers.push_back(&thread);
  }
  return StackCopier(threads.size()).copy(target, pointers);
}

TEST_CASE("stack_copy: from the red zone to the top of the mapping") {
  test::FakeTarget target;
  add_stack(target, kOwn, "");
  const auto copies = copy(target, {thread_at(12, kOwn + 0x8000, kOwn + kSize - 0x100)});
  REQUIRE(copies.size() == 1);
  REQUIRE(copies[0].size() == 1);
  CHECK(copies[0][0].address == kOwn + 0x8000 - 128);
  CHECK(copies[0][0].bytes.size() == 0x8000 + 128);
}

TEST_CASE("stack_copy: the stack that a signal handler's thread came from") {
  test::FakeTarget target(4711);
  add_stack(target, kMain, "[stack]");
  add_stack(target, kOwn, "");
  add_stack(target, kAlternate, "");
  // The kernel's saved stack pointer, and an older word above it.
  target.add_object(attach::Addr{kAlternate + 0x8100}, kOwn + 0x9000);
  target.add_object(attach::Addr{kAlternate + 0x8108}, kOwn + 0x9900);
  target.add_object(attach::Addr{kAlternate + 0x8110}, kMain + 0x4000);
  const auto copies = copy(target, {thread_at(12, kAlternate + 0x8000, kOwn + kSize - 0x100),
                                    thread_at(4711, kAlternate + 0x8000, kAlternate + 0x40)});
  REQUIRE(copies.size() == 2);
  REQUIRE(copies[0].size() == 2);
  CHECK(copies[0][1].address == kOwn + 0x9000 - 128);
  CHECK(copies[0][1].address + copies[0][1].bytes.size() == kOwn + kSize);
  // The main thread's has a name; its fs_base lies elsewhere.
  REQUIRE(copies[1].size() == 2);
  CHECK(copies[1][1].address == kMain + 0x4000 - 128);
}

TEST_CASE("stack_copy: stack pointers that point nowhere, and no thread") {
  test::FakeTarget target;
  add_stack(target, kOwn, "");
  CHECK(copy(target, {}).empty());
  const auto copies =
      copy(target, {thread_at(1, 0, 0), thread_at(2, ~std::uint64_t{0}, ~std::uint64_t{0}),
                    thread_at(3, kOwn + kSize, 0), thread_at(4, kOwn, kOwn)});
  REQUIRE(copies.size() == 4);
  CHECK(copies[0].empty());
  CHECK(copies[1].empty());
  CHECK(copies[3].size() == 1);
}

TEST_CASE("stack_copy: many deep stacks are cut, not refused") {
  test::FakeTarget target;
  attach::Mapping mapping;
  mapping.start = kOwn;
  mapping.end = kOwn + (std::uint64_t{1} << 30);
  target.add_mapping(mapping);
  target.add_memory(attach::Addr{kOwn}, std::string(std::size_t{1} << 18, '\0'));
  const auto copies =
      copy(target, std::vector<attach::ThreadState>(200, thread_at(1, kOwn + 128, 0)));
  REQUIRE(copies.size() == 200);
  CHECK(copies[199].at(0).bytes.size() == (std::size_t{16} << 10));
}

}  // namespace
}  // namespace oddrank::unwind
