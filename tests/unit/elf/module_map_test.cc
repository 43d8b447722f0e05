#include "elf/module_map.h"

#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/elf/loaded_sample.h"

namespace oddrank::elf {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kBase = test::kLoadedAt;

TEST_CASE("module_map: the segments of one file are one module, with its load bias") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  test::FakeTarget target;
  test::load_sample(target, *image);
  target.add_real_file(test::kLoadedPath, test::sample_path());
  ModuleMap modules(target);

  REQUIRE(modules.modules().size() == 1);
  const Module& module = modules.modules().front();
  CHECK(module.start == kBase);
  CHECK(modules.find(kBase + image->symbol("main")->address) == &module);
  CHECK(modules.find(kBase - 1) == nullptr);
  CHECK(modules.find(module.end) == nullptr);
  const auto bias = modules.load_bias(module);
  REQUIRE(bias);
  CHECK(*bias == kBase);
  CHECK(modules.build_id(module) == image->build_id());
  const auto header = modules.mapped_header(module);
  REQUIRE(header);
  CHECK((*header)->load_bias == kBase);
  CHECK((*header)->eh_frame_hdr->address == image->eh_frame_hdr()->address);
}

TEST_CASE("module_map: a file that is loaded twice is two modules") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  test::FakeTarget target;
  test::load_sample(target, *image);
  test::load_sample(target, *image, kBase + (1U << 24U));
  target.add_real_file(test::kLoadedPath, test::sample_path());
  ModuleMap modules(target);
  REQUIRE(modules.modules().size() == 2);
  CHECK(*modules.load_bias(modules.modules()[0]) == kBase);
  CHECK(*modules.load_bias(modules.modules()[1]) == kBase + (1U << 24U));
}

TEST_CASE("module_map: a file of another build is not used, the memory still is") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  REQUIRE_FALSE(image->build_id().empty());
  // The same program, but with one more bit in the id that lies in memory.
  auto first_page = test::bytes_of(test::sample_path());
  first_page.resize(kPage);
  const std::string_view text(reinterpret_cast<const char*>(first_page.data()), first_page.size());
  const auto note = text.find(std::string_view("\x14\0\0\0\3\0\0\0GNU\0", 12));
  REQUIRE(note != std::string_view::npos);
  first_page[note + 12] ^= std::byte{1};

  test::FakeTarget target;
  test::load_sample(target, *image);
  target.add_memory(attach::Addr{kBase}, first_page);
  target.add_real_file(test::kLoadedPath, test::sample_path());
  ModuleMap modules(target);
  const Module& module = modules.modules().front();
  const auto refused = modules.image_of(module);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kBadData);
  CHECK(refused.error().what == "/job/bin/sample: another build of the file is mapped");
  CHECK(modules.build_id(module) != image->build_id());
  CHECK(modules.build_id(module).size() == image->build_id().size());
}

TEST_CASE("module_map: data files and anonymous memory are no modules") {
  test::FakeTarget target;
  attach::Mapping data;
  data.start = kBase;
  data.end = kBase + kPage;
  data.inode = 5;
  data.path = "/data/shard-0.tar";
  data.readable = true;
  target.add_mapping(data);
  data.start += kPage;
  data.end += kPage;
  data.inode = 0;
  data.path.clear();
  data.executable = true;  // code that a compiler made at run time
  target.add_mapping(data);
  ModuleMap modules(target);
  CHECK(modules.modules().empty());
  CHECK(modules.find(kBase) == nullptr);
}

TEST_CASE("module_map: a file that cannot be opened is tried once, then memory serves") {
  const auto image = test::open_image(test::sample_path());
  REQUIRE(image);
  test::FakeTarget target;
  test::load_sample(target, *image);
  ModuleMap modules(target);
  const Module& module = modules.modules().front();
  const auto first = modules.image_of(module);
  REQUIRE_FALSE(first);
  CHECK(first.error().what.find(test::kLoadedPath) == 0);
  CHECK(modules.image_of(module).error().what == first.error().what);
  CHECK_FALSE(modules.load_bias(module));
  CHECK(modules.build_id(module) == image->build_id());
}

}  // namespace
}  // namespace oddrank::elf
