#include "slurm/drop_box.h"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"

namespace oddrank::slurm {
namespace {

class Scratch {
 public:
  Scratch() {
    char name[] = "/tmp/oddrank-box-test-XXXXXX";
    path_ = ::mkdtemp(name);
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  Scratch(Scratch&&) = delete;
  Scratch& operator=(Scratch&&) = delete;
  const std::string& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::string path_;
};

TEST_CASE("an agent's file is found by its note, and no file stays") {
  const Scratch scratch;
  {
    const auto box = DropBox::make(scratch.path());
    REQUIRE(box);
    const auto note = leave_in_box(box->folder(), "n0", std::string("a\0b", 3));
    REQUIRE(note);
    CHECK(box->open_note(*note).value() == std::string("a\0b", 3));
    CHECK(box->open_note("an answer of its own").value() == "an answer of its own");
  }
  CHECK(scratch.empty());
}

TEST_CASE("a note that leads elsewhere, or to nothing, is refused") {
  const Scratch scratch;
  std::ofstream(scratch.path() + "/secret") << "x";
  const auto box = DropBox::make(scratch.path());
  REQUIRE(box);
  for (const char* note : {"oddrank left ../secret", "oddrank left ", "oddrank left .hidden",
                           "oddrank left a/b", "oddrank left never-came.odd"}) {
    CHECK_FALSE(box->open_note(note));
  }
  CHECK_FALSE(leave_in_box(box->folder(), "../n0", "x"));
}

TEST_CASE("a folder that cannot be made is an error with a hint") {
  const auto box = DropBox::make("/nowhere");
  REQUIRE_FALSE(box);
  CHECK(box.error().hint.find("share") != std::string::npos);
}

}  // namespace
}  // namespace oddrank::slurm
