#include "unwind/native_unwind.h"

#include <cstring>
#include <optional>
#include <random>

#include "base/machine.h"
#include "snapshot/frame.h"
#include "tests/support/calls.h"
#include "tests/support/catch.h"
#include "tests/support/machine_code.h"
#include "tests/unit/elf/loaded_sample.h"

namespace oddrank::unwind {
namespace {

using snapshot::StackEnd;

constexpr std::uint64_t kStack = 0x7ffe00000000;
constexpr std::size_t kStackSize = 16384;

// A thread somewhere in the sample's code, with a stack made of the given words.
class Thread {
 public:
  explicit Thread(bool in_memory = false) {
    image_.emplace(test::open_image(test::sample_path()));
    test::load_sample(target, **image_, test::kLoadedAt, in_memory);
    attach::Mapping stack;
    stack.start = kStack;
    stack.end = kStack + kStackSize;
    stack.readable = true;
    stack.writable = true;
    stack.path = "[stack]";
    target.add_mapping(stack);
    state.tid = 10;
    state.state = 'S';
    state.registers = attach::Registers{};
    state.registers->sp = kStack;
  }

  const elf::ElfImage& image() const { return **image_; }
  std::uint64_t address_of(std::string_view symbol) const {
    const auto found = image().symbol(symbol);
    return found ? test::kLoadedAt + found->address : 0;
  }
  // Puts the thread, which was stopped, at main()'s first instruction.
  void begin_main(std::uint64_t return_address) {
    state.registers->pc = address_of("main");
    state.registers->link = return_address;
    state.registers->all = true;
    set_stack({return_address});
  }
  // Puts the thread to where main()'s return address is on the stack.
  void enter_main() {
    state.registers->pc = address_of("main") + test::saved_return().from;
    state.registers->all = false;
  }
  void enter_main(std::uint64_t return_address) {
    enter_main();
    std::vector<std::uint64_t> words(test::saved_return().word);
    words.push_back(return_address);
    set_stack(words);
  }
  void set_stack(std::vector<std::uint64_t> words) {
    words.resize(kStackSize / sizeof(std::uint64_t));
    target.add_memory(attach::Addr{kStack}, std::as_bytes(std::span(words)));
  }
  NativeStack unwind() {
    elf::ModuleMap modules(target);
    NativeUnwinder unwinder(target, modules);
    return unwinder.unwind(state);
  }

  test::FakeTarget target;
  attach::ThreadState state;

 private:
  std::optional<Result<elf::ElfImage>> image_;
};

TEST_CASE("native_unwind: at a function's first instruction its caller is known") {
  Thread thread;
  thread.target.add_real_file(test::kLoadedPath, test::sample_path());
  const std::uint64_t caller = thread.address_of("_start") + 8;
  thread.begin_main(caller);
  const NativeStack stack = thread.unwind();
  // _start is the outermost function: its table says so.
  CHECK(stack.end == StackEnd::kComplete);
  REQUIRE(stack.frames.size() == 2);
  CHECK(stack.frames[0].cfa == kStack + (test::kReturnAddressInMemory ? 8 : 0));
  CHECK(stack.frames[1].pc == caller);
}

TEST_CASE("native_unwind: the tables are found in memory if the file cannot be opened") {
  Thread thread(true);
  thread.enter_main(thread.address_of("_start") + 8);
  const NativeStack stack = thread.unwind();
  CHECK(stack.frames.size() == 2);
  CHECK(stack.end == StackEnd::kComplete);
}

TEST_CASE("native_unwind: a return address outside code ends the stack, and is no frame") {
  Thread thread;
  thread.target.add_real_file(test::kLoadedPath, test::sample_path());
  const auto check_end = [&thread] {
    const NativeStack stack = thread.unwind();
    CHECK(stack.frames.size() == 1);
    CHECK(stack.end == StackEnd::kNoUnwindInfo);
  };
  for (const std::uint64_t word : {kStack + 64, std::uint64_t{0x1234}, ~std::uint64_t{0}}) {
    thread.begin_main(word);
    check_end();
    thread.enter_main(word);
    check_end();
  }
}

TEST_CASE("native_unwind: code without tables yields one frame") {
  Thread thread;
  attach::Mapping jit;
  jit.start = 0x10000;
  jit.end = 0x20000;
  jit.readable = true;
  jit.executable = true;
  thread.target.add_mapping(jit);
  thread.state.registers->pc = 0x10100;
  thread.set_stack({thread.address_of("main")});
  const NativeStack stack = thread.unwind();
  REQUIRE(stack.frames.size() == 1);
  CHECK(stack.frames[0].pc == 0x10100);
  CHECK(stack.end == StackEnd::kNoUnwindInfo);
}

// Elsewhere libunwind knows how to leave the kernel's frame, and has its layout.
TEST_CASE(
    "native_unwind: a handler without a table, and the kernel's frame without one, are left") {
  if (kOurMachine != Machine::kAmd64) {
    return;
  }
  constexpr std::uint64_t kBareCode = 0x10000;
  Thread thread;
  thread.target.add_real_file(test::kLoadedPath, test::sample_path());
  attach::Mapping bare;
  bare.start = kBareCode;
  bare.end = kBareCode + 0x1000;
  bare.readable = true;
  bare.executable = true;
  thread.target.add_mapping(bare);
  std::string code(0x1000, '\x90');
  code.replace(0x200, test::signal_return_code().size(), test::signal_return_code());
  thread.target.add_memory(attach::Addr{kBareCode}, code);
  // The return address; then the kernel's frame, whose registers begin 40 bytes further on.
  constexpr std::size_t kFirstSaved = 1 + 5;
  constexpr std::size_t kInterrupted = 60;
  const std::uint64_t caller = thread.address_of("_start") + 8;
  std::vector<std::uint64_t> words(kInterrupted + 1);
  words[0] = kBareCode + 0x200;
  words[kFirstSaved + 15] = kStack + kInterrupted * sizeof(std::uint64_t);
  words[kFirstSaved + 16] = thread.address_of("main");
  words[kInterrupted] = caller;
  thread.set_stack(words);
  thread.state.registers->pc = kBareCode + 0x100;
  const NativeStack stack = thread.unwind();
  CHECK(stack.end == StackEnd::kComplete);
  REQUIRE(stack.frames.size() == 4);
  CHECK(stack.frames[1].pc == kBareCode + 0x200);
  CHECK((stack.frames[1].flags & snapshot::kSignalFrame) != 0);
  CHECK((stack.frames[1].flags & snapshot::kHeuristic) != 0);
  CHECK(stack.frames[2].pc == thread.address_of("main"));
  CHECK(stack.frames[2].flags == 0);
  CHECK(stack.frames[3].pc == caller);
}

TEST_CASE("native_unwind: a stack that cannot be read is reported as such") {
  Thread thread;
  thread.target.add_real_file(test::kLoadedPath, test::sample_path());
  thread.enter_main();
  const NativeStack stack = thread.unwind();
  CHECK(stack.frames.size() == 1);
  CHECK(stack.end == StackEnd::kBadMemory);
}

TEST_CASE("native_unwind: a thread without registers has no frames") {
  Thread thread;
  thread.state.registers.reset();
  CHECK(thread.unwind().end == StackEnd::kUnknown);
  thread.state.state = 'R';
  CHECK(thread.unwind().end == StackEnd::kRunning);
}

// The unwind tables of a hostile file, and stacks full of plausible words: the result is bounded,
// and each frame lies in code.
TEST_CASE("native_unwind: damaged tables end stacks early, but never the tool") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes each time
  const Thread sample;
  const auto header = sample.image().eh_frame_hdr();
  const auto frames = sample.image().section(".eh_frame");
  const auto text = sample.image().section(".text");
  REQUIRE(header);
  REQUIRE(frames);
  REQUIRE(text);
  const std::string whole = read_file(test::sample_path()).value_or("");
  const auto offset_of = [&](std::uint64_t address) {
    return static_cast<std::size_t>(
        reinterpret_cast<const char*>(sample.image().bytes_at(address, 1).data()) -
        reinterpret_cast<const char*>(sample.image().bytes_at(0, 1).data()));
  };
  const std::size_t tables = offset_of(header->address);
  const std::size_t size = frames->address + frames->size - header->address;
  for (int i = 0; i < 60; ++i) {
    std::string damaged = whole;
    for (int flips = 0; flips < 1 + i % 40; ++flips) {
      damaged[tables + random() % size] = static_cast<char>(random());
    }
    Thread thread;
    thread.target.add_file(test::kLoadedPath, damaged);
    std::vector<std::uint64_t> words(512);
    for (std::uint64_t& word : words) {
      word = random() % 2 == 0 ? test::kLoadedAt + text->address + random() % text->size
                               : kStack + random() % kStackSize;
    }
    thread.set_stack(words);
    for (int where = 0; where < 8; ++where) {
      thread.state.registers->pc = test::kLoadedAt + text->address + random() % text->size;
      const NativeStack stack = thread.unwind();
      CHECK(stack.frames.size() <= 4096);
      CHECK(stack.end != StackEnd::kUnknown);
    }
  }
}

TEST_CASE("native_unwind: threads at one place are recognised, each with its own stack") {
  Thread thread;
  thread.target.add_real_file(test::kLoadedPath, test::sample_path());
  const std::uint64_t caller = thread.address_of("_start") + 8;
  constexpr std::size_t kCount = 5;
  std::vector<std::uint64_t> words(kStackSize / sizeof(std::uint64_t));
  std::vector<attach::ThreadState> states;
  thread.enter_main();
  for (std::size_t i = 0; i < kCount; ++i) {
    // The fourth was called from nowhere.
    words[i * 64 + test::saved_return().word] = i == 3 ? 0 : caller;
    states.push_back(thread.state);
    states.back().tid = static_cast<pid_t>(10 + i);
    states.back().registers->sp = kStack + i * 512;
  }
  thread.set_stack(words);
  std::vector<const attach::ThreadState*> all;
  for (const auto& state : states) {
    all.push_back(&state);
  }
  elf::ModuleMap modules(thread.target);
  NativeUnwinder unwinder(thread.target, modules);
  (void)unwinder.unwind(states[0]);  // the tables are known from here on
  const std::size_t before = thread.target.read_calls();
  const auto stacks = unwinder.unwind_all(all);
  // The first stack, the decisive words of all others at once, and the fourth's own stack.
  CHECK(thread.target.read_calls() - before == 3);
  REQUIRE(stacks.size() == kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    NativeUnwinder fresh(thread.target, modules);
    const NativeStack alone = fresh.unwind(states[i]);
    CHECK(stacks[i].end == alone.end);
    REQUIRE(stacks[i].frames.size() == alone.frames.size());
    for (std::size_t at = 0; at < alone.frames.size(); ++at) {
      CHECK(stacks[i].frames[at].pc == alone.frames[at].pc);
      CHECK(stacks[i].frames[at].cfa == alone.frames[at].cfa);
    }
  }
  CHECK(stacks[3].frames.size() == 1);
  CHECK(stacks[4].frames.size() == 2);
}

}  // namespace
}  // namespace oddrank::unwind
