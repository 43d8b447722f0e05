#include "cpython/remote_reader.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::cpython {
namespace {

using attach::Addr;

constexpr std::uint64_t kPage = 4096;

// Returns 64 pages; each word is its own address.
std::vector<std::byte> pages_at(std::uint64_t start) {
  std::vector<std::byte> bytes(64 * kPage);
  for (std::uint64_t at = 0; at < bytes.size(); at += sizeof at) {
    const std::uint64_t word = start + at;
    std::copy_n(reinterpret_cast<const std::byte*>(&word), sizeof word, bytes.data() + at);
  }
  return bytes;
}

// Reads one word of each page, step by step.
void walk(RemoteReader& reader, std::uint64_t first, std::int64_t step) {
  for (std::int64_t i = 0; i < 64; ++i) {
    const Addr at{first + static_cast<std::uint64_t>(i * step)};
    CHECK(reader.value<std::uint64_t>(at) == value_of(at));
  }
}

// One target until change(), then another.
class ChangingTarget final : public attach::Target {
 public:
  ChangingTarget(const attach::Target& before, const attach::Target& after)
      : now_(&before), after_(after) {}

  void change() { now_ = &after_; }

  pid_t pid() const override { return now_->pid(); }
  const std::string& name() const override { return now_->name(); }
  Status read(Addr address, std::span<std::byte> into) const override {
    return now_->read(address, into);
  }
  void read_many(std::span<attach::ReadRequest> requests) const override {
    now_->read_many(requests);
  }
  const attach::MemoryMap& maps() const override { return now_->maps(); }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override {
    return now_->open_file(mapping);
  }
  Result<std::vector<attach::ThreadState>> threads() const override { return now_->threads(); }
  Result<attach::ThreadState> thread(pid_t tid) const override { return now_->thread(tid); }

 private:
  const attach::Target* now_;
  const attach::Target& after_;
};

}  // namespace

TEST_CASE("reading page after page fetches the next pages in advance", "[cpython]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  test::FakeTarget target;
  target.add_memory(Addr{kStart}, pages_at(kStart));
  RemoteReader up(target);
  walk(up, kStart + 8, kPage);
  CHECK(up.calls() <= 2 + 64 / 4);
  RemoteReader down(target);
  walk(down, kStart + 63 * kPage, -static_cast<std::int64_t>(kPage));
  CHECK(down.calls() <= 2 + 64 / 4);
  // Pages here and there are fetched alone.
  RemoteReader apart(target);
  for (std::uint64_t i = 0; i < 64; i += 8) {
    CHECK(apart.value<std::uint64_t>(Addr{kStart + i * kPage}) == kStart + i * kPage);
  }
  CHECK(apart.calls() == 8);
}

TEST_CASE("memory that ends behind the wanted page is no error", "[cpython]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  test::FakeTarget target;
  std::vector<std::byte> bytes = pages_at(kStart);
  bytes.resize(2 * kPage);
  target.add_memory(Addr{kStart}, bytes);
  RemoteReader reader(target);
  CHECK(reader.value<std::uint64_t>(Addr{kStart}) == kStart);
  CHECK(reader.value<std::uint64_t>(Addr{kStart + kPage}) == kStart + kPage);
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{kStart + 2 * kPage}));
  // The lowest and the highest page there can be.
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{kPage}));
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{2 * kPage}));
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{(std::uint64_t{1} << 56) - 2 * kPage}));
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{(std::uint64_t{1} << 56) - kPage}));
}

TEST_CASE("a refresh reads the pages of the last sample at once, as they are now", "[cpython]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  test::FakeTarget target;
  target.add_memory(Addr{kStart}, pages_at(kStart));
  RemoteReader reader(target);
  // Neighbours, one that stands alone, and one that is not there.
  const std::vector<std::uint64_t> pages = {0, 1, 2, 3, 20, 40, 41, 99};
  const auto look = [&](std::uint64_t in_20) {
    for (const std::uint64_t page : pages) {
      const std::uint64_t at = kStart + page * kPage + 8;
      const std::uint64_t there = page == 20 ? in_20 : page == 99 ? 0 : at;
      CHECK(reader.value<std::uint64_t>(Addr{at}).value_or(0) == there);
    }
  };
  look(kStart + 20 * kPage + 8);
  const std::uint64_t first = reader.calls();
  target.add_object(Addr{kStart + 20 * kPage + 8}, std::uint64_t{1207});
  CHECK(reader.value<std::uint64_t>(Addr{kStart + 20 * kPage + 8}) != 1207);
  reader.refresh();
  CHECK(reader.calls() == first + 1);
  look(1207);
  CHECK(reader.calls() <= first + 2);  // missing pages are requested again
  // Nothing was used since the last call: nothing is fetched.
  reader.refresh();
  const std::uint64_t before = reader.calls();
  reader.refresh();
  CHECK(reader.calls() == before);
  CHECK(reader.value<std::uint64_t>(Addr{kStart}) == kStart);
  CHECK(reader.calls() == before + 1);
}

TEST_CASE("a page that is gone at the refresh hides none of its neighbours", "[cpython]") {
  constexpr std::uint64_t kStart = 0x7f0000000000;
  test::FakeTarget before;
  test::FakeTarget after;
  before.add_memory(Addr{kStart}, pages_at(kStart));
  for (const std::uint64_t page : {0U, 1U, 3U, 4U}) {
    const std::uint64_t start = kStart + page * kPage;
    std::vector<std::byte> bytes = pages_at(start);
    bytes.resize(kPage);
    after.add_memory(Addr{start}, bytes);
  }
  ChangingTarget target(before, after);
  RemoteReader reader(target);
  for (std::uint64_t page = 0; page < 5; ++page) {
    CHECK(reader.value<std::uint64_t>(Addr{kStart + page * kPage}) == kStart + page * kPage);
  }
  target.change();
  for (int round = 0; round < 3; ++round) {
    reader.refresh();
    for (std::uint64_t page = 0; page < 5; ++page) {
      const auto word = reader.value<std::uint64_t>(Addr{kStart + page * kPage});
      CHECK(word.has_value() == (page != 2));
      CHECK(word.value_or(0) == (page == 2 ? 0 : kStart + page * kPage));
    }
  }
}

}  // namespace oddrank::cpython
