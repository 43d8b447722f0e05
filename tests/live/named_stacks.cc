#include "tests/live/named_stacks.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attach/live_target.h"
#include "base/names/demangle.h"
#include "elf/mapped_symbols.h"
#include "elf/module_map.h"
#include "elf/symbolize.h"
#include "stacks/collect.h"
#include "tests/support/name_frames.h"
#include "tests/support/victim.h"

namespace oddrank::test {
namespace {

Result<UniqueFd> open_memory(const attach::Target& target, const std::string& path) {
  const elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    if (module.path == path) {
      ODDRANK_TRY(const auto bytes, elf::copy_mapped_symbols(target, module));
      UniqueFd fd(::memfd_create("symbols", MFD_CLOEXEC));
      if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
        return fail(Errc::kIo, "cannot write a memfd");
      }
      return fd;
    }
  }
  return fail(Errc::kNotFound, "no module " + path);
}

}  // namespace

Result<UniqueFd> open_as_seen(pid_t pid, const std::string& path) {
  const std::string seen = "/proc/" + std::to_string(pid) + "/root" + path;
  UniqueFd fd(::open(seen.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + seen);
  }
  return fd;
}

Result<snapshot::Capture> read_process(pid_t pid, const stacks::CollectOptions& options) {
  ODDRANK_TRY(const auto target, attach::LiveTarget::open(pid));
  snapshot::Capture capture;
  snapshot::ProcessCapture process;
  process.pid = pid;
  ODDRANK_TRY_STATUS(stacks::collect_stacks(*target, options, capture.tables, process));
  capture.processes.push_back(std::move(process));
  return capture;
}

Result<snapshot::Capture> read_until(pid_t pid,
                                     const std::function<bool(const snapshot::Capture&)>& is_so,
                                     const stacks::CollectOptions& options) {
  const Deadline deadline = Victim::soon();
  while (true) {
    auto capture = read_process(pid, options);
    if (!capture || is_so(*capture) || deadline.passed()) {
      return capture;
    }
  }
}

std::vector<std::string> names_of(const snapshot::Capture& capture, const snapshot::Stack& stack) {
  std::vector<std::string> names;
  for (const auto id : stack.frames) {
    const snapshot::Frame& frame = capture.tables.frame(id);
    const bool evaluation = (frame.flags & snapshot::kEvaluation) != 0;
    names.push_back(evaluation ? "*" : short_name(capture.tables.text(frame.function)));
  }
  return names;
}

elf::ModuleFiles files_of(const attach::Target& target) {
  elf::ModuleFiles files;
  files.module = [&target](pid_t, const std::string& path) -> Result<UniqueFd> {
    if (path == "[vdso]") {
      return open_memory(target, path);
    }
    for (const attach::Mapping& mapping : target.maps().listed()) {
      if (mapping.path == path) {
        return target.open_file(mapping);
      }
    }
    return fail(Errc::kNotFound, "no mapping of " + path);
  };
  files.memory = [&target](pid_t, const std::string& path) { return open_memory(target, path); };
  return files;
}

Result<snapshot::Capture> read_named(const attach::Target& target, const elf::ModuleFiles& files) {
  snapshot::Capture capture;
  snapshot::ProcessCapture process;
  process.pid = target.pid();
  ODDRANK_TRY_STATUS(stacks::collect_stacks(target, {}, capture.tables, process));
  capture.processes.push_back(std::move(process));
  elf::name_frames(capture, files);
  return capture;
}

std::vector<snapshot::Frame> main_frames(const snapshot::Capture& capture) {
  std::vector<snapshot::Frame> frames;
  const auto& sample = capture.processes.at(0).threads.at(0).samples.back();
  for (const auto id : capture.tables.stack(sample.stack).frames) {
    frames.push_back(capture.tables.frame(id));
  }
  return frames;
}

snapshot::StackEnd main_end(const snapshot::Capture& capture) {
  const auto& sample = capture.processes.at(0).threads.at(0).samples.back();
  return capture.tables.stack(sample.stack).end;
}

std::vector<std::string> main_names(const snapshot::Capture& capture) {
  std::vector<std::string> names;
  for (const snapshot::Frame& frame : main_frames(capture)) {
    names.push_back(short_name(capture.tables.text(frame.function)));
  }
  return names;
}

bool in_order(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  auto next = wanted.begin();
  for (const std::string& name : names) {
    if (next != wanted.end() && name == *next) {
      ++next;
    }
  }
  return next == wanted.end();
}

Result<UniqueFd> ByPath::open_file(const attach::Mapping& mapping) const {
  UniqueFd fd(::open(mapping.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + mapping.path);
  }
  return fd;
}

}  // namespace oddrank::test
