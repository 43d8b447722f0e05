#include "reach/wire/drop_box.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/base_name.h"
#include "base/read_file.h"
#include "base/unique_fd.h"
#include "base/write_file.h"
#include "reach/wire/frames.h"

namespace oddrank::reach {
namespace {

constexpr std::string_view kNote = "oddrank left ";
constexpr std::size_t kMaxBytes = std::size_t{128} << 20;
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() < 300 && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

// Returns how another user could replace a folder that we make in this folder by their own; "" if
// no other user can. `above`: it is not the folder itself but one above it, where members of a
// group are trusted: agents refuse a box that is not their own.
std::string who_could_swap(const struct stat& facts, bool above) {
  const mode_t writers = above ? S_IWOTH : S_IWGRP | S_IWOTH;
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid() && !above) {
    return "it belongs to user " + std::to_string(facts.st_uid);
  }
  if ((facts.st_mode & writers) != 0 && (facts.st_mode & S_ISVTX) == 0) {
    return (facts.st_mode & S_IWOTH) != 0 ? "everybody may rename files in it"
                                          : "its group may rename files in it";
  }
  return {};
}

Status check_place(const std::string& folder) {
  bool above = false;
  for (std::filesystem::path path = folder;; path = path.parent_path()) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) != 0) {
      return fail(errno_code(errno), "cannot examine " + path.string() + ": " + errno_text(errno));
    }
    if (const std::string who = who_could_swap(facts, above); !who.empty()) {
      std::string why = "no answers are sent through " + folder;
      why += ": another user could put a folder of his own there, because ";
      why += above ? path.string() + " is above it, and " : std::string();
      return fail(Errc::kPermission, why + who,
                  "make a folder for --shared that only you can write to (chmod 700), or set its "
                  "sticky bit (chmod +t)");
    }
    if (path == path.parent_path()) {
      return ok();
    }
    above = true;
  }
}

}  // namespace

Result<DropBox> DropBox::make(const std::string& parent) {
  constexpr const char* kHint =
      "--shared takes a folder that this host and all nodes of the job share";
  const auto cannot = [&parent](int reason) {
    return Error{errno_code(reason),
                 "cannot make a folder in " + parent + ": " + errno_text(reason), kHint};
  };
  std::error_code error;
  const std::string real = std::filesystem::canonical(parent, error).string();
  if (error) {
    return fail(cannot(error.value()));
  }
  ODDRANK_TRY_STATUS(check_place(real));
  const std::string name = unique_name();
  UniqueFd outer(::open(real.c_str(), kFolderFlags | O_NOFOLLOW));
  if (!outer.valid() || ::mkdirat(outer.get(), name.c_str(), 0700) != 0) {
    return fail(cannot(errno));
  }
  UniqueFd box(::openat(outer.get(), name.c_str(), kFolderFlags | O_NOFOLLOW));
  if (!box.valid()) {
    return fail(cannot(errno));
  }
  return DropBox(std::move(outer), std::move(box), real + "/" + name);
}

DropBox::~DropBox() {
  remove();
}

void DropBox::remove() {
  if (!box_.valid()) {
    return;
  }
  std::vector<std::string> names;
  if (const Directory entries(::fdopendir(::fcntl(box_.get(), F_DUPFD_CLOEXEC, 0))); entries) {
    while (const dirent* entry = next_entry(entries)) {
      names.emplace_back(entry->d_name);
    }
  }
  for (const std::string& name : names) {
    ::unlinkat(box_.get(), name.c_str(), 0);
  }
  ::unlinkat(parent_.get(), std::string(base_name(folder_)).c_str(), AT_REMOVEDIR);
  box_.reset();
}

DropBox& DropBox::operator=(DropBox&& other) noexcept {
  if (this != &other) {
    remove();
    parent_ = std::move(other.parent_);
    box_ = std::move(other.box_);
    folder_ = std::move(other.folder_);
  }
  return *this;
}

Result<std::string> DropBox::open_note(std::string_view note) const {
  if (!note.starts_with(kNote)) {
    return std::string(note);
  }
  const std::string name(note.substr(kNote.size()));
  if (!is_plain_name(name)) {
    return fail(Errc::kBadData, "an agent's note does not name a file in the folder");
  }
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const UniqueFd fd(::openat(box_.get(), name.c_str(), kFlags));
  struct stat facts {};
  if (!fd.valid() || ::fstat(fd.get(), &facts) != 0) {
    return fail(errno_code(errno), "cannot open " + name + ": " + errno_text(errno));
  }
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return fail(Errc::kBadData, name + " is not a file that an agent of ours has made");
  }
  return read_all(fd.get(), name, kMaxBytes);
}

Result<std::string> leave_in_box(const std::string& folder,
                                 const std::string& host,
                                 std::string_view bytes) {
  if (!is_plain_name(host)) {
    return fail(Errc::kUsage, "'" + host + "' is not a host name");
  }
  const UniqueFd box(::open(folder.c_str(), kFolderFlags | O_NOFOLLOW));
  struct stat facts {};
  if (!box.valid() || ::fstat(box.get(), &facts) != 0) {
    return fail(errno_code(errno), "cannot open " + folder + ": " + errno_text(errno));
  }
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  if (facts.st_uid != ::geteuid() || (facts.st_mode & kOthers) != 0) {
    return fail(Errc::kPermission,
                folder + " is not a private folder of our user: nothing is written there");
  }
  const std::string name = host + "-" + random_word() + ".odd";
  ODDRANK_TRY_STATUS(write_file_in(box.get(), name, bytes));
  return std::string(kNote) + name;
}

}  // namespace oddrank::reach
