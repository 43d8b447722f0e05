// The files that a user's arguments stand for.
#include "node/collect/dump_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/scratch_folder.h"

namespace oddrank::node {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("files are kept in the order of the arguments") {
  const test::ScratchFolder folder;
  const std::string b = folder.put("b", "");
  const std::string a = folder.put("a", "");
  CHECK(expand_files({b, a}) == Names{b, a});
  CHECK(expand_files({}).empty());
}

TEST_CASE("a folder stands for the regular files in it and below, sorted") {
  const test::ScratchFolder folder;
  const std::string two = folder.put("dumps/rank_2", "");
  const std::string one = folder.put("dumps/rank_1", "");
  const std::string deep = folder.put("dumps/deep/rank_0", "");
  REQUIRE(::mkfifo(folder.path("dumps/pipe").c_str(), 0600) == 0);
  CHECK(expand_files({folder.path("dumps")}) == Names{deep, one, two});
}

TEST_CASE("an empty folder stands for nothing") {
  const test::ScratchFolder folder;
  REQUIRE(std::filesystem::create_directory(folder.path("empty")));
  CHECK(expand_files({folder.path("empty")}).empty());
}

TEST_CASE("a pattern stands for its matches, and for the files of folders that match") {
  const test::ScratchFolder folder;
  const std::string one = folder.put("trace_rank_1", "");
  const std::string two = folder.put("trace_rank_2", "");
  const std::string inside = folder.put("trace_more/rank_3", "");
  folder.put("other", "");
  CHECK(expand_files({folder.path("trace_*")}) == Names{inside, one, two});
  CHECK(expand_files({folder.path("trace_rank_[2]")}) == Names{two});
}

TEST_CASE("a file whose name looks like a pattern is that file") {
  const test::ScratchFolder folder;
  const std::string odd = folder.put("rank_[1]", "");
  folder.put("rank_1", "");
  CHECK(expand_files({odd}) == Names{odd});
}

TEST_CASE("a missing file is kept, so that reading it reports the error") {
  const test::ScratchFolder folder;
  const Names missing = {folder.path("none"), folder.path("none_*")};
  CHECK(expand_files(missing) == missing);
}

TEST_CASE("the time at which a file was written has microseconds") {
  const test::ScratchFolder folder;
  const std::string file = folder.put("dump", "x");
  const timespec times[2] = {{1, 0}, {1'700'000'000, 123'456'789}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
  const auto read = read_found_file(file, 10);
  REQUIRE(read);
  CHECK(read->bytes == "x");
  CHECK(read->written_us == 1'700'000'000'123'456);
  CHECK(read_found_file(folder.path("none"), 10).error().code == Errc::kNotFound);
}

TEST_CASE("a FIFO among the dumps is refused without waiting for its writer") {
  const test::ScratchFolder folder;
  const std::string pipe = folder.path("trace_rank_0");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_found_file(pipe, 10).error().code == Errc::kUnsupported);
}

}  // namespace
}  // namespace oddrank::node
