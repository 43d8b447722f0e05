#include "reach/wire/drop_box.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/catch.h"
#include "tests/support/scratch_folder.h"

namespace oddrank::reach {
namespace {

TEST_CASE("an agent's file is found by its note, and no file stays") {
  const test::ScratchFolder scratch;
  {
    const auto box = DropBox::make(scratch.path());
    REQUIRE(box);
    const auto note = leave_in_box(box->folder(), "n0", std::string("a\0b", 3));
    REQUIRE(note);
    CHECK(box->open_note(*note).value() == std::string("a\0b", 3));
    CHECK(box->open_note("an answer of its own").value() == "an answer of its own");
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("a note that leads elsewhere, or to nothing, is refused") {
  const test::ScratchFolder scratch;
  std::ofstream(scratch.path() + "/secret") << "x";
  const auto box = DropBox::make(scratch.path());
  REQUIRE(box);
  for (const char* note : {"oddrank left ../secret", "oddrank left ", "oddrank left .hidden",
                           "oddrank left a/b", "oddrank left never-came.odd"}) {
    CHECK_FALSE(box->open_note(note));
  }
  CHECK_FALSE(leave_in_box(box->folder(), "../n0", "x"));
}

TEST_CASE("only a regular file of our own user is read") {
  const test::ScratchFolder scratch;
  const auto box = DropBox::make(scratch.path());
  REQUIRE(box);
  std::ofstream(scratch.path() + "/secret") << "x";
  std::filesystem::create_symlink(scratch.path() + "/secret", box->folder() + "/link");
  REQUIRE(::mkfifo((box->folder() + "/fifo").c_str(), 0600) == 0);
  CHECK_FALSE(box->open_note("oddrank left link"));
  CHECK_FALSE(box->open_note("oddrank left fifo"));
  std::ofstream(box->folder() + "/other") << "x";
  if (::chown((box->folder() + "/other").c_str(), 61234, 61234) == 0) {
    CHECK_FALSE(box->open_note("oddrank left other"));
  }
}

TEST_CASE("names cannot be guessed") {
  const test::ScratchFolder scratch;
  const auto box = DropBox::make(scratch.path());
  REQUIRE(box);
  CHECK(leave_in_box(box->folder(), "n0", "x").value() !=
        leave_in_box(box->folder(), "n0", "x").value());
}

TEST_CASE("a place where another user could swap the box is refused, with the reason") {
  const test::ScratchFolder scratch;
  const std::string open = scratch.path() + "/open";
  std::filesystem::create_directory(open);
  const auto refusal = [&](mode_t mode) {
    REQUIRE(::chmod(open.c_str(), mode) == 0);
    const auto box = DropBox::make(open);
    return box ? std::string() : box.error().what;
  };
  CHECK(refusal(0777).find("everybody may rename files in it") != std::string::npos);
  CHECK(refusal(0770).find("its group may rename files in it") != std::string::npos);
  CHECK(refusal(01777).empty());
  CHECK(refusal(0755).empty());
  // The folder above counts, too.
  std::filesystem::create_directory(open + "/mine");
  REQUIRE(::chmod(open.c_str(), 0777) == 0);
  CHECK_FALSE(DropBox::make(open + "/mine"));
  REQUIRE(::chmod(open.c_str(), 0755) == 0);
  if (::chown((open + "/mine").c_str(), 61234, 61234) == 0) {
    CHECK(DropBox::make(open + "/mine").error().what.find("it belongs to user 61234") !=
          std::string::npos);
  }
}

TEST_CASE("an agent leaves nothing in a folder that others may enter") {
  const test::ScratchFolder scratch;
  const std::string fake = scratch.path() + "/box";
  std::filesystem::create_directory(fake);
  REQUIRE(::chmod(fake.c_str(), 0755) == 0);
  CHECK(leave_in_box(fake, "n0", "x").error().code == Errc::kPermission);
  REQUIRE(::chmod(fake.c_str(), 0700) == 0);
  CHECK(leave_in_box(fake, "n0", "x"));
  std::filesystem::create_symlink(fake, scratch.path() + "/link");
  CHECK_FALSE(leave_in_box(scratch.path() + "/link", "n0", "x"));
}

TEST_CASE("a folder that cannot be made is an error with a hint") {
  const auto box = DropBox::make("/nowhere");
  REQUIRE_FALSE(box);
  CHECK(box.error().hint.find("share") != std::string::npos);
}

}  // namespace
}  // namespace oddrank::reach
