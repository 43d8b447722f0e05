#include "waits/python/python_locks.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "cpython/bytecode/code_analysis.h"
#include "cpython/bytecode/taken_locks.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/objects.h"
#include "cpython/objects/scalars.h"
#include "waits/frame_pattern.h"
#include "waits/python/frame_values.h"
#include "waits/python/lock_objects.h"
#include "waits/python/object_providers.h"
#include "waits/python/python_futures.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using attach::ThreadState;
using cpython::PythonSample;
using cpython::RawFrame;
using cpython::SampledThread;
using snapshot::Known;
using snapshot::WaitHow;
using snapshot::WaitOn;

constexpr std::size_t kMaxWaiterFrames = 6;     // searched for a waiting thread's lock
constexpr std::size_t kMaxHolderFrames = 8192;  // of all threads together
constexpr std::size_t kMaxTakerFrames = 2048;   // the same; their code is analysed

bool is_in(const cpython::CodeObject& code, std::string_view function, std::string_view file) {
  return code.readable && matches(FramePattern{function, file}, code.function, code.file);
}

// A thread that has a lock, and the frame that shows it.
struct Holding {
  std::size_t thread = 0;  // index into PythonSample::threads()
  RawFrame frame;
};

class PythonLocks {
 public:
  explicit PythonLocks(PythonSample& python)
      : python_(python), values_(python), objects_(python), analysis_(python.memory()) {}

  std::uint64_t word_of_futex(std::uint64_t futex) { return objects_.word_of_futex(futex); }

  // Finds the lock with this word among the objects that the waiting thread's innermost frames
  // refer to. A slot may be stale, but the word proves that the object is the lock.
  std::optional<LockObject> awaited(const SampledThread& thread, std::uint64_t word);

  // Returns all threads in the body of a `with` of the plain lock with this word.
  const std::vector<Holding>& holders(std::uint64_t word);

  // Returns all threads in a function that has called acquire() of the plain lock with this word,
  // and has yet to call release(); for a lock that a condition has made for one wait: none.
  const std::vector<Holding>& takers(std::uint64_t word, const SampledThread& waiter);

  const SampledThread* joined(const SampledThread& thread);

  std::optional<FutureWait> future(const SampledThread& thread) { return futures_.wait_of(thread); }

  const SampledThread* provider(const SampledThread& thread) { return providers_.find(thread); }

  // For an import lock, returns the thread that imports the module, and the module's name.
  const SampledThread* importer(const SampledThread& thread, std::string& module);

 private:
  cpython::PythonMemory& memory() { return python_.memory(); }

  std::uint64_t ident_of(Addr object, std::string_view name);

  // Returns the word of the lock that a thread has given back for as long as it waits at a
  // condition; 0: it does not. It is in the body of the lock's `with` all the same.
  std::uint64_t given_back_by(const SampledThread& thread);

  void scan_frame(std::size_t thread, const RawFrame& frame, std::uint64_t given_back);

  void scan();

  void scan_for_takers();
  void add_taken_in(std::size_t thread, const RawFrame& frame);

  PythonSample& python_;
  FrameValues values_;
  ObjectProviders providers_{python_, values_};
  PythonFutures futures_{python_, values_};
  LockObjects objects_;
  cpython::CodeAnalysis analysis_;
  bool scanned_ = false;
  bool scanned_for_takers_ = false;
  std::unordered_map<std::uint64_t, std::vector<Holding>> held_;   // by word
  std::unordered_map<std::uint64_t, std::vector<Holding>> taken_;  // by word
  std::unordered_map<std::uint64_t, LockObject> awaited_;          // by word
};

std::optional<LockObject> PythonLocks::awaited(const SampledThread& thread, std::uint64_t word) {
  if (const auto known = awaited_.find(word); known != awaited_.end()) {
    return known->second;
  }
  for (std::size_t i = 0; i < std::min(thread.frames.size(), kMaxWaiterFrames); ++i) {
    const std::vector<Addr> values = values_.all(thread.frames[i]);
    objects_.prefetch(values);
    for (const Addr value : values) {
      const auto lock = objects_.lock_of(value);
      if (lock && lock->word == word) {
        awaited_.emplace(word, *lock);
        return lock;
      }
    }
  }
  return std::nullopt;
}

const std::vector<Holding>& PythonLocks::holders(std::uint64_t word) {
  if (!scanned_) {
    scan();
    scanned_ = true;
  }
  return held_[word];
}

const std::vector<Holding>& PythonLocks::takers(std::uint64_t word, const SampledThread& waiter) {
  static const std::vector<Holding> none;
  if (given_back_by(waiter) != 0) {
    return none;
  }
  if (!scanned_for_takers_) {
    scan_for_takers();
    scanned_for_takers_ = true;
  }
  return taken_[word];
}

const SampledThread* PythonLocks::joined(const SampledThread& thread) {
  for (std::size_t i = 0; i < std::min<std::size_t>(thread.frames.size(), 3); ++i) {
    const auto& code = python_.code(thread.frames[i]);
    if (is_in(code, "join", "threading.py") ||
        is_in(code, "_wait_for_tstate_lock", "threading.py")) {
      return python_.by_ident(ident_of(values_.self(thread.frames[i]), "_ident"));
    }
  }
  return nullptr;
}

const SampledThread* PythonLocks::importer(const SampledThread& thread, std::string& module) {
  if (thread.frames.empty() ||
      !is_in(python_.code(thread.frames[0]), "acquire", "<frozen importlib._bootstrap>")) {
    return nullptr;
  }
  const Addr lock = values_.self(thread.frames[0]);
  module = cpython::print_object(memory(), cpython::read_attribute(memory(), lock, "name"));
  return python_.by_ident(ident_of(lock, "owner"));
}

std::uint64_t PythonLocks::ident_of(Addr object, std::string_view name) {
  const Addr value = cpython::read_attribute(memory(), object, name);
  const auto ident = cpython::read_int(memory(), value);
  return ident && *ident > 0 ? static_cast<std::uint64_t>(*ident) : 0;
}

std::uint64_t PythonLocks::given_back_by(const SampledThread& thread) {
  if (thread.frames.empty() || !is_in(python_.code(thread.frames[0]), "wait", "threading.py")) {
    return 0;
  }
  const auto lock = objects_.lock_of(values_.self(thread.frames[0]));
  return lock ? lock->word : 0;
}

void PythonLocks::scan_frame(std::size_t thread, const RawFrame& frame, std::uint64_t given_back) {
  const std::vector<Addr> live = values_.live(frame);
  for (const LockObject& lock : objects_.entered(live)) {
    if (!lock.recursive && lock.word != given_back) {
      held_[lock.word].push_back({thread, frame});
    }
  }
}

void PythonLocks::scan() {
  std::size_t budget = kMaxHolderFrames;
  for (std::size_t t = 0; t < python_.threads().size(); ++t) {
    const std::uint64_t given_back = given_back_by(python_.threads()[t]);
    for (const RawFrame& frame : python_.threads()[t].frames) {
      if (budget-- == 0) {
        return;
      }
      scan_frame(t, frame, given_back);
    }
  }
}

void PythonLocks::scan_for_takers() {
  std::size_t budget = kMaxTakerFrames;
  for (std::size_t t = 0; t < python_.threads().size(); ++t) {
    for (const RawFrame& frame : python_.threads()[t].frames) {
      if (budget-- == 0) {
        return;
      }
      add_taken_in(t, frame);
    }
  }
}

void PythonLocks::add_taken_in(std::size_t thread, const RawFrame& frame) {
  for (const Addr object : cpython::read_taken(memory(), analysis_, python_.code(frame), frame)) {
    const auto lock = objects_.lock_of(object);
    if (lock && !lock->recursive) {
      taken_[lock->word].push_back({thread, frame});
    }
  }
}

class Resolver {
 public:
  Resolver(PythonSample& python,
           const std::vector<ThreadState>& states,
           const snapshot::ProcessCapture& process)
      : python_(python), locks_(python), states_(states), process_(process) {}

  void resolve(pid_t tid, ThreadWait& wait);

 private:
  pid_t target_tid(pid_t tid) const;

  void set_holder(const SampledThread& thread, ThreadWait& wait);

  static std::string who(const ThreadWait& wait, pid_t tid);

  static void tell(ThreadWait& wait, std::string words);

  void resolve_future(const FutureWait& future, ThreadWait& wait);

  void resolve_lock(const SampledThread& thread, pid_t tid, ThreadWait& wait);

  void resolve_provider(const SampledThread& thread, ThreadWait& wait);

  PythonSample& python_;
  PythonLocks locks_;
  const std::vector<ThreadState>& states_;
  const snapshot::ProcessCapture& process_;
};

void Resolver::resolve(pid_t tid, ThreadWait& wait) {
  const SampledThread* thread = python_.by_tid(target_tid(tid));
  if (thread == nullptr) {
    return;
  }
  std::string module;
  if (const auto* other = locks_.joined(*thread)) {
    set_holder(*other, wait);
    wait.on = WaitOn::kThread;
    tell(wait, "waits for the end of thread " + std::to_string(wait.holder_tid));
  } else if (const auto* importer = locks_.importer(*thread, module)) {
    set_holder(*importer, wait);
    tell(wait, "import lock of module " + module + ", which " + who(wait, tid) + " imports");
  } else if (const auto future = locks_.future(*thread)) {
    resolve_future(*future, wait);
  } else {
    resolve_lock(*thread, tid, wait);
    if (wait.holder_tid == 0 && wait.holder_alive == Known::kUnknown) {
      resolve_provider(*thread, wait);
    }
  }
}

pid_t Resolver::target_tid(pid_t tid) const {
  const auto at = std::find_if(states_.begin(), states_.end(),
                               [tid](const ThreadState& each) { return each.tid == tid; });
  return at == states_.end() ? 0 : at->target_tid;
}

void Resolver::set_holder(const SampledThread& thread, ThreadWait& wait) {
  const auto at = std::find_if(states_.begin(), states_.end(), [&thread](const auto& each) {
    return each.target_tid == thread.target_tid;
  });
  if (thread.target_tid != 0 && at != states_.end()) {
    wait.holder_pid = process_.pid;
    wait.holder_tid = at->tid;
    wait.holder_alive = Known::kYes;
  }
}

std::string Resolver::who(const ThreadWait& wait, pid_t tid) {
  return wait.holder_tid == tid ? "this thread itself"
                                : "thread " + std::to_string(wait.holder_tid);
}

void Resolver::tell(ThreadWait& wait, std::string words) {
  wait.how = WaitHow::kPythonLock;
  wait.lock = {};
  wait.detail = std::move(words);
}

void Resolver::resolve_future(const FutureWait& future, ThreadWait& wait) {
  if (future.worker != nullptr) {
    set_holder(*future.worker, wait);
  }
  if (wait.holder_tid != 0) {
    wait.on = WaitOn::kThread;
    wait.how = future.how == FutureWorker::kPool   ? WaitHow::kFutureOfPool
               : future.how == FutureWorker::kLoop ? WaitHow::kFutureOfLoop
                                                   : WaitHow::kFutureOfThread;
  } else {
    wait.how = future.begun ? WaitHow::kFuture : WaitHow::kFutureNotBegun;
  }
  wait.lock = {};
  wait.detail.clear();
}

void Resolver::resolve_lock(const SampledThread& thread, pid_t tid, ThreadWait& wait) {
  const std::uint64_t word = locks_.word_of_futex(wait.address);
  const auto lock = locks_.awaited(thread, word);
  if (lock && lock->recursive) {
    const SampledThread* owner = lock->count > 0 ? python_.by_ident(lock->owner) : nullptr;
    if (owner != nullptr) {
      set_holder(*owner, wait);
      tell(wait, "Python RLock, held by " + who(wait, tid) + " (" + std::to_string(lock->count) +
                     (lock->count == 1 ? " time)" : " times)"));
    } else if (lock->count > 0) {
      wait.holder_alive = Known::kNo;
      tell(wait,
           "Python RLock whose owner is no thread of this process (ended, or left behind by a "
           "fork)");
    }
    return;
  }
  const bool entered = !locks_.holders(word).empty();
  const std::vector<Holding>& holders =
      entered || !lock ? locks_.holders(word) : locks_.takers(word, thread);
  if (holders.size() == 1) {
    set_holder(python_.threads()[holders.front().thread], wait);
    wait.inferred = true;
    tell(wait, "Python lock, held by " + who(wait, tid) +
                   (entered ? ": it is in a `with` of it at "
                            : ": it has called acquire(), and not yet release(), in ") +
                   python_.place(holders.front().frame));
  } else if (lock || !holders.empty()) {
    tell(wait, "Python lock, which does not say who holds it");
  }
}

void Resolver::resolve_provider(const SampledThread& thread, ThreadWait& wait) {
  if (const SampledThread* provider = locks_.provider(thread)) {
    set_holder(*provider, wait);
    if (wait.holder_tid != 0) {
      wait.inferred = true;
      wait.how = WaitHow::kObject;
      wait.lock = {};
      wait.detail.clear();
    }
  }
}

bool may_be_python_lock(const snapshot::ThreadCapture& thread, const ThreadWait& wait) {
  return thread.has_python && !thread.wants_gil && wait.on == WaitOn::kLock && wait.address != 0 &&
         wait.holder_tid == 0 && wait.holder_alive == Known::kUnknown;
}

}  // namespace

void read_python_locks(PythonWaits& all) {
  Resolver resolver(all.python, all.states, all.process);
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    if (may_be_python_lock(all.process.threads[i], all.waits[i])) {
      resolver.resolve(all.process.threads[i].tid, all.waits[i]);
    }
  }
}

}  // namespace oddrank::waits
