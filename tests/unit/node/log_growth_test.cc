// How logs grow, and which process wrote last, on real files.
#include "node/log_growth.h"

#include <sys/stat.h>

#include "tests/support/scratch_folder.h"

namespace oddrank::node {
namespace {

constexpr std::string_view kWords = "oddrank watch: no rank has moved for 5 min\n";

TEST_CASE("the lengths of all logs are added") {
  const test::ScratchFolder folder;
  const std::string out = folder.put("out", "12345");
  const std::string err = folder.put("err", "123");
  CHECK(sample_logs({{out}, {err}}, 8).bytes == 8);
  CHECK_FALSE(sample_logs({{out}, {err}}, 8).by_watcher);
  CHECK(sample_logs({}, 0).bytes == 0);
}

TEST_CASE("a log that is named twice counts once") {
  const test::ScratchFolder folder;
  const std::string out = folder.put("out", "12345");
  std::filesystem::create_symlink(out, folder.path("symbolic"));
  std::filesystem::create_hard_link(out, folder.path("hard"));
  CHECK(sample_logs({{out}, {out}, {folder.path("symbolic")}, {folder.path("hard")}}, 0).bytes ==
        5);
}

TEST_CASE("a missing file, or one that is not regular, has no length and is not opened") {
  const test::ScratchFolder folder;
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  const LogSample sample = sample_logs(
      {{folder.path("none")}, {folder.path("pipe")}, {folder.path("")}, {"/dev/null"}}, 0);
  CHECK(sample.bytes == 0);
  CHECK_FALSE(sample.by_watcher);
}

TEST_CASE("a watcher's words count only in text written since the last sample") {
  const test::ScratchFolder folder;
  const std::string out = folder.put("out", "step 1\n");
  const LogSample first = sample_logs({{out}}, 0);
  CHECK_FALSE(first.by_watcher);
  folder.append("out", kWords);
  const LogSample second = sample_logs({{out}}, first.bytes);
  CHECK(second.bytes == first.bytes + kWords.size());
  CHECK(second.by_watcher);
  CHECK_FALSE(sample_logs({{out}}, second.bytes).by_watcher);
  folder.append("out", "step 2\n");
  CHECK_FALSE(sample_logs({{out}}, second.bytes).by_watcher);
}

TEST_CASE("the words are found in whichever of several logs has grown") {
  const test::ScratchFolder folder;
  const std::string out = folder.put("out", std::string(1000, 'x'));
  const std::string err = folder.put("err", "");
  const std::uint64_t before = sample_logs({{out}, {err}}, 0).bytes;
  folder.append("err", kWords);
  CHECK(sample_logs({{out}, {err}}, before).by_watcher);
}

TEST_CASE("a log that shrank has not grown, whatever is in it") {
  const test::ScratchFolder folder;
  const std::string out = folder.put("out", std::string(1000, 'x'));
  const std::uint64_t before = sample_logs({{out}}, 0).bytes;
  folder.put("out", kWords);
  const LogSample sample = sample_logs({{out}}, before);
  CHECK(sample.bytes == kWords.size());
  CHECK_FALSE(sample.by_watcher);
}

TEST_CASE("only the first MiB of new text is read") {
  const test::ScratchFolder folder;
  const std::string much(std::size_t{1} << 20, 'x');
  const std::string out = folder.put("out", std::string(kWords) + much);
  CHECK(sample_logs({{out}}, 0).by_watcher);
  CHECK_FALSE(sample_logs({{folder.put("late", much + std::string(kWords))}}, 0).by_watcher);
}

}  // namespace
}  // namespace oddrank::node
