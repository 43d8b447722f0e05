#include <algorithm>
#include <vector>

#include "stacks/cpython/remote_reader.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"

namespace oddrank::stacks::cpython {
namespace {

using attach::Addr;

constexpr std::uint64_t kPage = 4096;

// 64 pages; each word tells its own address.
std::vector<std::byte> pages_at(std::uint64_t start) {
  std::vector<std::byte> bytes(64 * kPage);
  for (std::uint64_t at = 0; at < bytes.size(); at += sizeof at) {
    const std::uint64_t word = start + at;
    std::copy_n(reinterpret_cast<const std::byte*>(&word), sizeof word, bytes.data() + at);
  }
  return bytes;
}

// One word of each page, step by step.
void walk(RemoteReader& reader, std::uint64_t first, std::int64_t step) {
  for (std::int64_t i = 0; i < 64; ++i) {
    const Addr at{first + static_cast<std::uint64_t>(i * step)};
    CHECK(reader.value<std::uint64_t>(at) == value_of(at));
  }
}

}  // namespace

TEST_CASE("who goes from page to page gets the next ones with them", "[cpython]") {
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

TEST_CASE("memory that ends behind the page that is wanted is no fault", "[cpython]") {
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
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{(std::uint64_t{1} << 47) - 2 * kPage}));
  CHECK_FALSE(reader.value<std::uint64_t>(Addr{(std::uint64_t{1} << 47) - kPage}));
}

}  // namespace oddrank::stacks::cpython
