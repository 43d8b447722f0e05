// NCCL's bootstrap root on a made-up stack, laid out as the table says. The table itself comes from
// the debug information of NVIDIA's libraries (scripts/nccl_offsets).
#include "collectives/nccl/nccl_root.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "collectives/nccl/nccl_layout.h"
#include "snapshot/rank_text.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using snapshot::BootstrapRoot;
using test::FakeTarget;

constexpr Addr kRootCode{0x700000}, kRootStack{0x7f0000}, kRootFrame{0x7f0090};
constexpr Addr kRootInfos{0x100000}, kRootAddresses{0x200000};
constexpr std::uint64_t kCodeSize = 0xd00;

// NCCL's own rules, for a root of `parts`: each member's message is passed on, or noted.
class MadeRoot {
 public:
  MadeRoot(std::string version, std::int32_t ranks, std::int32_t part = 0, std::int32_t parts = 1)
      : layout(*nccl_root_layout(nccl_version_code(version))),
        version_(std::move(version)),
        ranks_(ranks),
        part_(part),
        parts_(parts),
        own_(ranks / parts + (part < ranks % parts ? 1 : 0)),
        first_(part * (ranks / parts) + std::min(part, ranks % parts)),
        awaited(own_ + (parts > 1 ? 1 : 0)),
        address_(static_cast<std::size_t>(awaited)),
        info_(static_cast<std::size_t>(awaited)) {}

  void come(std::int32_t rank) {
    const std::int32_t at = (rank - first_ + ranks_) % ranks_;
    const std::int32_t before = parts_ > 1 ? at - 1 : (at - 1 + awaited) % awaited;
    const std::int32_t behind = (at + 1) % awaited;
    if (before < 0 || before >= own_ || !address_[index(before)]) {
      info_[index(at)] = true;
    }
    if (at >= own_ || !info_[index(behind)]) {
      address_[index(at)] = true;
    }
    ++came_;
    last_ = rank;
  }
  std::vector<BootstrapRoot> read() {
    FakeTarget target;
    attach::ThreadState thread;
    thread.tid = 7;
    thread.registers.emplace().sp = value_of(kRootStack);
    target.set_threads({thread});
    target.add_memory(kRootStack, std::string(2048, '\0'));
    target.add_object(kRootStack + 16, value_of(kRootCode) + 3);  // of an earlier call
    target.add_object(kRootFrame - 8, value_of(kRootCode) + 0x284);
    target.add_object(kRootFrame + layout.ranks, came_ == 0 ? 0 : ranks_);
    if (layout.came >= 0) {
      target.add_object(kRootFrame + static_cast<std::uint64_t>(layout.came), came_);
    }
    if (came_ > 0) {
      target.add_object(kRootFrame + layout.infos, value_of(kRootInfos));
      target.add_object(kRootFrame + layout.addresses, value_of(kRootAddresses));
    }
    const Addr last = kRootFrame + layout.last;
    target.add_object(last, last_);
    target.add_object(last + 4, ranks_);
    target.add_object(last + layout.part, part_);
    target.add_object(last + layout.parts, parts_);
    std::string infos(index(awaited) * 128, '\0');
    std::string addresses(index(awaited) * 28, '\0');
    for (std::size_t at = 0; at < address_.size(); ++at) {
      infos[at * 128 + 60] = info_[at] ? 'i' : '\0';
      addresses[at * 28] = address_[at] ? family : '\0';
    }
    target.add_memory(kRootInfos, infos);
    target.add_memory(kRootAddresses, addresses);
    NcclVariables variables;
    variables.version = version_;
    variables.root = kRootCode;
    variables.root_size = kCodeSize;
    const std::vector<pid_t> threads{7};
    return read_nccl_roots(target, variables, threads, tables);
  }
  std::string text(snapshot::StringId id) const { return std::string(tables.text(id)); }

  const NcclRootLayout& layout;
  snapshot::Tables tables;
  char family = 2;

 private:
  static std::size_t index(std::int32_t at) { return static_cast<std::size_t>(at); }

  std::string version_;
  std::int32_t ranks_, part_, parts_, own_, first_;

 public:
  std::int32_t awaited;

 private:
  std::vector<bool> address_, info_;
  std::int32_t came_ = 0, last_ = 0;
};

}  // namespace

TEST_CASE("NCCL's bootstrap root: who has come, of each version") {
  const auto* const version =
      GENERATE("2.26.2", "2.27.7", "2.28.9", "2.29.2", "2.29.7", "2.30.4", "2.31.2", "2.32.3");
  MadeRoot root(version, 8);
  CHECK(root.read().empty());  // nobody has come yet
  for (const std::int32_t rank : {0, 1, 4, 6}) {
    root.come(rank);
  }
  const auto rows = root.read();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].size == 8);
  CHECK(rows[0].awaited == 8);
  CHECK(rows[0].came == (root.layout.came >= 0 ? 4 : -1));
  // That rank 5 has not come, only the number shows.
  CHECK(root.text(rows[0].absent) == (root.layout.came >= 0 ? "2-3,5,7" : "2-3"));
  CHECK(root.text(rows[0].unclear) == (root.layout.came >= 0 ? "" : "5,7"));
}

TEST_CASE("NCCL's bootstrap root: one that came last leaves no note") {
  MadeRoot root("2.28.9", 8);
  for (const std::int32_t rank : {0, 2, 1, 4}) {
    root.come(rank);
  }
  auto row = root.read().at(0);
  CHECK(row.came == 4);
  CHECK(root.text(row.absent) == "5-7");
  CHECK(root.text(row.unclear) == "1,3");
  root.come(3);
  row = root.read().at(0);
  CHECK(row.came == 5);
  CHECK(root.text(row.absent) == "5-7");
  CHECK(root.text(row.unclear).empty());
}

TEST_CASE("NCCL's bootstrap roots: in any order, nobody that has come is absent") {
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    const auto ranks = static_cast<std::int32_t>(2 + random() % 12);
    const auto parts = static_cast<std::int32_t>(1 + random() % 3);
    if (ranks < 2 * parts) {
      continue;
    }
    const auto part = static_cast<std::int32_t>(random() % static_cast<unsigned>(parts));
    MadeRoot root(random() % 2 == 0 ? "2.28.9" : "2.27.7", ranks, part, parts);
    const std::int32_t first = part * (ranks / parts) + std::min(part, ranks % parts);
    std::vector<std::int32_t> awaited;
    for (std::int32_t at = 0; at < root.awaited; ++at) {
      awaited.push_back((first + at) % ranks);
    }
    std::shuffle(awaited.begin(), awaited.end(), random);
    const std::size_t come = 1 + random() % (awaited.size() - 1);
    for (std::size_t at = 0; at < come; ++at) {
      root.come(awaited[at]);
    }
    const auto rows = root.read();
    REQUIRE(rows.size() == 1);
    const auto absent = snapshot::ranks_of(root.text(rows[0].absent));
    const auto unclear = snapshot::ranks_of(root.text(rows[0].unclear));
    const auto is_in = [](const std::vector<std::int32_t>& all, std::int32_t one) {
      return std::find(all.begin(), all.end(), one) != all.end();
    };
    for (std::size_t at = 0; at < awaited.size(); ++at) {
      const bool has_come = at < come;
      CHECK((has_come ? !is_in(absent, awaited[at])
                      : is_in(absent, awaited[at]) || is_in(unclear, awaited[at])));
    }
  }
}

TEST_CASE("NCCL's bootstrap root: what contradicts itself is left out") {
  MadeRoot root("2.28.9", 8);
  root.come(0);
  root.family = 99;
  CHECK(root.read().empty());
  MadeRoot other("2.28.9", 8);
  other.come(0);
  other.come(0);  // two have come, and one has left a note
  CHECK(other.read().empty());
}

}  // namespace oddrank::collectives
