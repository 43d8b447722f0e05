#include "attach/memory_map.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

using oddrank::attach::Addr;
using oddrank::attach::Mapping;
using oddrank::attach::MappingSource;
using oddrank::attach::MemoryMap;

namespace {

Mapping mapping(std::uint64_t start, std::uint64_t end, std::string path) {
  Mapping made;
  made.start = start;
  made.end = end;
  made.path = std::move(path);
  return made;
}

}  // namespace

TEST_CASE("an address finds its mapping, even if mappings come unsorted") {
  const MemoryMap map({mapping(0x3000, 0x4000, "b"), mapping(0x1000, 0x2000, "a")});
  REQUIRE(map.listed().size() == 2);
  REQUIRE(map.find(Addr{0x1000}) != nullptr);
  CHECK(map.find(Addr{0x1000})->path == "a");
  CHECK(map.find(Addr{0x1fff})->path == "a");
  CHECK(map.find(Addr{0x3abc})->path == "b");
}

TEST_CASE("an address outside all mappings finds none") {
  const MemoryMap map({mapping(0x1000, 0x2000, "a"), mapping(0x3000, 0x4000, "b")});
  CHECK(map.find(Addr{0}) == nullptr);
  CHECK(map.find(Addr{0xfff}) == nullptr);
  CHECK(map.find(Addr{0x2000}) == nullptr);
  CHECK(map.find(Addr{0x4000}) == nullptr);
  CHECK(map.find(Addr{~std::uint64_t{0}}) == nullptr);
  CHECK(MemoryMap().find(Addr{0x1000}) == nullptr);
}

TEST_CASE("overlapping, empty and inverted mappings are dropped") {
  const MemoryMap map({mapping(0x1000, 0x3000, "a"), mapping(0x2000, 0x4000, "overlap"),
                       mapping(0x5000, 0x5000, "empty"), mapping(0x7000, 0x6000, "inverted"),
                       mapping(0x3000, 0x3800, "b")});
  REQUIRE(map.listed().size() == 2);
  CHECK(map.find(Addr{0x2800})->path == "a");
  CHECK(map.find(Addr{0x3000})->path == "b");
  CHECK(map.find(Addr{0x3900}) == nullptr);
}

namespace {

// Answers from a list, and counts the queries.
class ListedSource final : public MappingSource {
 public:
  explicit ListedSource(std::vector<Mapping> mappings) : mappings_(std::move(mappings)) {}

  std::optional<Mapping> at(Addr address) const override {
    ++asked;
    for (const Mapping& one : mappings_) {
      if (value_of(address) >= one.start && value_of(address) < one.end) {
        return one;
      }
    }
    return std::nullopt;
  }

  mutable int asked = 0;

 private:
  std::vector<Mapping> mappings_;
};

}  // namespace

TEST_CASE("a mapping that is not listed is queried once") {
  const auto source =
      std::make_shared<ListedSource>(std::vector{mapping(0x5000, 0x7000, "[heap]")});
  const MemoryMap map({mapping(0x1000, 0x2000, "a")}, source);
  CHECK(map.find(Addr{0x1800})->path == "a");
  CHECK(source->asked == 0);
  const Mapping* const heap = map.find(Addr{0x5008});
  REQUIRE(heap != nullptr);
  CHECK(heap->path == "[heap]");
  CHECK(map.find(Addr{0x6fff}) == heap);
  CHECK(source->asked == 1);
  CHECK(map.find(Addr{0x4fff}) == nullptr);
  CHECK(map.find(Addr{0x7000}) == nullptr);
  CHECK(source->asked == 3);
  CHECK(map.listed().size() == 1);
  CHECK(map.find_listed(Addr{0x1800})->path == "a");
  CHECK(map.find_listed(Addr{0x5008}) == nullptr);
  CHECK(source->asked == 3);
}

TEST_CASE("words that cannot be addresses are not queried") {
  const auto source = std::make_shared<ListedSource>(std::vector<Mapping>{});
  const MemoryMap map({}, source);
  CHECK(map.find(Addr{0}) == nullptr);
  CHECK(map.find(Addr{17}) == nullptr);
  CHECK(map.find(Addr{~std::uint64_t{0}}) == nullptr);
  CHECK(map.find(Addr{0x4141414141414141}) == nullptr);
  CHECK(source->asked == 0);
}

TEST_CASE("an answer that does not contain the address is ignored") {
  class Liar final : public MappingSource {
   public:
    std::optional<Mapping> at(Addr /*address*/) const override {
      return mapping(0x5000, 0x6000, "elsewhere");
    }
  };
  const MemoryMap map({}, std::make_shared<Liar>());
  CHECK(map.find(Addr{0x9000}) == nullptr);
  CHECK(map.find(Addr{0x5800})->path == "elsewhere");
}
