#include "cpython/python_process.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/signals/signal_name.h"
#include "cpython/chain_check.h"
#include "cpython/code_object.h"
#include "cpython/detect.h"
#include "cpython/frame_chain.h"
#include "cpython/join_interpreters.h"
#include "cpython/kernel_tid.h"
#include "cpython/known_call.h"
#include "cpython/locals.h"
#include "cpython/objects/contents.h"
#include "cpython/objects/signal_handler.h"
#include "cpython/tasks/await_chain.h"
#include "cpython/tasks/await_members.h"
#include "cpython/tasks/awaited_source.h"
#include "cpython/tasks/find_greenlets.h"
#include "cpython/tasks/find_tasks.h"
#include "cpython/tasks/lock_holders.h"
#include "cpython/tasks/task_threads.h"
#include "cpython/tasks/trio_tasks.h"
#include "cpython/thread_names.h"
#include "cpython/thread_state.h"

namespace oddrank::cpython {
namespace {

// Locals are read in the innermost frames of each thread, up to a total for the process. The
// interesting ones (step, rank, the batch) are in loops near the top and the bottom of short
// stacks; deep recursions are cut.
constexpr std::size_t kMaxFramesWithLocals = 128;
constexpr std::size_t kMaxFramesWithAllLocals = 4096;  // on request
constexpr std::size_t kMaxLocalsOfProcess = 16384;

constexpr std::size_t kMaxFramesWithSignals = 512;  // the innermost are searched for handlers

constexpr std::size_t kMaxMembers = 65536;  // that the tasks of a process wait for

// A loop that was entered but has no frame: the objects of a popped frame are being destroyed.
constexpr const char* kModule = "<module>";
constexpr const char* kNoFrame = "<leaving a function>";
constexpr const char* kUnreadable = "<unreadable>";

// Names a GIL by the first interpreter that uses it: the oldest, which is the last in the list.
std::int64_t name_of_gil(const std::vector<InterpreterRow>& interpreters, std::size_t index) {
  const auto user =
      std::find_if(interpreters.rbegin(), interpreters.rend(),
                   [&](const InterpreterRow& row) { return row.gil == interpreters[index].gil; });
  return user->id;
}

// Returns where on its native stack each thread's innermost evaluation is; null up to 3.10.
std::vector<Addr> anchors_of(const std::vector<ThreadStateRow>& rows,
                             const std::vector<FrameChain>& chains) {
  std::vector<Addr> anchors;
  anchors.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Addr row = rows[i].native_anchor;
    anchors.push_back(row != Addr{} ? row : chains[i].innermost_shim);
  }
  return anchors;
}

// Puts a row that names the signal above each frame that was interrupted by a handler. `thread` has
// the frames of the chain.
void mark_signals(PythonMemory& memory, const FrameChain& chain, PythonThread& thread) {
  for (std::size_t at = std::min(chain.frames.size(), kMaxFramesWithSignals); at-- > 1;) {
    const RawFrame& frame = chain.frames[at - 1];
    const int signal =
        frame.entry ? handled_signal(memory, frame.address, chain.frames[at].address) : 0;
    if (signal != 0) {
      PythonFrame mark;
      mark.function = "<signal " + signal_name(signal) + " delivered here>";
      thread.frames.insert(thread.frames.begin() + static_cast<std::ptrdiff_t>(at),
                           std::move(mark));
    }
  }
}

// How the locals of a process are read, and how many more.
struct LocalsReader {
  Locals locals = Locals::kNone;
  bool deep = false;  // with what containers hold
  ContentsPrinter& printer;
  std::size_t budget = kMaxLocalsOfProcess;
};

// Fills in what the thread's state tells. `anchored`: the frame in which its interpreter was
// entered is known.
void set_state(const ThreadStates& states,
               const ThreadStateRow& row,
               bool anchored,
               PythonThread& thread) {
  const auto& interpreter = states.interpreters[row.interpreter];
  thread.pthread = row.pthread;
  // Without an anchor, the thread of a subinterpreter's thread state is uncertain.
  thread.holds_gil = row.holds_gil && (interpreter.id == 0 || anchored);
  thread.gil = name_of_gil(states.interpreters, row.interpreter);
  thread.interpreter = interpreter.id;
  thread.collects = row.collects;
  thread.generation = interpreter.generation;
  thread.finalizes = row.finalizes;
}

}  // namespace

struct PythonProcess::Impl {
  const attach::Target& target;
  elf::ModuleMap& modules;
  Runtime runtime;
  CodeCache codes;
  KernelTids tids;
  ThreadNames names;
  Addr main_interpreter{};  // null = not known yet; it lives as long as the runtime
  pid_t main_tid = 0;       // in the target's pid namespace; 0 = not known yet
  // The sample that the last call of threads() took; nullopt: none yet, or it was handed over.
  std::optional<PythonMemory> sample_memory;
  std::optional<std::vector<SampledThread>> sample_threads;
  std::vector<ThreadStateRow> sample_rows;  // of the same threads
  PythonCuts cuts;

  Impl(const attach::Target& target_in, elf::ModuleMap& modules_in, Runtime runtime_in)
      : target(target_in), modules(modules_in), runtime(std::move(runtime_in)) {}

  // Returns a memory with nothing read yet.
  PythonMemory fresh_memory() const { return {target, runtime.layout, runtime.hash_secret}; }

  // Forgets the last sample; the returned memory has the pages that it used, read anew.
  PythonMemory& begin_sample();
  void keep_sample(const std::vector<ThreadStateRow>& rows,
                   const std::vector<pid_t>& kernel_tids,
                   std::vector<FrameChain> chains);

  PythonFrame make_frame(PythonMemory& memory, const RawFrame& raw) const;
  std::vector<PythonFrame> make_frames(PythonMemory& memory,
                                       const std::vector<RawFrame>& frames) const;
  // Fills in what the task's chain of coroutines shows, with at most so many members.
  void take_chain(PythonMemory& memory,
                  AwaitChain chain,
                  const TaskNames& task_names,
                  std::size_t most_members,
                  PythonTask& task) const;
  pid_t find_main_tid();
  bool is_distributed(const RawFrame& frame) const;
  // Returns how many frames, from the innermost on, need their locals.
  std::size_t frames_with_locals(const FrameChain& chain, Locals locals, bool is_main) const;
  // Fetches at once what the locals will need; `counts`: frames with locals of each chain.
  void prefetch_chain_locals(PythonMemory& memory,
                             const std::vector<FrameChain>& chains,
                             const std::vector<std::size_t>& counts) const;
  // Fills in the frames, the innermost `with_locals` of them with locals.
  void add_frames(PythonMemory& memory,
                  const FrameChain& chain,
                  std::size_t with_locals,
                  LocalsReader& reader,
                  PythonThread& thread) const;
  // Fills in the loops of the innermost frames; `threads` are of these chains, in their order.
  void add_loops(PythonMemory& memory,
                 CodeAnalysis& analysis,
                 const std::vector<FrameChain>& chains,
                 std::vector<OrderedThread>& threads) const;
  // Fills in the places of the innermost frames of chains whose `counts` of locals is not 0.
  void add_places(PythonMemory& memory,
                  CodeAnalysis& analysis,
                  const std::vector<FrameChain>& chains,
                  const std::vector<std::size_t>& counts,
                  std::vector<OrderedThread>& threads) const;
  static void add_counters(PythonMemory& memory,
                           const RawFrame& raw,
                           std::span<const FrameLoop> loops,
                           std::vector<PythonLocal>& variables);
  void name_threads(PythonMemory& memory,
                    const ThreadStates& states,
                    std::vector<OrderedThread>& threads);
  void load_codes(PythonMemory& memory, const std::vector<FrameChain>& chains);
  // Returns the chains of those that are unfinished tasks of the program, and loads the code of
  // their frames. Leaves out the other addresses.
  std::vector<AwaitChain> read_task_chains(PythonMemory& memory, std::vector<Addr>& addresses);
};

PythonMemory& PythonProcess::Impl::begin_sample() {
  sample_threads.reset();
  if (sample_memory) {
    sample_memory->refresh();
  } else {
    sample_memory.emplace(fresh_memory());
  }
  return *sample_memory;
}

void PythonProcess::Impl::keep_sample(const std::vector<ThreadStateRow>& rows,
                                      const std::vector<pid_t>& kernel_tids,
                                      std::vector<FrameChain> chains) {
  sample_rows = rows;
  std::vector<SampledThread>& threads = sample_threads.emplace();
  threads.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    threads.push_back({kernel_tids[i], rows[i].pthread, std::move(chains[i].frames)});
  }
}

PythonFrame PythonProcess::Impl::make_frame(PythonMemory& memory, const RawFrame& raw) const {
  PythonFrame frame;
  frame.entry = raw.entry;
  const CodeObject& code = codes.at(raw.code);
  frame.readable = raw.address != Addr{} && code.readable;
  if (frame.readable) {
    frame.function = known_call(memory, code, raw);
    frame.function = frame.function.empty() ? code.function : frame.function;
    frame.file = code.file;
    frame.line = line_of(memory, code, raw);
  } else {
    frame.function = raw.address == Addr{} ? kNoFrame : kUnreadable;
  }
  return frame;
}

std::vector<PythonFrame> PythonProcess::Impl::make_frames(
    PythonMemory& memory, const std::vector<RawFrame>& frames) const {
  std::vector<PythonFrame> made;
  made.reserve(frames.size());
  for (const RawFrame& raw : frames) {
    made.push_back(make_frame(memory, raw));
  }
  return made;
}

pid_t PythonProcess::Impl::find_main_tid() {
  if (main_tid == 0) {
    const auto main = target.thread(target.pid());
    main_tid = main ? main->target_tid : 0;
  }
  return main_tid;
}

bool PythonProcess::Impl::is_distributed(const RawFrame& frame) const {
  return codes.at(frame.code).file.find("torch/distributed/") != std::string::npos;
}

std::size_t PythonProcess::Impl::frames_with_locals(const FrameChain& chain,
                                                    Locals locals,
                                                    bool is_main) const {
  const bool wanted =
      locals == Locals::kAll ||
      (locals != Locals::kNone &&
       (is_main || std::any_of(chain.frames.begin(), chain.frames.end(),
                               [this](const RawFrame& frame) { return is_distributed(frame); })));
  const std::size_t most = locals == Locals::kAll ? kMaxFramesWithAllLocals : kMaxFramesWithLocals;
  return wanted ? std::min(chain.frames.size(), most) : 0;
}

void PythonProcess::Impl::prefetch_chain_locals(PythonMemory& memory,
                                                const std::vector<FrameChain>& chains,
                                                const std::vector<std::size_t>& counts) const {
  std::vector<RawFrame> frames;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (const RawFrame& frame : std::span(chains[i].frames).first(counts[i])) {
      if (codes.at(frame.code).readable && frames.size() < kMaxLocalsOfProcess / 8) {
        frames.push_back(frame);
      }
    }
  }
  if (!frames.empty()) {
    prefetch_locals(memory, frames);
  }
}

// A loop of a script counts its steps in globals. Globals of other code are left out: a function of
// another thread may change them.
void PythonProcess::Impl::add_counters(PythonMemory& memory,
                                       const RawFrame& raw,
                                       std::span<const FrameLoop> loops,
                                       std::vector<PythonLocal>& variables) {
  for (const FrameLoop& loop : loops) {
    for (PythonLocal& one : read_module_variables(memory, raw, loop.sets)) {
      const bool known = std::any_of(variables.begin(), variables.end(),
                                     [&one](const auto& other) { return other.name == one.name; });
      if (!known) {
        variables.push_back(std::move(one));
      }
    }
  }
}

void PythonProcess::Impl::add_loops(PythonMemory& memory,
                                    CodeAnalysis& analysis,
                                    const std::vector<FrameChain>& chains,
                                    std::vector<OrderedThread>& threads) const {
  std::vector<RawFrame> frames;
  const auto innermost = [](const FrameChain& chain) {
    return std::span(chain.frames).first(std::min(chain.frames.size(), kMaxFramesWithLoops));
  };
  for (const FrameChain& chain : chains) {
    const auto some = innermost(chain);
    frames.insert(frames.end(), some.begin(), some.end());
  }
  analysis.prefetch(frames);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto some = innermost(chains[i]);
    std::vector<PythonFrame>& shown = threads[i].thread.frames;
    for (std::size_t at = 0; at < some.size(); ++at) {
      shown[at].loops = read_loops(memory, analysis, codes.at(some[at].code), some[at]);
    }
    // The script is the outermost frame or close to it, since runpy and launchers may have called
    // it.
    for (std::size_t at = 0; at < chains[i].frames.size(); ++at) {
      const RawFrame& raw = chains[i].frames[at];
      if (shown[at].readable && shown[at].function == kModule) {
        add_counters(memory, raw,
                     at < some.size() ? shown[at].loops
                                      : read_loops(memory, analysis, codes.at(raw.code), raw),
                     shown[at].locals);
      }
    }
  }
}

void PythonProcess::Impl::add_places(PythonMemory& memory,
                                     CodeAnalysis& analysis,
                                     const std::vector<FrameChain>& chains,
                                     const std::vector<std::size_t>& counts,
                                     std::vector<OrderedThread>& threads) const {
  std::vector<std::vector<std::size_t>> chosen(chains.size());  // frames, by chain
  std::vector<RawFrame> frames;
  for (std::size_t i = 0; i < chains.size(); ++i) {
    const auto& chain = chains[i].frames;
    for (std::size_t at = 0; counts[i] > 0 && at < chain.size(); ++at) {
      if (codes.at(chain[at].code).readable && !is_distributed(chain[at])) {
        chosen[i].push_back(at);
        frames.push_back(chain[at]);
      }
      if (chosen[i].size() == kMaxFramesWithPlaces) {
        break;
      }
    }
  }
  analysis.prefetch(frames);
  for (std::size_t i = 0; i < chains.size(); ++i) {
    for (const std::size_t at : chosen[i]) {
      const RawFrame& raw = chains[i].frames[at];
      threads[i].thread.frames[at].place = read_place(memory, analysis, codes.at(raw.code), raw);
    }
  }
}

void PythonProcess::Impl::name_threads(PythonMemory& memory,
                                       const ThreadStates& states,
                                       std::vector<OrderedThread>& threads) {
  for (std::size_t index = 0; index < states.interpreters.size(); ++index) {
    if (std::none_of(states.threads.begin(), states.threads.end(),
                     [index](const ThreadStateRow& row) { return row.interpreter == index; })) {
      continue;
    }
    const auto known = names.read(memory, states.interpreters[index].address);
    for (std::size_t i = 0; i < threads.size(); ++i) {
      const auto name = known.find(states.threads[i].pthread);
      if (states.threads[i].interpreter == index && name != known.end()) {
        threads[i].thread.name = name->second;
      }
    }
  }
}

void PythonProcess::Impl::load_codes(PythonMemory& memory, const std::vector<FrameChain>& chains) {
  std::vector<Addr> wanted;
  std::unordered_set<std::uint64_t> seen;
  for (const FrameChain& chain : chains) {
    for (const RawFrame& frame : chain.frames) {
      if (frame.code != Addr{} && seen.insert(value_of(frame.code)).second) {
        wanted.push_back(frame.code);
      }
    }
  }
  codes.load(memory, wanted);
}

std::vector<AwaitChain> PythonProcess::Impl::read_task_chains(PythonMemory& memory,
                                                              std::vector<Addr>& addresses) {
  std::vector<AwaitChain> all;
  std::vector<FrameChain> frames;  // their code objects are loaded together
  all.reserve(addresses.size());
  for (const Addr address : addresses) {
    all.push_back(read_await_chain(memory, address));
    frames.emplace_back().frames = all.back().frames;
  }
  load_codes(memory, frames);
  std::vector<AwaitChain> waits;
  std::vector<Addr> kept;
  for (std::size_t at = 0; at < all.size(); ++at) {
    AwaitChain& chain = all[at];
    if (chain.state != TaskState::kUnknown && chain.state != TaskState::kEnded &&
        !is_trios_own(codes, chain.frames)) {
      leave_out_trios_waits(codes, chain.frames);
      kept.push_back(addresses[at]);
      waits.push_back(std::move(chain));
    }
  }
  addresses = std::move(kept);
  return waits;
}

PythonProcess::PythonProcess(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PythonProcess::PythonProcess(PythonProcess&&) noexcept = default;
PythonProcess& PythonProcess::operator=(PythonProcess&&) noexcept = default;
PythonProcess::~PythonProcess() = default;

Result<PythonProcess> PythonProcess::find(const attach::Target& target, elf::ModuleMap& modules) {
  ODDRANK_TRY(Runtime runtime, detect_runtime(target, modules));
  return of(target, modules, std::move(runtime));
}

PythonProcess PythonProcess::of(const attach::Target& target,
                                elf::ModuleMap& modules,
                                Runtime runtime) {
  return PythonProcess(std::make_unique<Impl>(target, modules, std::move(runtime)));
}

bool PythonProcess::finalized() const {
  return impl_->runtime.finalized;
}

const std::vector<std::string>& PythonProcess::others() const {
  return impl_->runtime.others;
}

const std::string& PythonProcess::version() const {
  return impl_->runtime.version.text;
}

std::vector<elf::ElfRange> PythonProcess::evaluation_ranges() const {
  return impl_->runtime.evaluation_ranges ? impl_->runtime.evaluation_ranges()
                                          : std::vector<elf::ElfRange>();
}

std::vector<Gil> PythonProcess::gils() const {
  PythonMemory memory = impl_->fresh_memory();
  std::vector<Gil> gils;
  auto interpreters = read_interpreters(memory, impl_->runtime.address);
  std::reverse(interpreters.begin(), interpreters.end());  // the main one first
  for (const InterpreterRow& interpreter : interpreters) {
    const std::uint64_t address = value_of(interpreter.gil);
    const bool known = std::any_of(gils.begin(), gils.end(), [address](const Gil& gil) {
      return gil.words.address == address;
    });
    if (address != 0 && interpreter.gil_enabled && !known) {
      gils.push_back({interpreter.id, {address, memory.layout().gil.size}});
    }
  }
  return gils;
}

bool PythonProcess::stands(pid_t target_tid) const {
  bool found = false;
  for (std::size_t i = 0; impl_->sample_threads && i < impl_->sample_threads->size(); ++i) {
    const SampledThread& thread = (*impl_->sample_threads)[i];
    if (thread.target_tid == target_tid) {
      found = true;
      if (!stands_still(impl_->target, impl_->runtime.layout, impl_->sample_rows[i],
                        thread.frames)) {
        return false;
      }
    }
  }
  return found;
}

PythonCuts PythonProcess::cuts() const {
  return impl_->cuts;
}

std::optional<PythonSample> PythonProcess::release_sample() {
  if (!impl_->sample_threads) {
    return std::nullopt;
  }
  std::optional<PythonSample> sample(std::in_place, *std::move(impl_->sample_memory),
                                     std::exchange(impl_->codes, {}),
                                     *std::move(impl_->sample_threads));
  impl_->sample_memory.reset();
  impl_->sample_threads.reset();
  return sample;
}

PythonMemory PythonProcess::memory() const {
  return impl_->fresh_memory();
}

Addr PythonProcess::main_interpreter() const {
  if (impl_->main_interpreter == Addr{}) {
    PythonMemory memory = impl_->fresh_memory();
    const auto interpreters = read_interpreters(memory, impl_->runtime.address);
    if (!interpreters.empty()) {
      impl_->main_interpreter = interpreters.back().address;  // the newest comes first
    }
  }
  return impl_->main_interpreter;
}

void PythonProcess::Impl::add_frames(PythonMemory& memory,
                                     const FrameChain& chain,
                                     std::size_t with_locals,
                                     LocalsReader& reader,
                                     PythonThread& thread) const {
  thread.cut = chain.cut;
  thread.too_long = chain.too_long;
  thread.whole = chain.whole;
  thread.frames.reserve(chain.frames.size());
  const bool all = reader.locals == Locals::kAll;
  for (const RawFrame& raw : chain.frames) {
    PythonFrame& frame = thread.frames.emplace_back(make_frame(memory, raw));
    thread.whole = thread.whole && (frame.readable || raw.address == Addr{});
    if (frame.readable && reader.budget > 0 && thread.frames.size() <= with_locals) {
      frame.locals = all && reader.deep ? read_contents(memory, raw, reader.printer)
                                        : read_locals(memory, raw, !all && !is_distributed(raw));
      reader.budget -= std::min(reader.budget, frame.locals.size());
    } else if (frame.readable && all) {
      ++thread.without_locals;
    }
  }
}

Result<std::vector<PythonThread>> PythonProcess::threads(Locals locals,
                                                         ContentsOptions contents,
                                                         std::span<const pid_t> live) const {
  const Addr runtime = impl_->runtime.address;
  if (finalized()) {
    return std::vector<PythonThread>();
  }
  PythonMemory& memory = impl_->begin_sample();
  ODDRANK_TRY(const ThreadStates states, read_thread_states(memory, runtime));
  impl_->cuts = {states.left_out, states.interpreters.size() > kMaxInterpreters};
  const std::vector<ThreadStateRow>& rows = states.threads;
  std::vector<Addr> newest;
  newest.reserve(rows.size());
  for (const ThreadStateRow& row : rows) {
    newest.push_back(row.newest_frame);
  }
  std::vector<FrameChain> chains = read_chains(memory, newest);
  impl_->load_codes(memory, chains);
  std::vector<pid_t> tids = impl_->tids.resolve(memory, runtime, rows, live);
  const std::vector<Addr> anchors = anchors_of(rows, chains);
  const pid_t main_tid = impl_->find_main_tid();
  if (states.interpreters.size() > 1) {
    correct_tids(impl_->target, rows, anchors, main_tid, tids);
  }

  std::vector<std::size_t> with_locals(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_main = tids[i] != 0 && tids[i] == main_tid;
    with_locals[i] = impl_->frames_with_locals(chains[i], locals, is_main);
  }
  prefetch_lines(memory, chains);
  impl_->prefetch_chain_locals(memory, chains, with_locals);

  std::vector<OrderedThread> threads(rows.size());
  ContentsPrinter printer(memory, contents);
  LocalsReader reader{locals, contents.depth > 0, printer};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    threads[i].anchor = anchors[i];
    threads[i].thread.target_tid = tids[i];
    set_state(states, rows[i], anchors[i] != Addr{}, threads[i].thread);
    impl_->add_frames(memory, chains[i], with_locals[i], reader, threads[i].thread);
  }
  if (locals >= Locals::kDeciding) {
    CodeAnalysis analysis(memory);
    impl_->add_loops(memory, analysis, chains, threads);
    impl_->add_places(memory, analysis, chains, with_locals, threads);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (tids[i] != 0 && tids[i] == main_tid) {  // only the main thread handles signals
      mark_signals(memory, chains[i], threads[i].thread);
    }
  }
  impl_->name_threads(memory, states, threads);
  impl_->keep_sample(rows, tids, std::move(chains));
  return join_interpreters(std::move(threads));
}

void PythonProcess::Impl::take_chain(PythonMemory& memory,
                                     AwaitChain chain,
                                     const TaskNames& task_names,
                                     std::size_t most_members,
                                     PythonTask& task) const {
  AwaitedMembers members = read_awaited_members(memory, codes, chain, task_names, most_members);
  task.members = std::move(members.names);
  task.members_cut = members.cut;
  if (chain.awaited != Addr{}) {
    task.object = awaited_ray_object(memory, chain.awaited);
  }
  task.frames = make_frames(memory, chain.frames);
  task.cut = chain.cut;
  task.name = std::move(chain.name);
  task.state = chain.state;
  task.awaits = std::move(chain.awaits);
}

Result<std::vector<PythonTask>> PythonProcess::tasks(bool greenlets) const {
  if (finalized()) {
    return std::vector<PythonTask>();
  }
  PythonMemory memory = impl_->fresh_memory();
  ODDRANK_TRY(const ThreadStates states, read_thread_states(memory, impl_->runtime.address));
  const auto sampled =
      impl_->sample_threads ? *impl_->sample_threads : std::vector<SampledThread>();
  std::vector<Addr> addresses = find_tasks(memory, states, find_task_lists(memory, impl_->modules));
  const std::size_t asyncios = addresses.size();
  std::ranges::copy(find_trio_tasks(memory, impl_->codes, sampled, kMaxTasks - addresses.size()),
                    std::back_inserter(addresses));
  std::vector<AwaitChain> waits = impl_->read_task_chains(memory, addresses);
  const TaskNames names = tell_names_apart(addresses, waits);
  const std::vector<FrameChain> parked =
      greenlets
          ? read_chains(memory, find_parked_frames(memory, states.interpreters, impl_->modules))
          : std::vector<FrameChain>();
  impl_->load_codes(memory, parked);
  find_lock_holders(memory, impl_->codes, names, waits);
  std::vector<PythonTask> tasks;
  for (const FrameChain& chain : parked) {
    PythonTask& task = tasks.emplace_back();
    task.state = TaskState::kParked;
    task.frames = impl_->make_frames(memory, chain.frames);
  }
  std::size_t room = kMaxMembers;
  const TaskThreads threads(memory, impl_->codes, sampled);
  SocketSearch sockets(memory, SocketHolder::kTask, kMaxTaskOwners);
  for (std::size_t at = 0; at < waits.size(); ++at) {
    AwaitChain& chain = waits[at];
    PythonTask& task = tasks.emplace_back();
    task.trio = at >= asyncios;
    task.target_tid = threads.waiting_for(addresses[at]);
    task.worker_tid = threads.working_for(addresses[at], chain, impl_->codes);
    task.loop_tid = threads.running(addresses[at]);
    if (chain.state == TaskState::kWaits) {
      task.sockets = find_task_sockets(sockets, impl_->codes, chain);
    }
    impl_->take_chain(memory, std::move(chain), names, std::min(room, kMaxAwaited), task);
    room -= task.members.size();
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const PythonTask& a, const PythonTask& b) {
    return task_comes_before(a.name, b.name);
  });
  return tasks;
}

}  // namespace oddrank::cpython
