// Sends large answers through a shared folder, for jobs of thousands of nodes: then the only stdout
// of srun carries a line with a file name for each node, not the answer itself.
//
// The line is sent after the file is written, so no folder has to be polled: on NFS a new name is
// looked up when it is first used, while a listing may be half a minute old.
//
// Other users may write to the shared folder. So the box is a new folder that only our user may
// enter, in a place where no other user can replace it. It is held by its descriptor, agents check
// that their own user owns it, and each file has a random name that only its agent's line contains.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::reach {

// The receiving side: a new folder below `parent`. The destructor removes it with its contents.
// Move-only.
class DropBox {
 public:
  // kNotFound, kIo, kPermission: the folder cannot be made. kPermission also if another user could
  // replace it; the text says how.
  static Result<DropBox> make(const std::string& parent);
  ~DropBox();
  DropBox(const DropBox&) = delete;
  DropBox& operator=(const DropBox&) = delete;
  DropBox(DropBox&& other) noexcept = default;
  DropBox& operator=(DropBox&& other) noexcept;

  const std::string& folder() const { return folder_; }
  // Returns the contents of the file that an agent's note names, at most 128 MiB; text that is not
  // a note is the answer itself. kBadData: the name leads out of the folder, or the file is not a
  // regular file of our own user.
  Result<std::string> open_note(std::string_view note) const;

 private:
  DropBox(UniqueFd parent, UniqueFd box, std::string folder)
      : parent_(std::move(parent)), box_(std::move(box)), folder_(std::move(folder)) {}
  void remove();

  UniqueFd parent_;
  UniqueFd box_;  // invalid: moved from
  std::string folder_;
};

// The agent's side: writes `bytes` into the folder and returns the note to send. kPermission: the
// folder is not our user's own.
Result<std::string> leave_in_box(const std::string& folder,
                                 const std::string& host,
                                 std::string_view bytes);

}  // namespace oddrank::reach
