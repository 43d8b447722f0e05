// Rows of a capture from NCCL's data on its communicators.
#include "node/collect/collect_ras.h"

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;

TEST_CASE("a communicator's row has its texts in the capture's tables, and no members") {
  const collectives::RasAnswer answer{"2.28.9", {{"0x1 0x2:0x3", 4, {{}, {}}}}, {}, 0};
  snapshot::Tables tables;
  const auto row = communicator_row(answer, answer.groups[0], tables);
  CHECK(tables.text(row.hash) == "0x1 0x2:0x3");
  CHECK(tables.text(row.version) == "2.28.9");
  CHECK(row.size == 4);
  CHECK(row.ranks.empty());
}

TEST_CASE("a member's row has every field that does not depend on the source") {
  collectives::RasMember member;
  member.rank = 3;
  member.host = "10.0.0.1";
  member.pid = 77;
  member.device = 5;
  member.presence = snapshot::RasPresence::kMemory;
  member.init_state = 7;
  member.async_error = 3;
  member.leaving = true;
  member.counts = {1, 2, 3, 4, 5};
  snapshot::RasRank expected;
  expected.rank = 3;
  expected.device = 5;
  expected.presence = snapshot::RasPresence::kMemory;
  expected.init_state = 7;
  expected.async_error = 3;
  expected.leaving = true;
  expected.counts = {1, 2, 3, 4, 5};
  CHECK((member_row(member) == expected));  // neither host nor pid: the caller knows whose they are
}

TEST_CASE("communicators keep their texts in the tables of another capture") {
  Capture from;
  from.tables.string("something else first");
  const collectives::RasAnswer answer{"2.28.9", {{"0xabc", 2, {}}}, {}, 0};
  from.collectives.ras.push_back(communicator_row(answer, answer.groups[0], from.tables));
  from.collectives.ras[0].ranks.emplace_back().host = from.tables.string("10.0.0.1");
  Capture into;
  into.collectives.ras.emplace_back();
  carry_communicators(from, into);
  REQUIRE(into.collectives.ras.size() == 2);
  const auto& carried = into.collectives.ras[1];
  CHECK(into.tables.text(carried.hash) == "0xabc");
  CHECK(into.tables.text(carried.version) == "2.28.9");
  REQUIRE(carried.ranks.size() == 1);
  CHECK(into.tables.text(carried.ranks[0].host) == "10.0.0.1");
}

}  // namespace
}  // namespace oddrank::node
