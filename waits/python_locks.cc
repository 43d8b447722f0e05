#include "waits/python_locks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "stacks/cpython/attributes.h"
#include "stacks/cpython/objects.h"
#include "stacks/cpython/strings.h"
#include "stacks/cpython/types.h"
#include "waits/live_values.h"
#include "waits/python_view.h"

namespace oddrank::waits {
namespace {

namespace cpython = stacks::cpython;
using attach::Addr;
using attach::ThreadState;
using cpython::RawFrame;
using snapshot::Known;
using snapshot::WaitOn;

constexpr std::size_t kWaiterFrames = 6;     // in which a waiting thread's lock is looked for
constexpr std::size_t kHolderFrames = 2048;  // of all threads together
constexpr std::size_t kPointer = sizeof(std::uint64_t);

bool is_in(const cpython::CodeObject& code, std::string_view function, std::string_view file) {
  const std::string_view name = code.function;
  return code.readable && std::string_view(code.file).ends_with(file) &&
         (name == function || (name.size() > function.size() && name.ends_with(function) &&
                               name[name.size() - function.size() - 1] == '.'));
}

// A lock object of the interpreter: _thread.lock or _thread.RLock.
struct LockObject {
  std::uint64_t word = 0;  // the semaphore
  bool recursive = false;
  std::uint64_t owner = 0;  // RLock: ident of the thread; 0 = nobody
  std::uint64_t count = 0;  // RLock: how often
};

// Somebody in the body of a `with`.
struct Holding {
  std::size_t thread = 0;  // index into PythonView::threads()
  RawFrame frame;
};

class PythonLocks {
 public:
  explicit PythonLocks(PythonView& view) : view_(view) {}

  // lockobject and rlockobject of Modules/_threadmodule.c: after the object's head a pointer to the
  // semaphore; an RLock has the owner and the count behind it.
  std::optional<LockObject> lock_at(Addr object) {
    const std::string type = cpython::type_name(reader(), layout(), object);
    LockObject lock;
    lock.recursive = type == "_thread.RLock";
    if (type != "_thread.lock" && !lock.recursive) {
      return std::nullopt;
    }
    const Addr fields = object + layout().object.size;
    lock.word = attach::value_of(reader().pointer_or_null(fields));
    if (lock.recursive) {
      lock.owner = reader().value<std::uint64_t>(fields + kPointer).value_or(0);
      lock.count = reader().value<std::uint64_t>(fields + 2 * kPointer).value_or(0);
    }
    return lock.word == 0 ? std::nullopt : std::optional(lock);
  }

  // The lock that a value stands for: itself, the lock that a builtin method is bound to, or the
  // lock of a Condition.
  std::optional<LockObject> lock_of(Addr value, std::string_view method) {
    const std::string type = cpython::type_name(reader(), layout(), value);
    if (type == "builtin_function_or_method") {
      // PyCFunctionObject: m_ml, then m_self. PyMethodDef begins with the name.
      const Addr fields = value + layout().object.size;
      const Addr name = reader().pointer_or_null(reader().pointer_or_null(fields));
      return method.empty() || name_is(name, method)
                 ? lock_at(reader().pointer_or_null(fields + kPointer))
                 : std::nullopt;
    }
    if (type == "method") {
      return lock_of_condition(value, method);
    }
    return method.empty() ? lock_at(value) : std::nullopt;
  }

  // The lock with this word among what the innermost frames of the waiting thread point to. Slots
  // may be out of use, but the lock's own pointer proves what it is.
  std::optional<LockObject> awaited(const PythonThreadView& thread, std::uint64_t word) {
    for (std::size_t i = 0; i < std::min(thread.frames.size(), kWaiterFrames); ++i) {
      for (const Addr value : all_slots(reader(), layout(), thread.frames[i])) {
        const auto lock = lock_of(value, {});
        if (lock && lock->word == word) {
          return lock;
        }
      }
    }
    return std::nullopt;
  }

  // Everybody in the body of a `with` of the plain lock with this word.
  const std::vector<Holding>& holders(std::uint64_t word) {
    if (!scanned_) {
      scan();
      scanned_ = true;
    }
    return held_[word];
  }

  const PythonThreadView* joined(const PythonThreadView& thread) {
    for (std::size_t i = 0; i < std::min<std::size_t>(thread.frames.size(), 3); ++i) {
      const auto& code = view_.code(thread.frames[i]);
      if (is_in(code, "join", "/threading.py") ||
          is_in(code, "_wait_for_tstate_lock", "/threading.py")) {
        return view_.by_ident(ident_of(self_of(thread.frames[i]), "_ident"));
      }
    }
    return nullptr;
  }

  // Of an import lock: the thread that imports the module, and the module's name.
  const PythonThreadView* importer(const PythonThreadView& thread, std::string& module) {
    if (thread.frames.empty() ||
        !is_in(view_.code(thread.frames[0]), "acquire", "<frozen importlib._bootstrap>")) {
      return nullptr;
    }
    const Addr lock = self_of(thread.frames[0]);
    module = cpython::print_object(reader(), layout(),
                                   cpython::read_attribute(reader(), layout(), lock, "name"));
    return view_.by_ident(ident_of(lock, "owner"));
  }

 private:
  cpython::RemoteReader& reader() { return view_.reader(); }
  const cpython::Layout& layout() const { return view_.layout(); }

  bool name_is(Addr text, std::string_view name) {
    const auto bytes = reader().bytes(text, name.size() + 1);
    return bytes && (*bytes)[name.size()] == std::byte{0} &&
           std::equal(name.begin(), name.end(), bytes->begin(), [](char a, std::byte b) {
             return static_cast<unsigned char>(a) == std::to_integer<unsigned char>(b);
           });
  }

  // PyFunctionObject: its name is the third field from 3.10 on, and was the seventh before; in
  // either place the other version has something that is no str.
  bool function_is(Addr function, std::string_view name) {
    const Addr fields = function + layout().object.size;
    for (const std::size_t place : {std::size_t{2}, std::size_t{6}}) {
      const Addr text = reader().pointer_or_null(fields + place * kPointer);
      const auto read = cpython::read_string(reader(), layout(), text, name.size() + 1);
      if (read && read->utf8 == name) {
        return true;
      }
    }
    return false;
  }

  // PyMethodObject: im_func, then im_self.
  std::optional<LockObject> lock_of_condition(Addr value, std::string_view method) {
    const Addr fields = value + layout().object.size;
    const Addr self = reader().pointer_or_null(fields + kPointer);
    if (cpython::type_name(reader(), layout(), self) != "Condition") {
      return std::nullopt;
    }
    if (!method.empty() && !function_is(reader().pointer_or_null(fields), method)) {
      return std::nullopt;
    }
    return lock_at(cpython::read_attribute(reader(), layout(), self, "_lock"));
  }

  Addr self_of(const RawFrame& frame) {
    const Addr slot = reader().pointer_or_null(frame.address + layout().frame.localsplus);
    return cpython::without_tags(layout(), slot);
  }

  std::uint64_t ident_of(Addr object, std::string_view name) {
    const Addr value = cpython::read_attribute(reader(), layout(), object, name);
    const auto ident = cpython::read_int(reader(), layout(), value);
    return ident && *ident > 0 ? static_cast<std::uint64_t>(*ident) : 0;
  }

  void scan_frame(std::size_t thread, const RawFrame& frame) {
    for (const Addr value : live_values(reader(), layout(), frame)) {
      const auto lock = lock_of(value, "__exit__");
      if (lock && !lock->recursive) {
        held_[lock->word].push_back({thread, frame});
      }
    }
  }

  void scan() {
    std::size_t budget = kHolderFrames;
    for (std::size_t t = 0; t < view_.threads().size(); ++t) {
      for (const RawFrame& frame : view_.threads()[t].frames) {
        if (budget-- == 0) {
          return;
        }
        scan_frame(t, frame);
      }
    }
  }

  PythonView& view_;
  bool scanned_ = false;
  std::unordered_map<std::uint64_t, std::vector<Holding>> held_;
};

class Resolver {
 public:
  Resolver(PythonView& view,
           const std::vector<ThreadState>& states,
           const snapshot::ProcessCapture& process)
      : view_(view), locks_(view), states_(states), process_(process) {}

  void resolve(pid_t tid, ThreadWait& wait) {
    const PythonThreadView* thread = view_.by_tid(target_tid(tid));
    if (thread == nullptr) {
      return;
    }
    std::string module;
    if (const auto* other = locks_.joined(*thread)) {
      set_holder(*other, wait);
      wait.on = WaitOn::kThread;
      wait.detail = "waits for the end of thread " + std::to_string(wait.holder_tid);
    } else if (const auto* importer = locks_.importer(*thread, module)) {
      set_holder(*importer, wait);
      wait.detail = "import lock of module " + module + ", which " + who(wait, tid) + " imports";
    } else {
      resolve_lock(*thread, tid, wait);
    }
  }

 private:
  pid_t target_tid(pid_t tid) const {
    const auto at = std::find_if(states_.begin(), states_.end(),
                                 [tid](const ThreadState& each) { return each.tid == tid; });
    return at == states_.end() ? 0 : at->target_tid;
  }

  void set_holder(const PythonThreadView& thread, ThreadWait& wait) {
    const auto at = std::find_if(states_.begin(), states_.end(), [&thread](const auto& each) {
      return each.target_tid == thread.target_tid;
    });
    if (thread.target_tid != 0 && at != states_.end()) {
      wait.holder_pid = process_.pid;
      wait.holder_tid = at->tid;
      wait.holder_alive = Known::kYes;
    }
  }

  static std::string who(const ThreadWait& wait, pid_t tid) {
    return wait.holder_tid == tid ? "this thread itself"
                                  : "thread " + std::to_string(wait.holder_tid);
  }

  void resolve_lock(const PythonThreadView& thread, pid_t tid, ThreadWait& wait) {
    const auto lock = locks_.awaited(thread, wait.address);
    if (lock && lock->recursive) {
      const PythonThreadView* owner = lock->count > 0 ? view_.by_ident(lock->owner) : nullptr;
      if (owner != nullptr) {
        set_holder(*owner, wait);
        wait.detail = "Python RLock, held by " + who(wait, tid) + " (" +
                      std::to_string(lock->count) + (lock->count == 1 ? " time)" : " times)");
      } else if (lock->count > 0) {
        wait.holder_alive = Known::kNo;
        wait.detail =
            "Python RLock whose owner is no thread of this process (ended, or left "
            "behind by a fork)";
      }
      return;
    }
    const std::vector<Holding>& holders = locks_.holders(wait.address);
    if (holders.size() == 1) {
      set_holder(view_.threads()[holders.front().thread], wait);
      wait.inferred = true;
      wait.detail = "Python lock, held by " + who(wait, tid) + ": it is in a `with` of it at " +
                    view_.place(holders.front().frame);
    } else if (lock || !holders.empty()) {
      wait.detail = "Python lock, which does not say who holds it";
    }
  }

  PythonView& view_;
  PythonLocks locks_;
  const std::vector<ThreadState>& states_;
  const snapshot::ProcessCapture& process_;
};

bool may_be_python_lock(const snapshot::ThreadCapture& thread, const ThreadWait& wait) {
  return thread.has_python && !thread.wants_gil && wait.on == WaitOn::kLock && wait.address != 0 &&
         wait.holder_tid == 0 && wait.holder_alive == Known::kUnknown;
}

}  // namespace

void read_python_locks(const attach::Target& target,
                       const std::vector<ThreadState>& states,
                       const snapshot::ProcessCapture& process,
                       std::vector<ThreadWait>& waits) {
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < std::min(waits.size(), process.threads.size()); ++i) {
    if (may_be_python_lock(process.threads[i], waits[i])) {
      wanted.push_back(i);
    }
  }
  if (wanted.empty()) {
    return;
  }
  auto view = PythonView::open(target);
  if (!view) {
    return;
  }
  Resolver resolver(*view, states, process);
  for (const std::size_t i : wanted) {
    resolver.resolve(process.threads[i].tid, waits[i]);
  }
}

}  // namespace oddrank::waits
