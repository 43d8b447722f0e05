#include "elf/mapped_symbols.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/unit/elf/loaded_sample.h"

namespace oddrank::elf {
namespace {

// The sample, which exports nothing but has dynamic symbols for what it imports; so the C library's
// start routine is among them, undefined. Defined ones are in the live tests' libraries.
TEST_CASE("mapped_symbols: the parts in memory become a file with the build id") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  test::FakeTarget target;
  test::load_sample(target, *image, test::kLoadedAt, true);
  const ModuleMap modules(target);
  auto bytes = copy_mapped_symbols(target, modules.modules().front());
  REQUIRE(bytes);
  const auto copied = ElfImage::from_memory(*std::move(bytes));
  REQUIRE(copied);
  CHECK(copied->build_id() == image->build_id());
}

TEST_CASE("mapped_symbols: damaged memory gives errors or a file that can be read") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  test::FakeTarget whole;
  test::load_sample(whole, *image, test::kLoadedAt, true);
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes each time
  for (int round = 0; round < 300; ++round) {
    test::FakeTarget target;
    test::load_sample(target, *image, test::kLoadedAt, true);
    for (const ElfSegment& segment : image->segments()) {
      if (!segment.executable && segment.file_size > 8) {
        const std::uint64_t at = segment.address + random() % (segment.file_size - 8);
        target.add_object(attach::Addr{test::kLoadedAt + at}, std::uint64_t{random()});
      }
    }
    const ModuleMap modules(target);
    auto bytes = copy_mapped_symbols(target, modules.modules().front());
    if (bytes) {
      const auto copied = ElfImage::from_memory(*std::move(bytes));
      const std::uint64_t asked[] = {0, 4096};
      CHECK((!copied || copied->names_of(asked).size() == 2));
    }
  }
}

}  // namespace
}  // namespace oddrank::elf
