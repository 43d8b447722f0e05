#include "node/collect/collect_programs.h"

#include <map>

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using Files = std::map<std::string, std::string>;

const std::string kHash = "3f2a9c1d7e55aabbccddeeff00112233445566ab";
const std::string kOther = "9999999999999999999999999999999999999999";

std::string commit_in(const Files& files, const std::string& folder) {
  return git_commit(
      [&files](const std::string& path) -> Result<std::string> {
        const auto found = files.find(path);
        if (found == files.end()) {
          return fail(Errc::kNotFound, "no " + path);
        }
        if (found->second == "?") {
          return fail(Errc::kUnsupported, "changed " + path);
        }
        return found->second;
      },
      folder);
}

TEST_CASE("the commit of a branch, of a detached head and of packed refs") {
  const Files branch = {{"/src/.git/HEAD", "ref: refs/heads/main\n"},
                        {"/src/.git/refs/heads/main", kHash + "\n"},
                        {"/src/.git/packed-refs", kOther + " refs/heads/main\n"}};
  CHECK(commit_in(branch, "/src/train/llm") == "3f2a9c1d7e55");
  CHECK(commit_in(branch, "/src/") == "3f2a9c1d7e55");
  CHECK(commit_in(branch, "/other").empty());
  CHECK(commit_in({{"/.git/HEAD", kHash}}, "/a/b") == "3f2a9c1d7e55");
  CHECK(commit_in({{"/.git/HEAD", kHash}}, "/") == "3f2a9c1d7e55");
  CHECK(commit_in({{"/src/.git/HEAD", "ref: refs/heads/main\n"},
                   {"/src/.git/packed-refs", "# pack-refs\n" + kOther + " refs/heads/mainline\n" +
                                                 kHash + " refs/heads/main\n^" + kOther + "\n"}},
                  "/src") == "3f2a9c1d7e55");
}

TEST_CASE("a second working tree, and a submodule") {
  CHECK(commit_in({{"/tree/.git", "gitdir: /src/.git/worktrees/tree\n"},
                   {"/src/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n"},
                   {"/src/.git/worktrees/tree/commondir", "../..\n"},
                   {"/src/.git/worktrees/tree/../../refs/heads/side", kHash}},
                  "/tree") == "3f2a9c1d7e55");
  CHECK(commit_in({{"/src/sub/.git", "gitdir: ../.git/modules/sub\n"},
                   {"/src/sub/../.git/modules/sub/HEAD", kHash},
                   {"/src/.git/HEAD", kOther}},
                  "/src/sub") == "3f2a9c1d7e55");
}

TEST_CASE("what may have changed, or makes no sense, is no commit") {
  CHECK(commit_in({{"/src/.git/HEAD", "?"}, {"/.git/HEAD", kHash}}, "/src").empty());
  CHECK(commit_in({{"/src/.git/HEAD", "ref: refs/heads/main\n"},
                   {"/src/.git/refs/heads/main", "?"},
                   {"/src/.git/packed-refs", kHash + " refs/heads/main\n"}},
                  "/src")
            .empty());
  for (const char* head : {"", "ref: ", "ref: /etc/passwd", "3f2a9c1d7e55", "ref: refs/heads/x"}) {
    INFO(head);
    CHECK(commit_in({{"/src/.git/HEAD", head}}, "/src").empty());
  }
  CHECK(commit_in({{"/.git/HEAD", std::string(40, 'x')}}, "/src").empty());
  CHECK(commit_in({{"/.git/HEAD", kHash}}, "src").empty());
  CHECK(commit_in({{"/.git/HEAD", kHash}}, "").empty());
  std::string deep;
  for (int i = 0; i < 40; ++i) {
    deep += "/a";
  }
  CHECK(commit_in({{"/.git/HEAD", kHash}}, deep).empty());
}

}  // namespace
}  // namespace oddrank::node
