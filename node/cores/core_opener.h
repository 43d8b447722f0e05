// Opens module files of the processes of core files, for the naming of frames.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "attach/core/core_target.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "elf/module_files.h"

namespace oddrank::node {

struct CoreOfProcess {
  pid_t pid = 0;
  std::string path;
};

// Opens each core once, when it is first needed. May block; see base/isolated.h.
class CoreOpener {
 public:
  CoreOpener(std::vector<CoreOfProcess> cores, std::string sysroot)
      : cores_(std::move(cores)), sysroot_(std::move(sysroot)) {}

  // Opens the file at that path for the first core of `pid` that has a trustworthy one (processes
  // of several hosts may have the same pid). The caller compares build ids. For "[vdso]" the file
  // holds its image.
  Result<UniqueFd> open(pid_t pid, const std::string& path);
  // Opens a file with the part of the module's symbols that the core contains.
  Result<UniqueFd> open_memory(pid_t pid, const std::string& path);
  // Opens a separate debug file below the sysroot.
  Result<UniqueFd> open_debug(const std::string& build_id) const;

  // Reads a source file that a module names.
  Result<std::string> read_source(pid_t pid, const std::string& path);

  // Returns all four as functions, which borrow this object.
  elf::ModuleFiles files();

 private:
  const attach::CoreTarget* target_of(const CoreOfProcess& core);
  Result<UniqueFd> first(pid_t pid,
                         const std::string& path,
                         const std::function<Result<UniqueFd>(const attach::CoreTarget&)>& open_of);

  std::vector<CoreOfProcess> cores_;
  std::string sysroot_;
  std::map<std::string, std::unique_ptr<attach::CoreTarget>> targets_;  // null: cannot be opened
};

}  // namespace oddrank::node
