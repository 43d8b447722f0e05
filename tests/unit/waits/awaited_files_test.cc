#include "waits/awaited_files.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using attach::FdKind;

// Returns the files of a call that waits for `count` files, of which some are listed.
AwaitedFiles awaited(const std::vector<NamedFile>& listed, std::uint64_t count) {
  snapshot::Tables tables;
  snapshot::Wait wait;
  for (const NamedFile& file : listed) {
    wait.rare.edit().awaited.emplace_back();
    wait.rare.edit().awaited.back().fd = file.fd;
    wait.rare.edit().awaited.back().link = tables.string(file.link);
  }
  wait.rare.edit().awaited_count = count;
  return awaited_files(wait, tables);
}

TEST_CASE("pipes and sockets that are listed have another end") {
  const AwaitedFiles files = awaited(listed_files({{4, "pipe:[31]"}, {5, "socket:[77]"}}), 2);
  CHECK(files.all);
  REQUIRE(files.ends.size() == 2);
  CHECK(files.ends[0].fd == 4);
  CHECK(files.ends[0].kind == FdKind::kPipe);
  CHECK(files.ends[0].inode == 31);
  CHECK(files.ends[1].kind == FdKind::kSocket);
  CHECK(files.ends[1].inode == 77);
}

TEST_CASE("files without another end come last, whatever their names look like") {
  const auto listed = listed_files({{4, "/data/x, 6 pipe:[99]"}, {5, "socket:[77]"}});
  REQUIRE(listed.size() == 2);
  CHECK(listed[1].fd == 4);
  const AwaitedFiles files = awaited(listed, 2);
  CHECK_FALSE(files.all);
  REQUIRE(files.ends.size() == 1);
  CHECK(files.ends[0].inode == 77);
}

TEST_CASE("a cut list is marked as incomplete") {
  std::vector<NamedFile> many;
  for (int fd = 0; fd < 20; ++fd) {
    many.push_back({fd, "pipe:[" + std::to_string(100 + fd) + "]"});
  }
  const auto listed = listed_files(many);
  CHECK(listed.size() == snapshot::kMaxAwaited);
  CHECK(awaited(listed, 20).ends.size() == 8);
  CHECK_FALSE(awaited(listed, 20).all);
  CHECK_FALSE(awaited({{1, "pipe:[5]"}}, 2).all);
  CHECK_FALSE(awaited({{1, "pipe:[5"}}, 1).all);
  CHECK_FALSE(awaited({}, 0).all);
}

TEST_CASE("pipes that tell the end of a process come after those that bring something") {
  std::vector<NamedFile> many;
  for (int fd = 0; fd < 20; ++fd) {
    many.push_back({fd, "pipe:[" + std::to_string(100 + fd) + "]", fd < 19});
  }
  many.insert(many.begin(), {20, "/data/x"});
  const auto listed = listed_files(many);
  REQUIRE(listed.size() == snapshot::kMaxAwaited);
  CHECK(listed[0].fd == 19);
  CHECK(listed[1].fd == 0);
}

TEST_CASE("one file is the wait's path; other waits have none") {
  snapshot::Tables tables;
  snapshot::Wait wait;
  CHECK(awaited_files(wait, tables).ends.empty());
  wait.fd = 3;
  wait.path = tables.string("socket:[5]");
  REQUIRE(awaited_files(wait, tables).ends.size() == 1);
  CHECK(awaited_files(wait, tables).ends[0].inode == 5);
  wait.path = tables.string("/data/x");
  CHECK(awaited_files(wait, tables).ends.empty());
}

}  // namespace
}  // namespace oddrank::waits
