#include "unwind/unwind_table.h"

#include <cstring>
#include <random>

#include "tests/support/catch.h"
#include "tests/unit/elf/elf_samples.h"

namespace oddrank::unwind {
namespace {

struct Section {
  explicit Section(const elf::ElfImage& image) {
    const auto range = image.section(".eh_frame");
    REQUIRE(range);
    address = range->address;
    const auto view = image.bytes_at(range->address, range->size);
    bytes.assign(view.begin(), view.end());
  }
  std::uint64_t address = 0;
  std::vector<std::byte> bytes;
};

TEST_CASE("eh_frame_index: the same as the index that the linker made") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const Section section(*image);
  const auto index = index_eh_frame(section.bytes, section.address);
  const auto header = image->eh_frame_hdr();
  REQUIRE(header);
  // Four bytes of encodings, a pointer and a count of four bytes each, then pairs.
  const auto table = image->bytes_at(header->address, header->size);
  std::uint32_t count = 0;
  REQUIRE(table.size() > 12);
  std::memcpy(&count, table.data() + 8, sizeof count);
  REQUIRE(count > 5);
  REQUIRE(index.size() == count);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t pair[2] = {};
    std::memcpy(pair, table.data() + 12 + i * sizeof pair, sizeof pair);
    CHECK(index[i].start == header->address + static_cast<std::uint64_t>(std::int64_t{pair[0]}));
    CHECK(index[i].entry == header->address + static_cast<std::uint64_t>(std::int64_t{pair[1]}));
  }
}

TEST_CASE("eh_frame_index: damaged bytes yield fewer entries, never more than fit") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  const Section section(*image);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes each time
  for (int round = 0; round < 2000; ++round) {
    auto bytes = section.bytes;
    for (int flips = 0; flips < 1 + round % 20; ++flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    bytes.resize(random() % bytes.size());
    const auto index = index_eh_frame(bytes, section.address);
    CHECK(index.size() <= bytes.size() / 8);
  }
  CHECK(index_eh_frame({}, 0).empty());
}

}  // namespace
}  // namespace oddrank::unwind
