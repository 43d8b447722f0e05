#include "node/naming.h"

#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/files/open_named.h"
#include "attach/in_memory_target.h"
#include "attach/live_target.h"
#include "base/deadline.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/result.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "elf/inlines.h"
#include "elf/symbolize.h"
#include "node/collect/recorder_variables.h"
#include "node/debug_finder.h"
#include "node/files/silent_files.h"
#include "node/files/target_modules.h"
#include "snapshot/format/capture_file.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::StringId;
using std::chrono::milliseconds;

// Opens module files of processes of this node. Reads the maps of each process once. May block; see
// base/isolated.h.
class ModuleOpener {
 public:
  // Files of `silent` processes are opened only if they depend on no server or other process.
  explicit ModuleOpener(SilentProcesses silent = {}) : silent_(std::move(silent)) {}

  // Opens the file that `pid` has mapped under that path, in its own mount namespace, even if it
  // was deleted. For "[vdso]" the file holds its image.
  Result<UniqueFd> open(pid_t pid, const std::string& path);
  // Opens a file with the dynamic symbols of that module as they are in the memory of `pid`.
  Result<UniqueFd> open_memory(pid_t pid, const std::string& path);

 private:
  Result<const attach::LiveTarget*> target_of(pid_t pid, const std::string& path);

  SilentProcesses silent_;
  std::map<pid_t, std::unique_ptr<attach::LiveTarget>> targets_;  // null: could not be opened
};

Result<const attach::LiveTarget*> ModuleOpener::target_of(pid_t pid, const std::string& path) {
  auto at = targets_.find(pid);
  if (at == targets_.end()) {
    auto target = attach::LiveTarget::open(pid);
    at = targets_.emplace(pid, target ? *std::move(target) : nullptr).first;
  }
  if (at->second == nullptr) {
    return fail(Errc::kGone, "cannot open " + path + " of pid " + std::to_string(pid) +
                                 ": the process has ended");
  }
  return at->second.get();
}

Result<UniqueFd> ModuleOpener::open(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const auto* target, target_of(pid, path));
  if (silent_.contains(pid)) {
    return open_module(attach::InMemoryTarget(*target, openable_files(pid)), path);
  }
  return open_module(*target, path);
}

Result<UniqueFd> ModuleOpener::open_memory(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const auto* target, target_of(pid, path));
  return silent_.contains(pid) ? open_module_memory(attach::InMemoryTarget(*target), path)
                               : open_module_memory(*target, path);
}

// Symbol tables are warm after the first sample; a file system that takes longer is hung.
constexpr milliseconds kNamingTimeout{10000};
// Time for the child to send what it has after its time limit.
constexpr milliseconds kSendingTime{2000};

// Debug information of the largest libraries unpacks to 2 GiB.
constexpr std::size_t kMaxDebugMemory = std::size_t{3} << 30;

constexpr const char* kCutShort =
    "some native frames have no inlined frames: reading their debug information took too long "
    "(--timeout)";

Result<std::string> read_source(pid_t pid, const std::string& path) {
  ODDRANK_TRY(const attach::NamedFiles files, attach::NamedFiles::of(pid));
  return files.read(path, elf::kMaxSourceFile);
}

elf::ModuleFiles files_of(ModuleOpener& opener, DebugFinder& finder) {
  elf::ModuleFiles files;
  files.module = [&opener](pid_t pid, const std::string& path) { return opener.open(pid, path); };
  files.memory = [&opener](pid_t pid, const std::string& path) {
    return opener.open_memory(pid, path);
  };
  files.debug = [&finder](pid_t pid, const std::string& build_id) {
    return finder.open(pid, build_id);
  };
  files.source = &read_source;
  return files;
}

void add_note(Capture& capture, const char* note) {
  if (!capture.nodes.empty()) {
    capture.nodes.front().notes.emplace_back(note);
  }
}

// Returns false, and leaves `capture` as it was, if the child did not finish.
bool replace_by_answer(Capture& capture, const IsolatedTask& task) {
  const IsolatedResult result = run_isolated({task}, 1).front();
  auto answer = snapshot::decode_capture(result.bytes);
  if (!answer) {
    return false;
  }
  capture = *std::move(answer);
  return true;
}

// Returns how files are found; called in the child.
using FindFiles = std::function<elf::ModuleFiles(DebugFinder&)>;

// A name is sent as "BUILD_ID PATH ADDRESS NAME" and a NUL; the first two are ids of texts.
void send_names(int fd, const elf::ModuleKey& module, const elf::AddressNames& names) {
  const std::string head = std::to_string(static_cast<std::uint32_t>(module.first)) + " " +
                           std::to_string(static_cast<std::uint32_t>(module.second)) + " ";
  std::string rows;
  for (const auto& [address, name] : names) {
    rows += head;
    rows += std::to_string(address);
    rows += " " + name;
    rows += '\0';
  }
  send_bytes(fd, rows);
}

// What starts a row that is not a name.
constexpr char kRecorderRow = '@';

void send_recorders(int fd,
                    const elf::ElfImage& library,
                    const std::vector<elf::NamedRange>& variables) {
  std::string row(1, kRecorderRow);
  row += encode_variables({recorder_variables(library, variables)});
  row += '\0';
  send_bytes(fd, row);
}

elf::SearchBeside search_for_recorders(int fd) {
  return {[](std::string_view path, const elf::ElfImage& file) {
            return may_have_recorder(path) && !file.build_id().empty()
                       ? recorder_search(file)
                       : std::optional<elf::VariableSearch>();
          },
          [fd](const elf::ElfImage& file, const elf::VariableSearch& done) {
            send_recorders(fd, file, done.found);
          }};
}

std::string received_recorders(std::string_view rows) {
  std::string recorders;
  while (rows.find('\0') != std::string_view::npos) {
    const std::string_view row = take_piece(rows, '\0');
    if (row.starts_with(kRecorderRow)) {
      recorders += row.substr(1);
    }
  }
  return recorders;
}

std::map<elf::ModuleKey, elf::AddressNames> received_names(std::string_view rows) {
  std::map<elf::ModuleKey, elf::AddressNames> names;
  while (rows.find('\0') != std::string_view::npos) {  // the last one may be cut
    std::string_view row = take_piece(rows, '\0');
    const auto build_id = parse_number<std::uint32_t>(take_piece(row, ' '));
    const auto path = parse_number<std::uint32_t>(take_piece(row, ' '));
    const auto address = parse_number<std::uint64_t>(take_piece(row, ' '));
    if (build_id && path && address) {
      names[{StringId{*build_id}, StringId{*path}}][*address] = row;
    }
  }
  return names;
}

// Returns what was found of recorders, if they are searched for.
std::string name_with(Capture& capture, const FindFiles& find, bool with_recorders = false) {
  const IsolatedTask task{[&](int fd) {
                            DebugFinder finder;
                            elf::find_names(
                                capture, find(finder),
                                [fd](const elf::ModuleKey& module, const elf::AddressNames& names) {
                                  send_names(fd, module, names);
                                },
                                with_recorders ? search_for_recorders(fd) : elf::SearchBeside());
                          },
                          kNamingTimeout};
  const IsolatedResult result = run_isolated({task}, 1).front();
  elf::give_names(capture, received_names(result.bytes));
  if (result.end != IsolatedEnd::kFinished) {
    add_note(
        capture,
        "some native frames have no names: the files of the programs could not be read in time");
  }
  return with_recorders ? received_recorders(result.bytes) : std::string();
}

void add_inlines_with(Capture& capture, milliseconds patience, const FindFiles& find) {
  const IsolatedTask task{
      [&](int fd) {
        const Deadline deadline = Deadline::after(patience);
        DebugFinder finder(deadline);
        if (!elf::add_inlined_frames(capture, find(finder),
                                     [&deadline] { return deadline.passed(); })) {
          add_note(capture, kCutShort);
        }
        send_bytes(fd, snapshot::encode_capture(capture, snapshot::Packing::kStored));
      },
      patience + kSendingTime,
      {.programs = DebugFinder::asks_servers(), .memory = kMaxDebugMemory}};
  if (!replace_by_answer(capture, task)) {
    add_note(capture, "there are no inlined frames: debug information could not be read");
  }
}

FindFiles of_live_processes(ModuleOpener& opener) {
  return [&opener](DebugFinder& finder) { return files_of(opener, finder); };
}

FindFiles of_others(const elf::ModuleFiles& files) {
  return [&files](DebugFinder& finder) {
    elf::ModuleFiles found = files;
    found.debug = [&files, &finder](pid_t pid, const std::string& build_id) -> Result<UniqueFd> {
      auto fd = files.debug
                    ? files.debug(pid, build_id)
                    : Result<UniqueFd>(fail(Errc::kNotFound, "no debug file of " + build_id));
      // Then below the root folder of this process itself.
      return fd ? std::move(fd) : finder.open(::getpid(), build_id);
    };
    return found;
  };
}

}  // namespace

std::string name_in_child(Capture& capture, const SilentProcesses& silent, bool with_recorders) {
  ModuleOpener opener(silent);
  return name_with(capture, of_live_processes(opener), with_recorders);
}

void add_inlines_in_child(Capture& capture, milliseconds patience) {
  ModuleOpener opener;
  add_inlines_with(capture, patience, of_live_processes(opener));
}

void name_in_child(Capture& capture, const elf::ModuleFiles& files) {
  name_with(capture, of_others(files));
}

void add_inlines_in_child(Capture& capture, milliseconds patience, const elf::ModuleFiles& files) {
  add_inlines_with(capture, patience, of_others(files));
}

}  // namespace oddrank::node
