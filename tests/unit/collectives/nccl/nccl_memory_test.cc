// Communicators in made-up memory. Real libraries: tests/live/ras_test.py.
#include "collectives/nccl/nccl_memory.h"

#include <array>
#include <cstdint>
#include <vector>

#include "collectives/nccl/nccl_layout.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using test::FakeTarget;

constexpr Addr kList{0x1000}, kEntries{0x1008}, kArray{0x2000}, kPeers{0x3000}, kAbort{0x4000};
constexpr Addr kFirst{0x10000000}, kSecond{0x20000000};

NcclVariables list_of(const std::string& version) {
  return {version, kList, kEntries};
}

void add_list(FakeTarget& target, const std::vector<std::uint64_t>& addresses) {
  target.add_object(kList, attach::value_of(kArray));
  target.add_object(kEntries, static_cast<std::int32_t>(addresses.size()));
  target.add_memory(kArray, std::as_bytes(std::span(addresses)));
}

void add_communicator(
    FakeTarget& target, const NcclLayout& layout, Addr at, std::uint64_t hash, std::int32_t rank) {
  target.add_object(at, kNcclMagic);
  target.add_object(at + layout.end_magic, kNcclMagic);
  target.add_object(at + layout.peer_info, attach::value_of(kPeers));
  if (layout.peer_info_valid != 0) {
    target.add_object(at + layout.peer_info_valid, std::uint8_t{1});
  }
  target.add_object(at + layout.hash, hash);
  target.add_object(at + layout.rank, rank);
  target.add_object(at + layout.ranks, std::int32_t{8});
  target.add_object(at + layout.device, std::int32_t{3});
  target.add_object(at + layout.async_result, std::int32_t{6});
  target.add_object(at + layout.abort_flag, attach::value_of(kAbort));
  target.add_object(at + layout.destroy_flag, std::uint32_t{0});
  target.add_object(at + layout.init_state, std::int32_t{7});
  target.add_object(at + layout.finalize_called, std::uint8_t{0});
  target.add_object(at + layout.counts, std::array<std::uint64_t, 5>{1, 2, 3, 4, 42});
  target.add_object(kPeers + layout.host_hash, std::uint64_t{0x99});
  target.add_object(kPeers + layout.pid_hash, std::uint64_t{0xaa});
  target.add_object(kAbort, std::uint32_t{0});
}

// Adds two communicators, with a hole between them.
void add_two(FakeTarget& target, const NcclLayout& layout) {
  add_list(target, {attach::value_of(kFirst), 0, attach::value_of(kSecond), 0});
  add_communicator(target, layout, kFirst, 0x11223344, 5);
  add_communicator(target, layout, kSecond, 0x55, 0);
}

}  // namespace

TEST_CASE("NCCL memory: a list of communicators") {
  const NcclLayout* layout = nccl_layout(22809);
  REQUIRE(layout != nullptr);
  FakeTarget target;
  add_two(target, *layout);
  const auto answer = read_nccl_list(target, list_of("2.28.9"));
  REQUIRE(answer);
  CHECK(answer->version == "2.28.9");
  REQUIRE(answer->groups.size() == 2);
  const RasGroup& group = answer->groups[0];
  CHECK(group.hash == "0x11223344 0x99:0xaa");
  CHECK(group.size == 8);
  RasMember member;
  member.rank = 5;
  member.device = 3;
  member.presence = snapshot::RasPresence::kMemory;
  member.init_state = 7;
  member.async_error = 6;
  member.counts = {1, 2, 3, 4, 42};
  CHECK(group.members == std::vector<RasMember>{member});
  CHECK(answer->groups[1].hash == "0x55 0x99:0xaa");
}

TEST_CASE("NCCL memory: a communicator has the name that the service of its version uses") {
  const NcclLayout* layout = nccl_layout(22707);
  REQUIRE(layout != nullptr);
  FakeTarget target;
  add_two(target, *layout);
  const auto answer = read_nccl_list(target, list_of("2.27.7"));
  REQUIRE(answer);
  REQUIRE(answer->groups.size() == 2);
  CHECK(answer->groups[0].hash == "0x0000000011223344");
}

TEST_CASE("NCCL memory: aborted, destroyed and finalized ones are leaving") {
  const NcclLayout* layout = nccl_layout(22809);
  FakeTarget target;
  add_two(target, *layout);
  SECTION("abort") {
    target.add_object(kAbort, std::uint32_t{1});
  }
  SECTION("destroy") {
    target.add_object(kFirst + layout->destroy_flag, std::uint32_t{1});
  }
  SECTION("finalize") {
    target.add_object(kFirst + layout->finalize_called, std::uint8_t{1});
  }
  const auto answer = read_nccl_list(target, list_of("2.28.9"));
  REQUIRE(answer);
  CHECK(answer->groups.at(0).members.at(0).leaving);
}

TEST_CASE("NCCL memory: a communicator that is being made is left out") {
  const NcclLayout* layout = nccl_layout(22809);
  FakeTarget target;
  add_two(target, *layout);
  SECTION("it says so") {
    target.add_object(kFirst + layout->peer_info_valid, std::uint8_t{0});
  }
  SECTION("it has no peers") {
    target.add_object(kFirst + layout->peer_info, std::uint64_t{0});
  }
  const auto answer = read_nccl_list(target, list_of("2.28.9"));
  REQUIRE(answer);
  REQUIRE(answer->groups.size() == 1);
  CHECK(answer->groups[0].hash == "0x55 0x99:0xaa");
}

TEST_CASE("NCCL memory: an object that does not look like a communicator is none") {
  const NcclLayout* layout = nccl_layout(22809);
  FakeTarget target;
  add_two(target, *layout);
  SECTION("no magic at its start") {
    target.add_object(kFirst, std::uint64_t{1});
  }
  SECTION("none at its end") {
    target.add_object(kFirst + layout->end_magic, std::uint64_t{1});
  }
  SECTION("a rank beyond its size") {
    target.add_object(kFirst + layout->rank, std::int32_t{8});
  }
  SECTION("a negative rank") {
    target.add_object(kFirst + layout->rank, std::int32_t{-1});
  }
  SECTION("its address is nonsense") {
    add_list(target, {0xffffffffffffffff, attach::value_of(kSecond)});
  }
  const auto answer = read_nccl_list(target, list_of("2.28.9"));
  REQUIRE(answer);
  CHECK(answer->groups.size() == 1);
  // If the other one is damaged too, the layout itself must be wrong.
  target.add_object(kSecond, std::uint64_t{1});
  const auto none = read_nccl_list(target, list_of("2.28.9"));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == Errc::kBadData);
  CHECK(none.error().what ==
        "the communicators of NCCL 2.28.9 are not where that version keeps them");
}

TEST_CASE("NCCL memory: a version without a layout is reported, and nothing is guessed") {
  FakeTarget target;
  add_two(target, *nccl_layout(22809));
  for (const char* version : {"2.99.1", "2.28.9rc1", "2.28", "x", "2.28.-9"}) {
    const auto answer = read_nccl_list(target, list_of(version));
    REQUIRE_FALSE(answer);
    CHECK(answer.error().code == Errc::kUnsupported);
    CHECK(answer.error().what ==
          "the layout of communicators in NCCL " + std::string(version) + " is unknown");
  }
  FakeTarget empty;
  empty.add_object(kList, std::uint64_t{0});
  empty.add_object(kEntries, std::int32_t{0});
  const auto answer = read_nccl_list(empty, list_of("2.99.1"));
  REQUIRE(answer);
  CHECK(answer->groups.empty());
}

TEST_CASE("NCCL memory: a length of any size") {
  FakeTarget target;
  add_two(target, *nccl_layout(22809));
  SECTION("negative") {
    target.add_object(kEntries, std::int32_t{-5});
    CHECK(read_nccl_list(target, list_of("2.28.9"))->groups.empty());
  }
  SECTION("more than is there") {
    target.add_object(kEntries, std::int32_t{2147483647});
    CHECK_FALSE(read_nccl_list(target, list_of("2.28.9")));
  }
  SECTION("more than any job has: the first ones") {
    const std::vector<std::uint64_t> many(5000, attach::value_of(kFirst));
    target.add_memory(kArray, std::as_bytes(std::span(many)));
    target.add_object(kEntries, std::int32_t{5000});
    CHECK(read_nccl_list(target, list_of("2.28.9"))->groups.size() == 1024);
  }
}

}  // namespace oddrank::collectives
