#include "attach/memory_map.h"

#include "tests/support/catch.h"

using oddrank::attach::Addr;
using oddrank::attach::Mapping;
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

TEST_CASE("an address finds its mapping, also where mappings come unsorted") {
  const MemoryMap map({mapping(0x3000, 0x4000, "b"), mapping(0x1000, 0x2000, "a")});
  REQUIRE(map.all().size() == 2);
  REQUIRE(map.find(Addr{0x1000}) != nullptr);
  CHECK(map.find(Addr{0x1000})->path == "a");
  CHECK(map.find(Addr{0x1fff})->path == "a");
  CHECK(map.find(Addr{0x3abc})->path == "b");
}

TEST_CASE("an address outside of all mappings finds none") {
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
  REQUIRE(map.all().size() == 2);
  CHECK(map.find(Addr{0x2800})->path == "a");
  CHECK(map.find(Addr{0x3000})->path == "b");
  CHECK(map.find(Addr{0x3900}) == nullptr);
}
