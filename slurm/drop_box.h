// Sends large answers through a shared folder, for jobs of thousands of nodes: srun's one stdout
// then carries one line for each node that names the file, instead of the answer itself.
//
// The line is sent after the file is written, so no folder has to be polled: on NFS a new name is
// looked up when it is first used, while a listing may be half a minute old.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank::slurm {

// The receiving side: a new folder below `parent`. The destructor removes it with its contents.
// Move-only.
class DropBox {
 public:
  // kNotFound, kPermission, kIo: the folder cannot be made.
  static Result<DropBox> make(const std::string& parent);
  ~DropBox();
  DropBox(const DropBox&) = delete;
  DropBox& operator=(const DropBox&) = delete;
  DropBox(DropBox&& other) noexcept;
  DropBox& operator=(DropBox&& other) noexcept;

  const std::string& folder() const { return folder_; }
  // Returns the file that an agent's note names, at most 128 MiB; text that is not a note is
  // returned as the answer itself. kBadData: the name leads out of the folder.
  Result<std::string> open_note(std::string_view note) const;

 private:
  explicit DropBox(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;  // empty: moved from
};

// The agent's side: writes `bytes` into the folder and returns the note to send.
Result<std::string> leave_in_box(const std::string& folder,
                                 const std::string& host,
                                 std::string_view bytes);

}  // namespace oddrank::slurm
