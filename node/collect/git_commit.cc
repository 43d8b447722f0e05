#include "node/collect/git_commit.h"

#include <cstddef>
#include <optional>
#include <string_view>

#include "base/split.h"

namespace oddrank::node {
namespace {

constexpr int kMaxFoldersAbove = 32;
constexpr std::size_t kShownDigits = 12;

bool is_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string shown_hash(std::string_view text) {
  const std::string_view hash = trim(text);
  return is_hash(hash) ? std::string(hash.substr(0, kShownDigits)) : std::string();
}

std::string joined_path(const std::string& folder, std::string_view path) {
  return path.starts_with('/') ? std::string(path) : folder + "/" + std::string(path);
}

// Returns what follows `prefix` in a file of one line; nullopt if it is another.
std::optional<std::string> line_after(const Result<std::string>& text, std::string_view prefix) {
  if (!text || !text->starts_with(prefix)) {
    return std::nullopt;
  }
  return std::string(trim(std::string_view(*text).substr(prefix.size())));
}

bool is_absent(const Result<std::string>& text) {
  return !text && text.error().code == Errc::kNotFound;
}

// A line is "HASH refs/heads/main"; others are comments, or what a tag leads to ("^HASH").
std::string packed_ref(std::string_view packed, std::string_view ref) {
  for (const std::string_view line : split(packed, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[1] == ref) {
      return shown_hash(words[0]);
    }
  }
  return {};
}

// `folder`: the folder of the repository's files, for one working tree.
std::string commit_of(const ReadSmall& read, const std::string& folder, std::string_view head) {
  constexpr std::string_view kRef = "ref: ";
  if (!head.starts_with(kRef)) {
    return shown_hash(head);
  }
  const std::string ref(trim(head.substr(kRef.size())));
  if (!ref.starts_with("refs/")) {
    return {};
  }
  const auto common = line_after(read(folder + "/commondir"), "");
  const std::string shared = common ? joined_path(folder, *common) : folder;
  const auto loose = read(shared + "/" + ref);
  if (loose) {
    return shown_hash(*loose);
  }
  const auto packed = is_absent(loose) ? read(shared + "/packed-refs") : loose;
  return packed ? packed_ref(*packed, ref) : std::string();
}

}  // namespace

std::string git_commit(const ReadSmall& read, const std::string& folder) {
  if (!folder.starts_with('/')) {
    return {};
  }
  std::string above = folder;
  for (int i = 0; i < kMaxFoldersAbove; ++i) {
    above.resize(above.find_last_not_of('/') + 1);
    const auto head = read(above + "/.git/HEAD");
    if (head) {
      return commit_of(read, above + "/.git", *head);
    }
    // In a second working tree and in a submodule, .git is a file.
    const auto file = read(above + "/.git");
    if (const auto elsewhere = line_after(file, "gitdir: ")) {
      const std::string files = joined_path(above, *elsewhere);
      const auto its_head = read(files + "/HEAD");
      return its_head ? commit_of(read, files, *its_head) : std::string();
    }
    if (!is_absent(head) || !is_absent(file) || above.empty()) {
      return {};
    }
    above.resize(above.rfind('/'));
  }
  return {};
}

}  // namespace oddrank::node
