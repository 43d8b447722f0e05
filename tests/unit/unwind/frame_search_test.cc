#include "unwind/frame_search.h"

#include <cstring>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "unwind/call_site.h"

namespace oddrank::unwind {
namespace {

constexpr std::uint64_t kCode = 0x400000;
constexpr std::uint64_t kSearchedStack = 0x7ffe00000000;

// One page of code, in which calls are put, and a stack.
struct Fixture {
  test::FakeTarget target;
  std::string code = std::string(4096, '\x90');

  Fixture() {
    attach::Mapping mapping;
    mapping.start = kCode;
    mapping.end = kCode + code.size();
    mapping.readable = true;
    mapping.executable = true;
    target.add_mapping(mapping);
  }
  void put(std::size_t at, std::string_view bytes) { code.replace(at, bytes.size(), bytes); }
  // Writes "call to": its return address is kCode + at + 5.
  void put_call(std::size_t at, std::uint64_t to) {
    const auto distance = static_cast<std::int32_t>(to - (kCode + at + 5));
    put(at, "\xe8");
    put(at + 1, std::string_view(reinterpret_cast<const char*>(&distance), sizeof distance));
  }
  void finish(const std::vector<std::uint64_t>& stack) {
    target.add_memory(attach::Addr{kCode}, code);
    target.add_memory(attach::Addr{kSearchedStack}, std::as_bytes(std::span(stack)));
    std::vector<std::byte> rest(4096);
    target.add_memory(attach::Addr{kSearchedStack + stack.size() * 8}, rest);
  }
};

TEST_CASE("call_site: direct calls show their target, even behind a stub of the linker") {
  Fixture fixture;
  fixture.put_call(0x100, kCode + 0x800);
  fixture.put_call(0x200, kCode + 0x900);
  fixture.put_call(0x300, kCode + 0xa00);
  // jmp *0x80(%rip), plain and as it is where control flow is enforced.
  fixture.put(0x900, std::string_view("\xff\x25\x80\x00\x00\x00", 6));
  fixture.put(0xa00, std::string_view("\xf3\x0f\x1e\xfa\xf2\xff\x25\x80\x00\x00\x00", 11));
  const std::uint64_t slots[] = {0x1111, 0x2222};
  fixture.put(0x986, std::string_view(reinterpret_cast<const char*>(&slots[0]), 8));
  fixture.put(0xa8b, std::string_view(reinterpret_cast<const char*>(&slots[1]), 8));
  fixture.finish({});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(call_before(kCode + 0x105, memory).kind == CallKind::kDirect);
  CHECK(call_before(kCode + 0x105, memory).target == kCode + 0x800);
  CHECK(call_before(kCode + 0x205, memory).target == 0x1111);
  CHECK(call_before(kCode + 0x305, memory).target == 0x2222);
}

TEST_CASE("call_site: indirect calls, other code, and no memory") {
  Fixture fixture;
  fixture.put(0x100, "\xff\xd0");                                       // call *%rax
  fixture.put(0x200, std::string_view("\xff\x90\x10\x00\x00\x00", 6));  // call *16(%rax)
  fixture.put(0x300, std::string_view("\xff\x25\x10\x00\x00\x00", 6));  // jmp *16(%rip)
  fixture.finish({});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(call_before(kCode + 0x102, memory).kind == CallKind::kIndirect);
  CHECK(call_before(kCode + 0x206, memory).kind == CallKind::kIndirect);
  CHECK(call_before(kCode + 0x306, memory).kind == CallKind::kNone);
  CHECK(call_before(kCode + 0x400, memory).kind == CallKind::kNone);
  CHECK(call_before(0x1000, memory).kind == CallKind::kNone);
  CHECK(call_before(0, memory).kind == CallKind::kNone);
}

TEST_CASE("frame_search: a call of the function itself comes before nearer calls of others") {
  Fixture fixture;
  fixture.put_call(0x100, kCode + 0x800);  // of another function
  fixture.put_call(0x200, kCode + 0x900);  // of ours
  fixture.finish({1, kCode + 0x105, kCode + 0x400, kSearchedStack, kCode + 0x205, 2});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  const auto found =
      find_frames(fixture.target.maps(), memory, kSearchedStack + 3, 0, kCode + 0x900);
  REQUIRE(found.size() == 2);
  CHECK(found[0].proven);
  CHECK(found[0].return_address == kCode + 0x205);
  CHECK(found[0].frame_end == kSearchedStack + 40);
  CHECK_FALSE(found[1].proven);
  CHECK(found[1].return_address == kCode + 0x105);
  CHECK(found[1].frame_end == kSearchedStack + 16);
}

TEST_CASE("frame_search: candidates are bounded, and memory that ends is no error") {
  Fixture fixture;
  fixture.put_call(0x100, kCode + 0x800);
  fixture.finish(std::vector<std::uint64_t>(400, kCode + 0x105));
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(find_frames(fixture.target.maps(), memory, kSearchedStack, 0, 0).size() == 16);
  CHECK(find_frames(fixture.target.maps(), memory, 0x1000, 0, 0).empty());
  CHECK(find_frames(fixture.target.maps(), memory, ~std::uint64_t{0} - 4, 0, 0).empty());
}

}  // namespace
}  // namespace oddrank::unwind
