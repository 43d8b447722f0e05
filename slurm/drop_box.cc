#include "slurm/drop_box.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/read_file.h"
#include "slurm/frames.h"

namespace oddrank::slurm {
namespace {

constexpr std::string_view kNote = "oddrank left ";
constexpr std::size_t kMaxBytes = std::size_t{128} << 20;

bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() < 300 && name.front() != '.' &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

}  // namespace

Result<DropBox> DropBox::make(const std::string& parent) {
  std::string folder = parent + "/" + unique_name();
  if (::mkdir(folder.c_str(), 0700) != 0) {
    return fail(errno_code(errno), "cannot make a folder in " + parent + ": " + errno_text(errno),
                "--via takes a folder that this host and all nodes of the job share");
  }
  return DropBox(std::move(folder));
}

DropBox::~DropBox() {
  if (!folder_.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
}

DropBox::DropBox(DropBox&& other) noexcept : folder_(std::exchange(other.folder_, {})) {}

DropBox& DropBox::operator=(DropBox&& other) noexcept {
  std::swap(folder_, other.folder_);
  return *this;
}

Result<std::string> DropBox::open_note(std::string_view note) const {
  if (!note.starts_with(kNote)) {
    return std::string(note);
  }
  const std::string_view name = note.substr(kNote.size());
  if (!is_plain_name(name)) {
    return fail(Errc::kBadData, "an agent's note does not name a file in the folder");
  }
  return read_file(folder_ + "/" + std::string(name), kMaxBytes);
}

Result<std::string> leave_in_box(const std::string& folder,
                                 const std::string& host,
                                 std::string_view bytes) {
  const std::string name = host + ".odd";
  if (!is_plain_name(name)) {
    return fail(Errc::kUsage, "'" + host + "' is not a host name");
  }
  ODDRANK_TRY_STATUS(write_file(folder + "/" + name, bytes));
  return std::string(kNote) + name;
}

}  // namespace oddrank::slurm
