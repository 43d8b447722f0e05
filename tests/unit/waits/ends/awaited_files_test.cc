#include "waits/ends/awaited_files.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

using attach::FdKind;

AwaitedFiles of_detail(const std::string& detail) {
  snapshot::Tables tables;
  snapshot::Wait wait;
  wait.detail = tables.string(detail);
  return awaited_files(wait, tables);
}

TEST_CASE("what is listed is read back") {
  const std::string list = list_files({{4, "pipe:[31]"}, {5, "socket:[77]"}}, 2);
  CHECK(list == " of 2 files (4 pipe:[31], 5 socket:[77])");
  const AwaitedFiles files = of_detail("in poll()" + list + ", for 5000 ms at most; woke 9 times");
  CHECK(files.all);
  REQUIRE(files.ends.size() == 2);
  CHECK(files.ends[0].fd == 4);
  CHECK(files.ends[0].kind == FdKind::kPipe);
  CHECK(files.ends[0].inode == 31);
  CHECK(files.ends[1].kind == FdKind::kSocket);
  CHECK(files.ends[1].inode == 77);
}

TEST_CASE("files without another end come last, and there may be anything in their names") {
  const std::string list = list_files({{4, "/data/x, 6 pipe:[99]"}, {5, "socket:[77]"}}, 2);
  CHECK(list == " of 2 files (5 socket:[77], 4 /data/x, 6 pipe:[99])");
  const AwaitedFiles files = of_detail("in poll()" + list);
  CHECK_FALSE(files.all);
  REQUIRE(files.ends.size() == 1);
  CHECK(files.ends[0].inode == 77);
}

TEST_CASE("a list that is cut does not say all") {
  std::vector<NamedFile> many;
  for (int fd = 0; fd < 20; ++fd) {
    many.push_back({fd, "pipe:[" + std::to_string(100 + fd) + "]"});
  }
  const std::string list = list_files(many, 20);
  CHECK(list.ends_with(", 7 pipe:[107], ...)"));
  CHECK(of_detail("in select()" + list).ends.size() == 8);
  CHECK_FALSE(of_detail("in select()" + list).all);
  CHECK_FALSE(of_detail("in select()" + list_files({{1, "pipe:[5]"}}, 2)).all);
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
  CHECK(of_detail("in poll() of 2 files (").ends.empty());
  CHECK(of_detail("in poll() of 2 files (4 pipe:[").ends.empty());
  CHECK(of_detail("in poll() of 2 files (x pipe:[3], 4 pipe:[3])").ends.empty());
}

}  // namespace
}  // namespace oddrank::waits
