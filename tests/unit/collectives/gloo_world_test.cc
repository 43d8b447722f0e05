// Objects of gloo in made-up memory, laid out as measured. Real ones: tests/wild (jax_calls.py).
#include "collectives/gloo_world.h"

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using attach::PreservedValue;

constexpr std::uint64_t kStart = 0x20000000;
constexpr std::uint64_t kBytes = 0x10000;
constexpr std::string_view kContext = "N4gloo10rendezvous7ContextE";
constexpr std::string_view kTransport = "N4gloo9transport3tcp7ContextE";
constexpr std::string_view kCommunicator = "N3xla3cpu16GlooCommunicatorE";

// Memory of a process that is rank 1 of 4.
class GlooMemory {
 public:
  GlooMemory() {
    attach::Mapping mapping;
    mapping.start = kStart;
    mapping.end = kStart + kBytes;
    mapping.readable = mapping.writable = true;
    target_.add_mapping(mapping);
    target_.add_memory(Addr{kStart}, std::string(kBytes, '\0'));
  }

  // Makes an object of a class: its virtual table, type_info and name are before it.
  std::uint64_t object(std::string_view class_name, std::uint64_t first_field) {
    const std::uint64_t at = next_;
    next_ += 256;
    target_.add_memory(Addr{at + 128}, std::string(class_name) + '\0');
    put(at + 64 + 8, at + 128);  // type_info: the name
    put(at + 32, at + 64);       // the virtual table begins after the address of the type_info
    put(at, at + 40);
    put(at + 8, first_field);
    return at;
  }
  std::uint64_t context(std::uint32_t rank, std::uint32_t size, std::string_view name = kContext) {
    return object(name, std::uint64_t{size} << 32 | rank);
  }

  const attach::Target& target() const { return target_; }

 private:
  void put(std::uint64_t at, std::uint64_t value) { target_.add_object(Addr{at}, value); }

  test::FakeTarget target_;
  std::uint64_t next_ = kStart + 256;
};

// Returns the call of a thread in gloo::allreduce whose frames hold these words.
snapshot::CollectiveCall call_of(const GlooMemory& memory,
                                 const std::vector<std::uint64_t>& words,
                                 ThreadBuilder& builder) {
  builder.native("gloo::allreduce").native("xla::cpu::GlooCommunicator::AllReduce");
  snapshot::ProcessCapture& process = builder.capture.processes[0];
  process.rank = 1;
  process.world_size = 4;
  builder.thread().tid = 5;
  std::vector<PreservedValue> kept;
  for (const std::uint64_t word : words) {
    kept.push_back({word, 0x7000});
  }
  collect_gloo_world(memory.target(), {{5, {{}, kept}}}, builder.capture.tables, process);
  return found_call(builder);
}

std::string members_in(const GlooMemory& memory, const std::vector<std::uint64_t>& words) {
  ThreadBuilder builder;
  const auto call = call_of(memory, words, builder);
  return std::string(builder.capture.tables.text(call.members));
}

}  // namespace

TEST_CASE("a context of as many members as the job has processes is all of them") {
  GlooMemory memory;
  const std::uint64_t context = memory.context(1, 4);
  CHECK(members_in(memory, {context}) == "0-3");
  CHECK(members_in(memory, {memory.context(1, 4, kTransport)}) == "0-3");
  CHECK(members_in(memory, {7, memory.object(kCommunicator, context), kStart + 3}) == "0-3");
  ThreadBuilder builder;
  const auto call = call_of(memory, {context}, builder);
  CHECK(builder.capture.tables.text(call.op) == "all_reduce");
  CHECK(builder.capture.tables.text(call.group) == "jax");
  CHECK(std::string(builder.capture.tables.text(call.evidence)).find("rank 1 of 4") !=
        std::string::npos);
}

TEST_CASE("contexts of parts of the job, or of several devices, tell no members") {
  GlooMemory memory;
  const std::uint64_t whole = memory.context(1, 4);
  CHECK(members_in(memory, {memory.context(0, 2)}).empty());
  CHECK(members_in(memory, {memory.context(1, 8)}).empty());
  CHECK(members_in(memory, {memory.context(2, 4)}).empty());         // another device's
  CHECK(members_in(memory, {whole, memory.context(3, 8)}).empty());  // both
}

TEST_CASE("what is no context of gloo is none") {
  GlooMemory memory;
  CHECK(members_in(memory, {memory.context(1, 4, "N4gloo7BarrierE")}).empty());
  CHECK(members_in(memory, {memory.object(kCommunicator, 0)}).empty());
  CHECK(members_in(memory, {memory.object(kCommunicator, kStart + kBytes)}).empty());
  CHECK(members_in(memory, {memory.context(4, 4), memory.context(0, 0)}).empty());
  CHECK(members_in(memory, {kStart, kStart + kBytes, 0x1000}).empty());
}

}  // namespace oddrank::collectives
