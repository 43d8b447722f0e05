#include "unwind/frame_search.h"

#include <cstring>

#include "base/machine.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/support/machine_code.h"
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
  // Writes "call to", and returns its return address.
  std::uint64_t put_call(std::size_t at, std::uint64_t to) {
    const std::string call = test::call_code(kCode + at, to);
    put(at, call);
    return kCode + at + call.size();
  }
  void put_stub(std::size_t at, std::size_t slot, std::uint64_t behind, bool guarded) {
    put(at, test::stub_code(kCode + at, kCode + slot, guarded));
    put(slot, std::string_view(reinterpret_cast<const char*>(&behind), sizeof behind));
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
  const std::uint64_t plain = fixture.put_call(0x100, kCode + 0x800);
  const std::uint64_t by_stub = fixture.put_call(0x200, kCode + 0x900);
  const std::uint64_t by_guarded_stub = fixture.put_call(0x300, kCode + 0xa00);
  fixture.put_stub(0x900, 0x980, 0x1111, false);
  fixture.put_stub(0xa00, 0xa80, 0x2222, true);
  fixture.finish({});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(call_before(plain, memory).kind == CallKind::kDirect);
  CHECK(call_before(plain, memory).target == kCode + 0x800);
  CHECK(call_before(by_stub, memory).target == 0x1111);
  CHECK(call_before(by_guarded_stub, memory).target == 0x2222);
}

TEST_CASE("call_site: indirect calls, other code, and no memory") {
  Fixture fixture;
  std::vector<std::uint64_t> returns;
  for (const std::string& call : test::indirect_calls()) {
    const std::size_t at = 0x100 * (returns.size() + 1);
    fixture.put(at, call);
    returns.push_back(kCode + at + call.size());
  }
  fixture.put(0x800, test::jump_code());
  fixture.finish({});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  for (const std::uint64_t return_address : returns) {
    CHECK(call_before(return_address, memory).kind == CallKind::kIndirect);
  }
  CHECK(call_before(kCode + 0x800 + test::jump_code().size(), memory).kind == CallKind::kNone);
  CHECK(call_before(kCode + 0x900, memory).kind == CallKind::kNone);
  CHECK(call_before(0x1000, memory).kind == CallKind::kNone);
  CHECK(call_before(0, memory).kind == CallKind::kNone);
}

TEST_CASE("frame_search: a call of the function itself comes before nearer calls of others") {
  Fixture fixture;
  const std::uint64_t of_another = fixture.put_call(0x100, kCode + 0x800);
  const std::uint64_t of_ours = fixture.put_call(0x200, kCode + 0x900);
  // Below each return address is a frame pointer, which says where the frame ends if that is not
  // just above.
  constexpr std::uint64_t kFirstRecord = kSearchedStack + 24;
  constexpr std::uint64_t kSecondRecord = kSearchedStack + 64;
  fixture.finish({kFirstRecord, of_another, kCode + 0x400, kSecondRecord, of_ours, 2});
  const auto end_of = [](std::uint64_t end, std::uint64_t record) {
    return test::kReturnAddressInMemory ? end : record;
  };
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  const auto found =
      find_frames(fixture.target.maps(), memory, kSearchedStack + 3, 0, kCode + 0x900);
  REQUIRE(found.size() == 2);
  CHECK(found[0].proven());
  CHECK(found[0].return_address == of_ours);
  CHECK(found[0].frame_end == end_of(kSearchedStack + 40, kSecondRecord));
  CHECK_FALSE(found[1].proven());
  CHECK(found[1].return_address == of_another);
  CHECK(found[1].frame_end == end_of(kSearchedStack + 16, kFirstRecord));
}

TEST_CASE("call_site: jumps, the return from a signal, and the end of a thread") {
  Fixture fixture;
  fixture.put(0x104, test::jump_code(kCode + 0x104, kCode + 0x800));
  fixture.put(0x200, test::signal_return_code());
  constexpr std::uint32_t kExit = kOurMachine == Machine::kAmd64 ? 60 : 93;
  fixture.put(0x300, test::load_number_code(kExit) + test::system_call_code());
  fixture.put(0x400, test::load_number_code(kExit + 1) + test::system_call_code());
  fixture.finish({});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(jump_between({kCode + 0x100, 16}, {kCode + 0x800, 1}, memory) == kCode + 0x800);
  CHECK_FALSE(jump_between({kCode + 0x100, 16}, {kCode + 0x801, 99}, memory));
  CHECK_FALSE(jump_between({kCode + 0x120, 64}, {kCode, 4096}, memory));
  CHECK_FALSE(jump_between({0x1000, 64}, {0, ~std::uint64_t{0}}, memory));
  CHECK(returns_from_signal(kCode + 0x200, memory));
  CHECK_FALSE(returns_from_signal(kCode + 0x300, memory));
  CHECK(ends_thread(kCode + 0x300, memory));
  CHECK_FALSE(ends_thread(kCode + 0x400, memory));
  CHECK_FALSE(ends_thread(0x1000, memory));
}

// Code at 0x940 belongs to the last function that is called before it: a call of an earlier one, or
// of a later one, leads elsewhere.
TEST_CASE("frame_search: without a table, a call leads to the function that begins nearest") {
  Fixture fixture;
  const std::uint64_t of_earlier = fixture.put_call(0x100, kCode + 0x800);
  const std::uint64_t of_later = fixture.put_call(0x200, kCode + 0xa00);
  const std::uint64_t of_ours = fixture.put_call(0x300, kCode + 0x900);
  const std::string indirect = test::indirect_calls().front();
  fixture.put(0x400, indirect);
  const std::uint64_t of_any = kCode + 0x400 + indirect.size();
  // Frame pointers below the return addresses, which lead to the next ones.
  const auto record = [](std::uint64_t word) { return kSearchedStack + word * 8; };
  std::vector<std::uint64_t> stack = {record(2), of_earlier, record(4), of_later,  record(6),
                                      of_any,    record(8),  of_ours,   record(9), 0};
  SECTION("it is called") {}
  SECTION("the called one jumps to it") {
    fixture.put(0x600, test::jump_code(kCode + 0x600, kCode + 0x900));
    stack[7] = fixture.put_call(0x300, kCode + 0x600);
  }
  fixture.finish(stack);
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CodeRanges code(fixture.target, modules, memory);
  const auto found =
      find_callers(fixture.target.maps(), memory, kSearchedStack, 0, kCode + 0x940, code);
  REQUIRE(found.size() == 4);
  CHECK(found[0].return_address == of_any);
  CHECK_FALSE(found[0].proven());
  CHECK(found[1].return_address == of_ours);
  CHECK(found[1].called == kCode + 0x900);
  CHECK(found[2].return_address == of_earlier);
  CHECK(found[2].elsewhere);
  CHECK(found[3].return_address == of_later);
  CHECK(found[3].elsewhere);
}

TEST_CASE("frame_search: what a handler of signals returns to is a candidate") {
  Fixture fixture;
  fixture.put(0x200, test::signal_return_code());
  fixture.finish({kSearchedStack + 16, kCode + 0x200, kSearchedStack + 24, 0});
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  const auto found = find_frames(fixture.target.maps(), memory, kSearchedStack, 0, kCode + 0x900);
  REQUIRE(found.size() == 1);
  CHECK(found[0].to_kernel);
  CHECK_FALSE(found[0].proven());
}

TEST_CASE("frame_search: candidates are bounded, and memory that ends is no error") {
  Fixture fixture;
  std::vector<std::uint64_t> stack(400, fixture.put_call(0x100, kCode + 0x800));
  for (std::size_t i = 0; i < stack.size(); i += 2) {
    stack[i] = kSearchedStack + stack.size() * 8;
  }
  fixture.finish(stack);
  elf::ModuleMap modules(fixture.target);
  UnwindMemory memory(fixture.target, modules);
  CHECK(find_frames(fixture.target.maps(), memory, kSearchedStack, 0, 0).size() == 16);
  CHECK(find_frames(fixture.target.maps(), memory, 0x1000, 0, 0).empty());
  CHECK(find_frames(fixture.target.maps(), memory, ~std::uint64_t{0} - 4, 0, 0).empty());
}

}  // namespace
}  // namespace oddrank::unwind
