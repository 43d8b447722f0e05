// Large answers by way of a shared folder: srun's one stdout then carries a line a node that says
// where the answer lies, instead of the answer. For jobs of thousands of nodes.
//
// The line comes after the file, so that nobody polls a folder: on NFS a new name is looked up when
// it is first asked for, while a listing may be half a minute old.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace oddrank::slurm {

// The asker's side: a new folder of our own below `parent`, removed with all that is in it at the
// end. Move-only.
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
  // What the note of an agent points to, at most 128 MiB; a note that is none is the answer itself.
  // kBadData: a name that leads out of the folder.
  Result<std::string> open_note(std::string_view note) const;

 private:
  explicit DropBox(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;  // empty: moved from
};

// The agent's side: leaves `bytes` in the folder and returns the note to send.
Result<std::string> leave_in_box(const std::string& folder,
                                 const std::string& host,
                                 std::string_view bytes);

}  // namespace oddrank::slurm
