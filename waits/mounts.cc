#include "waits/mounts.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::waits {
namespace {

constexpr std::array<std::string_view, 22> kRemote = {
    "nfs",      "nfs4",      "lustre", "gpfs", "mmfs",   "ceph",    "cifs",   "smb3",
    "smbfs",    "9p",        "afs",    "fuse", "beegfs", "panfs",   "wekafs", "pvfs2",
    "orangefs", "glusterfs", "ocfs2",  "gfs2", "coda",   "virtiofs"};

// Blanks and the like are written as "\040".
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto code = text[i] == '\\' && i + 3 < text.size()
                          ? parse_number<unsigned char>(text.substr(i + 1, 3), 8)
                          : std::nullopt;
    plain += code ? (*code < 0x20 ? '?' : static_cast<char>(*code)) : text[i];
    i += code ? 3 : 0;
  }
  return plain;
}

bool holds(std::string_view folder, std::string_view path) {
  return path.starts_with(folder) &&
         (folder.ends_with('/') || path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace

// "36 35 98:0 /root /folder rw,noatime master:1 - ext3 /dev/root rw,errors=continue": the number of
// words before the dash differs.
std::optional<Mount> parse_mount(std::string_view line) {
  const auto words = split_blanks(line);
  const auto dash = std::find(words.begin(), words.end(), "-");
  if (words.size() < 7 || words.end() - dash < 3 || dash - words.begin() < 6) {
    return std::nullopt;
  }
  return Mount{unescape(words[3]),
               unescape(words[4]),
               std::string(*(dash + 1)),
               unescape(*(dash + 2)),
               words.end() - dash > 3 ? std::string(*(dash + 3)) : std::string(),
               std::string(words[2])};
}

std::optional<Mount> mount_of(std::string_view mountinfo, std::string_view path) {
  std::optional<Mount> longest;
  for (const std::string_view line : split(mountinfo, '\n')) {
    auto mount = parse_mount(line);
    if (mount && path.starts_with('/') && holds(mount->folder, path) &&
        (!longest || mount->folder.size() >= longest->folder.size())) {
      longest = std::move(mount);
    }
  }
  return longest;
}

std::optional<std::uint64_t> device_of_mount(std::string_view mountinfo, std::uint64_t id) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() < 3 || parse_number<std::uint64_t>(words[0]) != id) {
      continue;
    }
    const auto colon = words[2].find(':');
    if (colon == std::string_view::npos) {
      return std::nullopt;
    }
    const auto major = parse_number<std::uint32_t>(words[2].substr(0, colon));
    const auto minor = parse_number<std::uint32_t>(words[2].substr(colon + 1));
    return major && minor ? std::optional(std::uint64_t{*major} << 32 | *minor) : std::nullopt;
  }
  return std::nullopt;
}

bool is_local(const Mount& mount) {
  constexpr std::array<std::string_view, 8> kLocal = {"tmpfs", "ext4",  "ext3",    "ext2",
                                                      "xfs",   "btrfs", "overlay", "f2fs"};
  return std::find(kLocal.begin(), kLocal.end(), mount.kind) != kLocal.end();
}

bool is_remote(const Mount& mount) {
  return mount.kind.starts_with("fuse.") ||
         std::find(kRemote.begin(), kRemote.end(), mount.kind) != kRemote.end();
}

std::string mount_words(const Mount& mount) {
  return mount.kind + " " + mount.source + " at " + mount.folder;
}

}  // namespace oddrank::waits
