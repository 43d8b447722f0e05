// The test double that other rooms' tests use must itself behave like a target.
#include "tests/support/fake_target.h"

#include <unistd.h>

#include <array>

#include "tests/support/catch.h"

using oddrank::Errc;
using oddrank::attach::Addr;
using oddrank::attach::Mapping;
using oddrank::attach::read_object;
using oddrank::attach::ReadRequest;
using oddrank::attach::ThreadState;
using oddrank::test::FakeTarget;

TEST_CASE("fake memory is read whole or not at all") {
  FakeTarget target;
  target.add_object(Addr{0x1000}, std::uint32_t{0x11223344});
  target.add_object(Addr{0x1004}, std::uint32_t{0x55667788});
  CHECK(*read_object<std::uint64_t>(target, Addr{0x1000}) == 0x5566778811223344U);
  CHECK_FALSE(read_object<std::uint64_t>(target, Addr{0x1004}));
  CHECK_FALSE(read_object<std::uint8_t>(target, Addr{0xfff}));
  CHECK_FALSE(read_object<std::uint64_t>(target, Addr{~std::uint64_t{0} - 3}));
  target.add_object(Addr{0x1002}, std::uint8_t{0xaa});
  CHECK(*read_object<std::uint32_t>(target, Addr{0x1000}) == 0x11aa3344U);
}

TEST_CASE("many fake reads return how much each got") {
  FakeTarget target;
  target.add_memory(Addr{0x2000}, "abcdef");
  std::array<std::byte, 4> first{};
  std::array<std::byte, 4> second{};
  std::array<ReadRequest, 3> requests{ReadRequest{Addr{0x2000}, first},
                                      ReadRequest{Addr{0x2004}, second},
                                      ReadRequest{Addr{0x9000}, second}};
  target.read_many(requests);
  CHECK(requests[0].got == 4);
  CHECK(requests[1].got == 2);
  CHECK(requests[2].got == 0);
  CHECK(target.read_calls() == 1);
}

TEST_CASE("fake files are opened by the path of their mapping") {
  FakeTarget target;
  target.add_file("/lib/a.so", "ELF");
  Mapping mapping;
  mapping.path = "/lib/a.so";
  const auto fd = target.open_file(mapping);
  REQUIRE(fd);
  std::array<char, 8> bytes{};
  CHECK(::read(fd->get(), bytes.data(), bytes.size()) == 3);
  mapping.path = "/lib/b.so";
  CHECK_FALSE(target.open_file(mapping));
}

TEST_CASE("a fake thread can move between two reads") {
  FakeTarget target;
  ThreadState state;
  state.tid = 7;
  target.set_threads({state});
  std::uint64_t looks = 0;
  target.on_look([&](ThreadState& seen) { seen.voluntary_switches = ++looks; });
  CHECK(target.threads()->at(0).voluntary_switches == 1);
  CHECK(target.thread(7)->voluntary_switches == 2);
  CHECK(target.thread(8).error().code == Errc::kGone);
}
