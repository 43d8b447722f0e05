#include "base/elf_notes.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

std::vector<std::byte> note(std::uint32_t type,
                            std::string_view name,
                            std::string_view body,
                            std::size_t step = 4) {
  const Elf64_Nhdr header{static_cast<std::uint32_t>(name.size()),
                          static_cast<std::uint32_t>(body.size()), type};
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  for (const std::string_view part : {name, body}) {
    const auto raw = std::as_bytes(std::span(part));
    bytes.insert(bytes.end(), raw.begin(), raw.end());
    bytes.resize((bytes.size() + step - 1) / step * step);
  }
  return bytes;
}

constexpr std::string_view kGnu("GNU\0", 4);

TEST_CASE("elf_notes: the build id is found behind other notes") {
  auto notes = note(1, kGnu, "abcdefg");
  const auto id = note(NT_GNU_BUILD_ID, kGnu, "\x01\xab\xff");
  notes.insert(notes.end(), id.begin(), id.end());
  CHECK(build_id_of_notes(notes, 4) == "01abff");
}

TEST_CASE("elf_notes: notes of alignment 8") {
  auto notes = note(5, kGnu, "abcdefghijkl", 8);
  const auto id = note(NT_GNU_BUILD_ID, kGnu, "\x10\x20", 8);
  notes.insert(notes.end(), id.begin(), id.end());
  CHECK(build_id_of_notes(notes, 8) == "1020");
}

TEST_CASE("elf_notes: nothing, other owners, cut and absurd notes have no build id") {
  CHECK(build_id_of_notes({}, 4).empty());
  CHECK(build_id_of_notes(note(NT_GNU_BUILD_ID, std::string_view("Go\0\0", 4), "ab"), 4).empty());
  const auto whole = note(NT_GNU_BUILD_ID, kGnu, "0123456789");
  for (std::size_t size = 0; size < 26; ++size) {
    CAPTURE(size);
    CHECK(build_id_of_notes(std::span(whole).first(size), 4).empty());
  }
  CHECK(build_id_of_notes(note(NT_GNU_BUILD_ID, kGnu, std::string(65, 'x')), 4).empty());
  auto huge = whole;
  const std::uint32_t size = 0xffffffff;
  std::memcpy(huge.data() + 4, &size, sizeof size);
  CHECK(build_id_of_notes(huge, 4).empty());
}

}  // namespace
}  // namespace oddrank
