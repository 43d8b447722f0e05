// Objects of gloo in made-up memory, laid out as measured. Real ones: tests/live/transfers_test.py.
#include "collectives/torch/gloo_transfers.h"

#include <sys/syscall.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;

constexpr std::uint64_t kHeap = 0x20000000;
constexpr std::uint64_t kHeapBytes = 0x20000;
constexpr std::uint64_t kLibrary = 0x7f0000000000;
constexpr std::uint64_t kLibraryBytes = 0x2000;
constexpr std::string_view kBuffer = "N4gloo9transport3tcp13UnboundBufferE";
constexpr std::string_view kTcpContext = "N4gloo9transport3tcp7ContextE";
constexpr std::string_view kPair = "N4gloo9transport3tcp4PairE";
constexpr std::uint64_t kFutexInBuffer =
    124;                                    // the second group of waiters of a condition variable
constexpr std::uint64_t kRoom = 0x1000;     // for one object
constexpr std::uint64_t kToReceive = 640;   // tables of a pair
constexpr std::uint64_t kInTransfer = 800;  // its deque

// The heap of a process whose main thread sleeps in a buffer of a context.
class TransferMemory {
 public:
  TransferMemory(std::uint32_t rank, std::uint32_t size) {
    add_mapping(kHeap, kHeapBytes, "");
    add_mapping(kLibrary, kLibraryBytes, "/v/torch/lib/libtorch_cpu.so");
    buffer_ = make(kBuffer);
    const std::uint64_t context = make(kTcpContext);
    put(buffer_ + 24, context);
    put(context + 8, std::uint64_t{size} << 32 | rank);
    const std::uint64_t vector = next_;
    next_ += kRoom;
    put(context + 56, vector);
    put(context + 64, vector + 8UL * size);
    put(context + 72, vector + 8UL * size);
    for (std::uint64_t member = 0; member < size; ++member) {
      pairs_.push_back(make(kPair));
      put(vector + 8 * member, pairs_.back());
    }
    attach::ThreadState thread;
    thread.tid = 5;
    thread.syscall = attach::SyscallState{SYS_futex, {buffer_ + kFutexInBuffer}};
    threads_.push_back(thread);
  }

  // Puts the buffer into the member's table of what is to be received.
  void await_message_of(std::size_t member) {
    const std::uint64_t node = next_;
    next_ += kRoom;
    put(pairs_[member] + kToReceive, node + 512);
    put(pairs_[member] + kToReceive + 8, 13);
    put(pairs_[member] + kToReceive + 16, node);
    put(pairs_[member] + kToReceive + 24, 1);
    target_.add_object(Addr{pairs_[member] + kToReceive + 32}, 1.0F);
    put_deque(node + 16);
  }
  void transfer_to(std::size_t member) { put_deque(pairs_[member] + kInTransfer); }

  const attach::Target& target() const { return target_; }
  const std::vector<attach::ThreadState>& threads() const { return threads_; }

 private:
  void add_mapping(std::uint64_t start, std::uint64_t bytes, std::string_view path) {
    attach::Mapping mapping;
    mapping.start = start;
    mapping.end = start + bytes;
    mapping.readable = true;
    mapping.writable = path.empty();
    mapping.path = path;
    target_.add_mapping(mapping);
    target_.add_memory(Addr{start}, std::string(bytes, '\0'));
  }
  void put(std::uint64_t at, std::uint64_t value) { target_.add_object(Addr{at}, value); }

  // Makes an object of a class, whose virtual table, type_info and name are in the library.
  std::uint64_t make(std::string_view class_name) {
    const std::uint64_t at = next_;
    next_ += kRoom;
    const std::uint64_t table = kLibrary + 256 * (class_name.size() % 16);
    target_.add_memory(Addr{table + 128}, std::string(class_name) + '\0');
    put(table + 64 + 8, table + 128);
    put(table, table + 64);
    put(at, table + 8);
    return at;
  }

  // One element: bytes, offset, and a weak pointer to the buffer.
  void put_deque(std::uint64_t at) {
    const std::uint64_t chunk = next_;
    next_ += kRoom;
    put(chunk + 16, buffer_);
    put(chunk + 0x800, chunk);
    put(at, chunk + 0x800 - 24);
    put(at + 8, 8);
    for (const std::uint64_t end : {0UL, 32UL}) {
      const std::uint64_t place = at + 16 + end;
      put(place, chunk + end);
      put(place + 8, chunk);
      put(place + 16, chunk + 512);
      put(place + 24, chunk + 0x800);
    }
  }

  test::FakeTarget target_;
  std::uint64_t next_ = kHeap + kRoom;
  std::uint64_t buffer_ = 0;
  std::vector<std::uint64_t> pairs_;
  std::vector<attach::ThreadState> threads_;
};

void add_gloo_group(ThreadBuilder& builder,
                    std::string_view name,
                    std::string_view members,
                    std::int32_t rank,
                    std::int32_t size) {
  snapshot::ProcessGroup group;
  group.name = builder.capture.tables.string(name);
  group.backend = builder.capture.tables.string("cpu:gloo,cuda:nccl");
  group.members = builder.capture.tables.string(members);
  group.rank = rank;
  group.size = size;
  builder.capture.processes[0].groups.push_back(group);
}

// Returns the call of a thread that waits for a request which does not show whose it is.
snapshot::CollectiveCall waiting_call(const TransferMemory& memory, ThreadBuilder& builder) {
  builder.native("c10d::ProcessGroupGloo::RecvWork::wait").python("step", "/v/train.py");
  builder.thread().tid = 5;
  collect_gloo_transfers(memory.target(), memory.threads(), builder.capture.tables,
                         builder.capture.processes[0]);
  return found_call(builder);
}

TEST_CASE("gloo_transfers: the pair that holds the awaited buffer is of the other side") {
  TransferMemory memory(2, 4);
  memory.await_message_of(1);
  ThreadBuilder builder;
  add_gloo_group(builder, "0", "0-3", 2, 4);
  add_gloo_group(builder, "1", "2-5", 0, 4);  // another place
  const auto call = waiting_call(memory, builder);
  CHECK(call.kind == snapshot::CallKind::kRecv);
  CHECK(call.peer == 1);
  CHECK(builder_text(builder, call.group) == "0");
}

TEST_CASE("gloo_transfers: what has begun is in the pair's queue") {
  TransferMemory memory(0, 2);
  memory.transfer_to(1);
  ThreadBuilder builder;
  add_gloo_group(builder, "7", "4,6", 0, 2);
  CHECK(waiting_call(memory, builder).peer == 6);
}

TEST_CASE("gloo_transfers: of several groups that fit, each one's member is possible") {
  TransferMemory memory(0, 2);
  memory.await_message_of(1);
  ThreadBuilder builder;
  add_gloo_group(builder, "7", "4,6", 0, 2);
  add_gloo_group(builder, "8", "4,5", 0, 2);
  const auto call = waiting_call(memory, builder);
  CHECK(call.peer == -1);
  CHECK(builder_text(builder, call.peers) == "5-6");
  CHECK(builder_text(builder, call.group).empty());
}

TEST_CASE("gloo_transfers: nobody is the other side if no pair holds the buffer, or two do") {
  TransferMemory memory(2, 4);
  SECTION("none") {}
  SECTION("two") {
    memory.await_message_of(0);
    memory.await_message_of(1);
  }
  ThreadBuilder builder;
  add_gloo_group(builder, "0", "0-3", 2, 4);
  const auto call = waiting_call(memory, builder);
  CHECK(call.peer == -1);
  CHECK(builder_text(builder, call.peers).empty());
}

}  // namespace
}  // namespace oddrank::collectives
