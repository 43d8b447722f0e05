// Proxies in made-up memory, laid out as the table says. The table itself comes from the debug
// information of NVIDIA's libraries (scripts/nccl_offsets); no GPU has shown these numbers yet.
#include "collectives/nccl/nccl_proxies.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "collectives/nccl/nccl_layout.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::value_of;
using snapshot::ProxyTransfer;
using test::FakeTarget;

constexpr Addr kLast{0x1000}, kState{0x2000}, kNet{0x8000}, kNetName{0x8100}, kProxyPeers{0x9000};
constexpr Addr kIbDevices{0x20000}, kOp{0x100000}, kSecondOp{0x200000};
constexpr Addr kSend{0x300000}, kReceive{0x300200}, kSendEnd{0x310000}, kReceiveEnd{0x320000};

struct Steps {
  std::uint64_t base = 0, posted = 0, passed = 0, done = 0;
};

class Proxies {
 public:
  explicit Proxies(const std::string& version)
      : version_(version), layout_(*nccl_proxy_layout(nccl_version_code(version))) {
    target.add_object(kLast, value_of(kState));
    target.add_object(kState + layout_.rank, std::int32_t{8});
    target.add_object(kState + layout_.ranks, std::int32_t{32});
    target.add_object(kState + layout_.net, value_of(kNet));
    target.add_object(kState + layout_.peer_addresses, value_of(kProxyPeers));
    target.add_object(kState + layout_.active, value_of(kOp));
    target.add_object(kNet, value_of(kNetName));
    target.add_memory(kNetName, std::string("IB") + std::string(100, '\0'));
    target.add_memory(kProxyPeers, std::string(32 * 28, 'a'));
    for (const std::uint64_t device : {std::uint64_t{0}, std::uint64_t{2}}) {
      target.add_memory(kIbDevices + device * layout_.ib_size + layout_.ib_name,
                        "mlx5_" + std::to_string(device) + std::string(100, '\0'));
    }
    connection(kSend, true, kSendEnd, layout_.send_rank, layout_.send_peer, layout_.send_device,
               layout_.send_index);
    connection(kReceive, false, kReceiveEnd, layout_.recv_rank, layout_.recv_peer,
               layout_.recv_device, layout_.recv_index);
  }

  void op(Addr at, std::int32_t subs, std::int32_t state, std::uint8_t protocol, Addr next) {
    target.add_object(at + layout_.sub_count, subs);
    target.add_object(at + layout_.state, state);
    target.add_object(at + layout_.protocol, protocol);
    target.add_object(at + layout_.next, value_of(next));
  }
  void sub(
      Addr op, std::uint64_t number, Addr connection, std::int32_t channel, const Steps& steps) {
    const Addr at = op + number * layout_.sub_size;
    target.add_memory(at, std::string(layout_.sub_size, '\0'));
    target.add_object(at + layout_.connection, value_of(connection));
    target.add_object(at + layout_.channel, channel);
    target.add_object(at + layout_.steps, std::int32_t{16});
    target.add_object(at + layout_.base, steps.base);
    target.add_object(at + layout_.posted, steps.posted);
    target.add_object(
        at + (value_of(connection) == value_of(kReceive) ? layout_.received : layout_.transmitted),
        steps.passed);
    target.add_object(at + layout_.done, steps.done);
  }
  std::vector<ProxyTransfer> read() {
    const auto rows =
        read_nccl_proxies(target, {version_, Addr{}, Addr{}, kLast, kIbDevices, Addr{}}, tables);
    REQUIRE(rows);
    return rows->transfers;
  }
  std::string_view text(snapshot::StringId id) const { return tables.text(id); }
  const NcclProxyLayout& layout() const { return layout_; }

  void connection(Addr at,
                  bool sends,
                  Addr end,
                  std::uint32_t rank,
                  std::uint32_t peer,
                  std::uint32_t device,
                  std::uint32_t index) {
    target.add_object(at + layout_.sends, std::int32_t{sends ? 1 : 0});
    target.add_object(at + layout_.transport, std::int32_t{2});
    target.add_object(at + layout_.resources, value_of(end));
    target.add_object(end + rank, std::int32_t{8});
    target.add_object(end + peer, std::int32_t{sends ? 24 : 16});
    target.add_object(end + device, std::int32_t{sends ? 2 : 0});
    target.add_object(end + index, std::int32_t{0});
  }

  FakeTarget target;
  snapshot::Tables tables;

 private:
  std::string version_;
  const NcclProxyLayout& layout_;
};

}  // namespace

TEST_CASE("NCCL proxies: what is under way, of each version") {
  const auto* const version =
      GENERATE("2.26.2", "2.27.7", "2.28.9", "2.29.7", "2.30.7", "2.31.2", "2.32.3");
  Proxies proxies(version);
  proxies.op(kOp, 3, 2, 2, kSecondOp);
  proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
  proxies.sub(kOp, 1, kSend, 4, {320, 8, 6, 2});
  proxies.sub(kOp, 2, kSend, 5, {320, 8, 8, 8});
  proxies.op(kSecondOp, 1, 2, 0, Addr{});
  proxies.sub(kSecondOp, 0, kReceive, 3, {96, 8, 5, 4});
  const auto rows = proxies.read();
  REQUIRE(rows.size() == 3);
  const ProxyTransfer& receive = rows[0];
  CHECK(receive.rank == 8);
  CHECK(receive.peer == 16);
  CHECK(receive.size == 32);
  CHECK_FALSE(receive.sends);
  CHECK(receive.early);
  CHECK(std::tuple(receive.posted, receive.passed, receive.done, receive.end) ==
        std::tuple(104, 101, 100, 112));
  CHECK(proxies.text(receive.device) == "mlx5_0");
  const ProxyTransfer& send = rows[1];
  CHECK(send.peer == 24);
  CHECK(send.sends);
  CHECK_FALSE(send.early);
  CHECK(send.channels == 0x18);  // with equal numbers
  CHECK(std::tuple(send.posted, send.passed, send.done, send.end) ==
        std::tuple(328, 326, 322, 336));
  CHECK(proxies.text(send.device) == "mlx5_2");
  CHECK(proxies.text(send.network) == "IB");
  CHECK(rows[2].channels == 0x20);
  CHECK(send.group == receive.group);
}

TEST_CASE("NCCL proxies: what cannot be is left out") {
  Proxies proxies("2.28.9");
  proxies.op(kOp, 1, 2, 2, Addr{});
  SECTION("more done than sent") {
    proxies.sub(kOp, 0, kSend, 3, {320, 8, 2, 6});
  }
  SECTION("no such channel") {
    proxies.sub(kOp, 0, kSend, 64, {320, 8, 6, 2});
  }
  SECTION("a count beyond all bounds") {
    proxies.sub(kOp, 0, kSend, 3, {~std::uint64_t{0}, 8, 6, 2});
  }
  SECTION("a transport that is not the network") {
    proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
    proxies.target.add_object(kSend + proxies.layout().transport, std::int32_t{0});
  }
  SECTION("a rank that the communicator does not have") {
    proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
    proxies.target.add_object(kSendEnd + proxies.layout().send_peer, std::int32_t{32});
  }
  SECTION("an operation that has not begun") {
    proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
    proxies.op(kOp, 1, 1, 2, Addr{});
  }
  SECTION("more parts than there can be") {
    proxies.op(kOp, 65, 2, 2, Addr{});
  }
  CHECK(proxies.read().empty());
}

TEST_CASE("NCCL proxies: a list that goes round ends") {
  Proxies proxies("2.28.9");
  proxies.op(kOp, 1, 2, 2, kOp);
  proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
  CHECK(proxies.read().size() == 1);
}

TEST_CASE("NCCL proxies: a version without a layout") {
  FakeTarget target;
  snapshot::Tables tables;
  const auto rows = read_nccl_proxies(target, {"2.99.1", {}, {}, kLast, {}, {}}, tables);
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == Errc::kUnsupported);
}

TEST_CASE("NCCL proxies: channels that stand still") {
  Proxies proxies("2.28.9");
  proxies.op(kOp, 2, 2, 2, Addr{});
  proxies.sub(kOp, 0, kSend, 3, {320, 8, 6, 2});
  proxies.sub(kOp, 1, kSend, 4, {320, 8, 6, 2});
  auto before = proxies.read();
  proxies.sub(kOp, 1, kSend, 4, {320, 8, 7, 2});
  compare_proxies(proxies.read(), before);
  REQUIRE(before.size() == 1);
  CHECK(before.front().channels == 0x18);
  CHECK(before.front().still == 0x08);
}

TEST_CASE("NCCL proxies: 16 communicators with 32 channels cost 64 KiB") {
  constexpr std::uint64_t kCommunicators = 16;
  constexpr std::uint64_t kChannels = 32;
  constexpr Addr kManyList{0x400}, kManyEntries{0x408}, kManyArray{0x500};
  Proxies proxies("2.28.9");
  const NcclProxyLayout& layout = proxies.layout();
  proxies.target.add_object(kManyList, value_of(kManyArray));
  proxies.target.add_object(kManyEntries, static_cast<std::int32_t>(kCommunicators));
  for (std::uint64_t at = 0; at < kCommunicators; ++at) {
    const Addr base{0x10'0000'0000 + at * 0x1'0000'0000};
    const Addr state = base + 0x200'000;
    const Addr op = base + 0x300'000;
    proxies.target.add_object(kManyArray + at * 8, value_of(base));
    proxies.target.add_object(base, kNcclMagic);
    proxies.target.add_object(base + layout.proxy_state, value_of(state));
    proxies.target.add_object(state + layout.rank, std::int32_t{8});
    proxies.target.add_object(state + layout.ranks, std::int32_t{32});
    proxies.target.add_object(state + layout.net, value_of(kNet));
    proxies.target.add_memory(base + 0x500'000, std::string(32 * 28, static_cast<char>('a' + at)));
    proxies.target.add_object(state + layout.peer_addresses, value_of(base + 0x500'000));
    proxies.target.add_object(state + layout.active, value_of(op));
    proxies.op(op, kChannels, 2, 2, Addr{});
    for (std::uint64_t channel = 0; channel < kChannels; ++channel) {
      const Addr connection = base + 0x400'000 + channel * 0x1000;
      proxies.connection(connection, true, connection + 0x800, layout.send_rank, layout.send_peer,
                         layout.send_device, layout.send_index);
      proxies.sub(op, channel, connection, static_cast<std::int32_t>(channel), {320, 8, 6, 2});
    }
  }
  NcclVariables variables;
  variables.version = "2.28.9";
  variables.list = kManyList;
  variables.entries = kManyEntries;
  variables.ib_devices = kIbDevices;
  const auto rows = read_nccl_proxies(proxies.target, variables, proxies.tables);
  REQUIRE(rows);
  REQUIRE(rows->transfers.size() == kCommunicators);
  CHECK(rows->transfers.front().channels == 0xffff'ffff);
  CHECK(proxies.target.read_bytes() <= std::size_t{64} * 1024);
}

}  // namespace oddrank::collectives
