#include "waits/cgroups.h"

#include <algorithm>
#include <optional>

#include "base/read_file.h"
#include "base/split.h"
#include "waits/mounts.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxCgroupText = 65536;

struct Membership {
  std::string_view controllers;  // "cpu,cpuacct"; "" for version 2
  std::string_view path;
};

bool has_word(std::string_view list, std::string_view word) {
  const auto words = split(list, ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "4:memory:/job", "0::/job"
std::optional<Membership> parse_membership(std::string_view line) {
  const auto colon = line.find(':');
  const auto next = colon == std::string_view::npos ? colon : line.find(':', colon + 1);
  if (next == std::string_view::npos) {
    return std::nullopt;
  }
  const Membership found{line.substr(colon + 1, next - colon - 1), line.substr(next + 1)};
  const bool known = !found.controllers.empty() || line.starts_with("0:");
  const bool outside = found.path.find("/..") != std::string_view::npos;
  return known && !outside && found.path.starts_with('/') ? std::optional(found) : std::nullopt;
}

// The mounted part of the hierarchy may begin below its root.
std::string below(const Mount& mount, std::string_view path) {
  const std::string_view root = mount.root == "/" ? std::string_view() : mount.root;
  const bool inside =
      path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
  const std::string_view rest = inside ? path.substr(root.size()) : std::string_view();
  return inside ? mount.folder + std::string(rest == "/" ? "" : rest) : std::string();
}

std::string folder_of(const Membership& member, std::string_view mountinfo) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const auto mount = parse_mount(line);
    const bool fits =
        mount && (member.controllers.empty()
                      ? mount->kind == "cgroup2"
                      : mount->kind == "cgroup" &&
                            has_word(mount->options, split(member.controllers, ',').front()));
    std::string folder = fits ? below(*mount, member.path) : std::string();
    if (!folder.empty()) {
      return folder;
    }
  }
  return {};
}

}  // namespace

std::string cgroup_folder(std::string_view cgroups,
                          std::string_view mountinfo,
                          std::string_view controller) {
  std::optional<Membership> second;
  for (const std::string_view line : split(cgroups, '\n')) {
    const auto member = parse_membership(line);
    if (!member) {
      continue;
    }
    if (has_word(member->controllers, controller)) {
      return folder_of(*member, mountinfo);
    }
    if (member->controllers.empty()) {
      second = member;
    }
  }
  return second ? folder_of(*second, mountinfo) : std::string();
}

std::string state_of_events(std::string_view events) {
  for (const std::string_view line : split(events, '\n')) {
    if (line == "frozen 1") {
      return "FROZEN";
    }
    if (line == "frozen 0") {
      return "THAWED";
    }
  }
  return {};
}

std::string freezer_state(pid_t pid) {
  const auto cgroups = read_file("/proc/" + std::to_string(pid) + "/cgroup", kMaxCgroupText);
  const auto mounts = cgroups ? read_file("/proc/self/mountinfo", kMaxMountinfo) : cgroups;
  const std::string folder =
      cgroups && mounts ? cgroup_folder(*cgroups, *mounts, "freezer") : std::string();
  if (folder.empty()) {
    return {};
  }
  if (const auto state = read_file(folder + "/freezer.state", 64)) {
    return std::string(trim(*state));
  }
  return state_of_events(read_file(folder + "/cgroup.events", kMaxCgroupText).value_or(""));
}

}  // namespace oddrank::waits
