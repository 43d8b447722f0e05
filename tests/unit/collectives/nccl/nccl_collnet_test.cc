// Proxies of CollNet in made-up memory, laid out as the table says. The table itself comes from the
// debug information of NVIDIA's libraries (scripts/nccl_offsets); no GPU has shown these numbers
// yet.
#include "collectives/nccl/nccl_collnet.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/nccl/nccl_layout.h"
#include "collectives/nccl/nccl_proxies.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::value_of;
using snapshot::CollnetHead;
using test::FakeTarget;

constexpr Addr kRails{0x400}, kRailEntries{0x408}, kRailArray{0x500}, kRailState{0x20'0000'0000};
constexpr Addr kParent{0x10'0000'0000}, kChild{0x11'0000'0000}, kHeadRanks{0x9000};
constexpr Addr kSharp{0x8000}, kSharpName{0x8100}, kRailPeers{0xa000};
constexpr Addr kSendOp{0x100000}, kReceiveOp{0x200000};
constexpr Addr kGiver{0x300000}, kTaker{0x310000};
constexpr std::uint64_t kShared = 0x7'0000'0000;
constexpr std::int32_t kRank = 17;

struct Counts {
  std::uint64_t posted = 0, received = 0, transmitted = 0, done = 0;
};

// Rank 17 of 32 on four hosts: it is a head, the second one of its host.
class Collnet {
 public:
  explicit Collnet(const std::string& version)
      : version_(version),
        layout_(*nccl_proxy_layout(nccl_version_code(version))),
        communicators_(*nccl_layout(nccl_version_code(version))) {
    target.add_object(kRails, value_of(kRailArray));
    target.add_object(kRailEntries, std::int32_t{2});
    target.add_object(kRailArray, value_of(kParent));
    target.add_object(kRailArray + 8, value_of(kChild));
    communicator(kParent, 0x7c, kHeadRanks, {16, kRank, 20});
    communicator(kChild, 0x9e, kHeadRanks + 0x100, {kRank, 16, 20});
    target.add_object(kRailState + layout_.rank, kRank);
    target.add_object(kRailState + layout_.ranks, std::int32_t{32});
    target.add_object(kRailState + layout_.net, std::uint64_t{0});
    target.add_object(kRailState + layout_.collnet, value_of(kSharp));
    target.add_object(kRailState + layout_.peer_addresses, value_of(kRailPeers));
    target.add_object(kRailState + layout_.active, value_of(kSendOp));
    target.add_object(kSharp, value_of(kSharpName));
    target.add_memory(kSharpName, std::string("SHARP") + std::string(100, '\0'));
    target.add_memory(kRailPeers, std::string(32 * 28, 'a'));
    connection(kGiver, true, layout_.collnet_send_device, layout_.collnet_send_head);
    connection(kTaker, false, layout_.collnet_recv_device, layout_.collnet_recv_head);
  }

  void op(Addr at, Addr connection, Addr next, const std::vector<Counts>& subs) {
    target.add_object(at + layout_.sub_count, static_cast<std::int32_t>(subs.size()));
    target.add_object(at + layout_.state, std::int32_t{2});
    target.add_object(at + layout_.protocol, std::uint8_t{2});
    target.add_object(at + layout_.next, value_of(next));
    for (std::size_t number = 0; number < subs.size(); ++number) {
      const Addr sub = at + number * layout_.sub_size;
      target.add_memory(sub, std::string(layout_.sub_size, '\0'));
      target.add_object(sub + layout_.connection, value_of(connection));
      target.add_object(sub + layout_.channel, static_cast<std::int32_t>(number));
      target.add_object(sub + layout_.steps, std::int32_t{16});
      target.add_object(sub + layout_.base, std::uint64_t{320});
      target.add_object(sub + layout_.posted, subs[number].posted);
      target.add_object(sub + layout_.received, subs[number].received);
      target.add_object(sub + layout_.transmitted, subs[number].transmitted);
      target.add_object(sub + layout_.done, subs[number].done);
    }
  }
  // Ten channels, of which eight are given to the network together, and then two.
  void two_groups(const std::vector<Counts>& send) {
    op(kSendOp, kGiver, kReceiveOp, send);
    std::vector<Counts> receive(10);
    receive[7] = {12, 4, 4, 4};
    receive[9] = {11, 3, 3, 3};
    op(kReceiveOp, kTaker, Addr{}, receive);
  }
  std::vector<CollnetHead> read() {
    NcclVariables variables;
    variables.version = version_;
    variables.list = kRails;
    variables.entries = kRailEntries;
    const auto rows = read_nccl_proxies(target, variables, tables);
    REQUIRE(rows);
    CHECK(rows->transfers.empty());
    return rows->heads;
  }
  std::string_view text(snapshot::StringId id) const { return tables.text(id); }
  const NcclProxyLayout& layout() const { return layout_; }

  FakeTarget target;
  snapshot::Tables tables;

 private:
  void communicator(Addr at,
                    std::uint64_t hash,
                    Addr heads,
                    const std::array<std::int32_t, 3>& ranks) {
    target.add_object(at, kNcclMagic);
    target.add_object(at + layout_.proxy_state, value_of(kRailState));
    target.add_object(at + layout_.collnet_shared, kShared);
    target.add_object(at + layout_.heads, value_of(heads));
    target.add_object(at + layout_.head_count, std::int32_t{3});
    target.add_object(at + layout_.nodes, std::int32_t{4});
    target.add_object(at + communicators_.rank, kRank);
    target.add_object(at + communicators_.hash, hash);
    target.add_object(heads, ranks);
  }
  void connection(Addr at, bool sends, std::uint32_t device, std::uint32_t head) {
    target.add_object(at + layout_.sends, std::int32_t{sends ? 1 : 0});
    target.add_object(at + layout_.transport, std::int32_t{3});
    target.add_object(at + layout_.resources, value_of(at + 0x1000));
    target.add_object(at + layout_.connection_collnet, kShared);
    target.add_object(at + 0x1000 + device, std::int32_t{1});
    target.add_object(at + 0x1000 + head, std::int32_t{2});
  }

  std::string version_;
  const NcclProxyLayout& layout_;
  const NcclLayout& communicators_;
};

std::vector<Counts> all_given(std::uint64_t first, std::uint64_t second) {
  std::vector<Counts> subs(10, Counts{first + 2, first + 2, first, first - 1});
  subs[8] = subs[9] = {second + 2, second + 2, second, second - 1};
  return subs;
}

}  // namespace

TEST_CASE("NCCL's CollNet: what is under way, of each version") {
  const auto* const version =
      GENERATE("2.26.2", "2.27.7", "2.28.9", "2.29.7", "2.30.7", "2.31.2", "2.32.3");
  Collnet collnet(version);
  std::vector<Counts> send = all_given(6, 5);
  send[3].received = send[3].transmitted = 6;  // the last to be filled
  collnet.two_groups(send);
  const auto rows = collnet.read();
  REQUIRE(rows.size() == 2);
  const CollnetHead& first = rows[0];
  CHECK(collnet.text(first.rail) == "0x7c/1");  // by the smaller hash, whatever the child's order
  CHECK(collnet.text(first.device) == "SHARP 1");
  CHECK(std::tuple(first.size, first.head, first.heads) == std::tuple(32, 2, 4));
  CHECK(first.channels == 0xff);
  CHECK(first.still == 0xff);
  CHECK(std::tuple(first.filled, first.offered, first.given) == std::tuple(326, 332, 326));
  CHECK(std::tuple(first.returned, first.taken, first.end) == std::tuple(325, 324, 336));
  const CollnetHead& second = rows[1];
  CHECK(second.channels == 0x300);
  // It cannot go before the channels ahead of it.
  CHECK(std::tuple(second.filled, second.offered, second.given) == std::tuple(326, 331, 325));
}

TEST_CASE("NCCL's CollNet: channels wait for the round of those behind them") {
  Collnet collnet("2.28.9");
  std::vector<Counts> send = all_given(6, 5);
  send[9].received = 5;
  collnet.two_groups(send);
  const auto rows = collnet.read();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].given == 326);
  CHECK(rows[0].filled == 326);
  CHECK(rows[1].filled == 325);
}

TEST_CASE("NCCL's CollNet: if the sending side is done, all has returned") {
  Collnet collnet("2.28.9");
  collnet.two_groups(all_given(6, 5));
  for (const std::uint64_t last : {7U, 9U}) {
    collnet.target.add_object(
        kReceiveOp + last * collnet.layout().sub_size + collnet.layout().posted, std::uint64_t{16});
  }
  SECTION("its operation is gone") {
    collnet.target.add_object(kRailState + collnet.layout().active, value_of(kReceiveOp));
  }
  SECTION("it is at the next call") {
    for (std::uint64_t sub = 0; sub < 10; ++sub) {
      collnet.target.add_object(kSendOp + sub * collnet.layout().sub_size + collnet.layout().base,
                                std::uint64_t{336});
    }
  }
  const auto rows = collnet.read();
  REQUIRE(rows.size() == 2);
  CHECK(std::tuple(rows[0].filled, rows[0].given, rows[0].returned, rows[0].taken) ==
        std::tuple(336, 336, 336, 324));
}

TEST_CASE("NCCL's CollNet: what cannot be is left out") {
  Collnet collnet("2.28.9");
  collnet.two_groups(all_given(6, 5));
  REQUIRE(collnet.read().size() == 2);
  const NcclProxyLayout& layout = collnet.layout();
  SECTION("no list of communicators") {
    collnet.target.add_object(kRailEntries, std::int32_t{0});
    collnet.target.add_object(kRails, std::uint64_t{0});
  }
  SECTION("a communicator with other shared resources") {
    collnet.target.add_object(kParent + layout.collnet_shared, kShared + 8);
    collnet.target.add_object(kChild + layout.collnet_shared, kShared + 8);
  }
  SECTION("a rank that is no head") {
    collnet.target.add_object(kHeadRanks, std::array<std::int32_t, 3>{16, 18, 20});
    collnet.target.add_object(kHeadRanks + 0x100, std::array<std::int32_t, 3>{16, 18, 20});
  }
  SECTION("more heads than a host can have") {
    collnet.target.add_object(kParent + layout.head_count, std::int32_t{65});
    collnet.target.add_object(kChild + layout.head_count, std::int32_t{65});
  }
  SECTION("a host that the communicator does not have") {
    collnet.target.add_object(kTaker + 0x1000 + layout.collnet_recv_head, std::int32_t{4});
  }
  SECTION("no such channel") {
    collnet.target.add_object(kReceiveOp + 3 * layout.sub_size + layout.channel, std::int32_t{64});
  }
  SECTION("a count beyond all bounds") {
    collnet.target.add_object(kReceiveOp + 3 * layout.sub_size + layout.base, ~std::uint64_t{0});
  }
  CHECK(collnet.read().empty());
}

TEST_CASE("NCCL's CollNet: more returned than was given is on the move") {
  Collnet collnet("2.28.9");
  std::vector<Counts> send = all_given(6, 5);
  send[7].done = 7;
  collnet.two_groups(send);
  CHECK(collnet.read().size() == 1);
}

TEST_CASE("NCCL's CollNet: channels that stand still") {
  Collnet collnet("2.28.9");
  collnet.two_groups(all_given(6, 5));
  auto before = collnet.read();
  collnet.two_groups(all_given(6, 6));
  compare_heads(collnet.read(), before);
  REQUIRE(before.size() == 2);
  CHECK(before[0].still == 0xff);
  CHECK(before[1].still == 0);
}

}  // namespace oddrank::collectives
