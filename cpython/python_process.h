// A CPython runtime inside a target: its version, its threads, their frames, the GIL. Read from
// memory without stopping the process; every list is bounded, every length is checked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/layouts/layout.h"
#include "cpython/python_look.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

struct PythonLocal {
  std::string name;
  std::string value;  // text: "1207", "None", "'train'", "<Tensor>"; cut; secrets masked
};

// Whose locals are read, and which.
enum class Locals : std::uint8_t {
  kNone,
  // What tells loop skew, and which collective it is: numbers, bools, None and texts of the main
  // thread and of threads that are in torch.distributed; there also what its functions were given.
  kDeciding,
  kAll,  // of all threads; lists, dicts, arrays and objects as summaries
};

struct PythonFrame {
  std::string function;  // qualified name from 3.11 on, else the name
  std::string file;
  std::uint32_t line = 0;  // 0 = unknown
  bool entry = false;      // an evaluation loop was entered for this frame
  // false: a frame is here whose code object could not be read ("<unreadable>"), or an evaluation
  // loop without a frame: what a popped frame owned is being destroyed ("<leaving a function>").
  bool readable = true;
  std::vector<PythonLocal> locals;
};

struct PythonThread {
  pid_t target_tid = 0;  // in the target's pid namespace; 0 = ended or unknown
  std::string name;      // of threading.Thread; "" if unknown
  bool holds_gil = false;
  std::int64_t gil = 0;             // which one: Gil::interpreter of its interpreter's
  std::int64_t interpreter = 0;     // id; 0 = the main one. Of the innermost frame
  std::vector<PythonFrame> frames;  // innermost first; shims are left out
  bool cut = false;                 // the chain was longer than kFrameLimit, or broken
  bool too_long = false;            // cut since it was longer
};

enum class TaskState : std::uint8_t { kUnknown, kNotStarted, kWaits, kRuns, kEnded };

// An asyncio task that has not ended.
struct PythonTask {
  std::string name;  // "Task-7", or as the program named it; "" if unknown
  TaskState state = TaskState::kUnknown;
  // Its coroutine and what that awaits, innermost first. Of a task that runs its coroutine only:
  // the rest are frames of a thread. `entry` means nothing here.
  std::vector<PythonFrame> frames;
  // What the innermost of them awaits: the name of another task, "<Future>", "<_GatheringFuture>";
  // "" if it is nothing like that.
  std::string awaits;
  // Where that is a future which waits for others (await_members.h): those that have not ended,
  // tasks first, each like `awaits`.
  std::vector<std::string> members;
};

// One lock, and the words in it that threads wait on.
struct Gil {
  std::int64_t interpreter = 0;  // id; the first that uses it
  elf::ElfRange words;
};

class PythonProcess {
 public:
  // kNotFound: no CPython here, a normal answer. kUnsupported: one that we cannot read; `what`
  // names the version found. kBadData: one that cannot be followed now (it starts up or shuts
  // down). Both arguments must outlive the object.
  static Result<PythonProcess> find(const attach::Target& target, elf::ModuleMap& modules);

  PythonProcess(PythonProcess&&) noexcept;
  PythonProcess& operator=(PythonProcess&&) noexcept;
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  ~PythonProcess();

  const std::string& version() const;  // "3.11.7"; "3.14.0t" for a free-threaded build
  // Address ranges (absolute, in the target) of the evaluation loop's code: a native frame whose pc
  // lies in one is an evaluation.
  const std::vector<elf::ElfRange>& evaluation_ranges() const;
  // The GILs: one up to 3.11, then one for each interpreter that has its own; none where a
  // free-threaded build runs without. Futex words in its range: who waits there wants the GIL.
  std::vector<Gil> gils() const;
  // The first of them; an empty range if there is none.
  elf::ElfRange gil_words() const;

  // All Python threads of all interpreters. A thread that runs several interpreters, one called by
  // the other, is one row with the frames of all, the newest first. Locals are bounded in number,
  // length and depth.
  Result<std::vector<PythonThread>> threads(Locals locals) const;

  // The asyncio tasks of all interpreters, by name; bounded (find_tasks.h, await_chain.h).
  Result<std::vector<PythonTask>> tasks() const;

  // What the last call of threads() has seen, handed over: a second call finds nothing.
  std::optional<PythonLook> take_look();

  // For readers of other objects (attributes.h): whose memory, laid out how, and the main
  // interpreter (null if it cannot be read).
  const attach::Target& target() const;
  const Layout& layout() const;
  attach::Addr main_interpreter() const;

 private:
  struct Impl;
  explicit PythonProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::cpython
