#include "base/few_notes.h"

#include "tests/support/catch.h"

namespace oddrank {
namespace {

TEST_CASE("notes beyond the limit are counted") {
  const auto notes_of = [](std::size_t count) {
    FewNotes notes(4, "lost servers");
    for (std::size_t i = 0; i < count; ++i) {
      notes.add("server " + std::to_string(i));
    }
    return notes.take();
  };
  CHECK(notes_of(0).empty());
  CHECK(notes_of(4).back() == "server 3");
  CHECK(notes_of(5).size() == 5);
  CHECK(notes_of(5).back() == "1 more note on lost servers");
  CHECK(notes_of(40).size() == 5);
  CHECK(notes_of(40).back() == "36 more notes on lost servers");
}

}  // namespace
}  // namespace oddrank
