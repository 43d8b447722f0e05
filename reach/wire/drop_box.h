// Sends large answers through a shared folder, for jobs of thousands of nodes: srun's one stdout
// then carries one line for each node that names the file, instead of the answer itself.
//
// The line is sent after the file is written, so no folder has to be polled: on NFS a new name is
// looked up when it is first used, while a listing may be half a minute old.
//
// Others may write to the shared folder. So the box is a new folder of our own that nobody else may
// enter, in a place where nobody else can put another one; it is held by its descriptor, agents
// check that it is their own user's, and each file has a random name that only its agent's line
// tells.
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
  // kNotFound, kIo: the folder cannot be made. kPermission: it cannot, or another user could put
  // one of his own in its place; the text says how.
  static Result<DropBox> make(const std::string& parent);
  ~DropBox();
  DropBox(const DropBox&) = delete;
  DropBox& operator=(const DropBox&) = delete;
  DropBox(DropBox&& other) noexcept = default;
  DropBox& operator=(DropBox&& other) noexcept;

  const std::string& folder() const { return folder_; }
  // Returns the file that an agent's note names, at most 128 MiB; text that is not a note is
  // returned as the answer itself. kBadData: the name leads out of the folder, or the file is no
  // regular one of our own user.
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
