// MPI's objects in made-up memory, laid out as measured. Real ones: tests/wild (mpi_calls.c).
#include "collectives/mpi/mpi_calls.h"

#include <string>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "collectives/mpi/mpich.h"
#include "collectives/mpi/open_mpi.h"
#include "tests/support/catch.h"
#include "tests/support/fake_target.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using attach::PreservedValue;
using snapshot::CallKind;

constexpr std::uint64_t kBase = 0x10000000;
constexpr std::uint64_t kRegion = 0x100000;
constexpr std::int32_t kCollectiveTag = -12;

// Memory of a process that is rank 1 of 4.
class MpiMemory {
 public:
  MpiMemory() {
    attach::Mapping mapping;
    mapping.start = kBase;
    mapping.end = kBase + kRegion;
    mapping.readable = mapping.writable = true;
    target_.add_mapping(mapping);
    target_.add_memory(Addr{kBase}, std::string(kRegion, '\0'));
  }

  std::uint64_t allocate(std::uint64_t bytes) {
    const std::uint64_t at = next_;
    next_ += (bytes + 63) / 64 * 64;
    return at;
  }
  template <typename T>
  void put(std::uint64_t at, T value) {
    target_.add_object(Addr{at}, value);
  }
  void put_text(std::uint64_t at, std::string_view text) {
    target_.add_memory(Addr{at}, std::string(text) + '\0');
  }
  std::uint64_t object(std::string_view class_name, std::uint64_t bytes) {
    const std::uint64_t name = allocate(64);
    put_text(name, class_name);
    const std::uint64_t type = allocate(64);
    put(type, name);
    const std::uint64_t at = allocate(bytes);
    put(at, type);
    return at;
  }
  // Makes a group; a process is an object, or (odd ranks) only its name in the place of a pointer.
  std::uint64_t group(const std::vector<std::uint32_t>& ranks, std::int32_t own) {
    const std::uint64_t list = allocate(ranks.size() * 8);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const std::uint32_t job = 7U << 16 | 1;
      if (ranks[i] % 2 == 1) {
        put(list + i * 8, std::uint64_t{ranks[i]} << 32 | 7U << 16 | 1U << 1 | 1);
        continue;
      }
      const std::uint64_t process = object("ompi_proc_t", 64);
      put(process + 40, job);
      put(process + 44, ranks[i]);
      put(list + i * 8, process);
    }
    const std::uint64_t at = object("ompi_group_t", 64);
    put(at + 16, static_cast<std::int32_t>(ranks.size()));
    put(at + 20, own);
    put(at + 32, list);
    return at;
  }
  // Makes a communicator of Open MPI 4.1, or 5.0.
  std::uint64_t communicator(std::int32_t id,
                             std::string_view name,
                             const std::vector<std::uint32_t>& ranks,
                             std::int32_t own,
                             bool new_layout = false) {
    const std::uint64_t at = object("ompi_communicator_t", 512);
    const std::uint64_t behind = at + kMutexGrowth;
    const std::uint64_t group = this->group(ranks, own);
    if (new_layout) {
      const std::uint64_t text = allocate(64);
      put_text(text, name);
      put(behind + 160, text);
    } else {
      put_text(behind + 160, name);
    }
    put(behind + (new_layout ? 216 : 224), id);
    put(behind + (new_layout ? 220 : 228), own);
    put(behind + (new_layout ? 264 : 248), group);
    put(behind + (new_layout ? 272 : 256), group);
    const std::uint64_t transfers = object("mca_pml_ob1_comm_t", 64);
    put(transfers + 16, std::uint32_t{17});
    put(at + 328, transfers);
    return at;
  }
  std::uint64_t request(std::string_view type,
                        std::uint64_t communicator,
                        std::int32_t peer,
                        std::int32_t tag,
                        bool open = true) {
    const std::uint64_t at = object(type, 640);
    put(at + 88, std::uint64_t{open ? 0U : 1U});
    put(at + 96, 2);
    put(at + 152, communicator);
    put(at + 472, peer);
    put(at + 476, tag);
    return at;
  }

  test::FakeTarget& target() { return target_; }

 private:
  test::FakeTarget target_;
  std::uint64_t next_ = kBase + 64;
};

constexpr std::string_view kRecvType = "mca_pml_ob1_recv_request_t";

// Fills in the call of a thread in `function` whose frames (innermost first) hold these words.
const snapshot::CollectiveCall& find_in(MpiMemory& memory,
                                        std::string_view function,
                                        const std::vector<std::vector<PreservedValue>>& frames,
                                        std::int32_t rank,
                                        ThreadBuilder& builder) {
  builder.native(function).native("main");
  snapshot::ProcessCapture& process = builder.capture.processes[0];
  process.rank = rank;
  process.world_size = 4;
  builder.thread().tid = 5;
  collect_mpi_calls(memory.target(), {{5, frames}}, builder.capture.tables, process);
  return found_call(builder);
}

snapshot::CollectiveCall call_in(MpiMemory& memory,
                                 std::string_view function,
                                 const std::vector<std::vector<PreservedValue>>& frames) {
  ThreadBuilder builder;
  return find_in(memory, function, frames, 1, builder);
}

// Returns "MPI_COMM_WORLD|0-3" of such a call.
std::string group_in(MpiMemory& memory,
                     std::string_view function,
                     const std::vector<std::vector<PreservedValue>>& frames,
                     std::int32_t rank = 1) {
  ThreadBuilder builder;
  const snapshot::CollectiveCall& call = find_in(memory, function, frames, rank, builder);
  return builder_text(builder, call.group) + "|" + builder_text(builder, call.members);
}

TEST_CASE("communicators of Open MPI's two layouts") {
  for (const bool new_layout : {false, true}) {
    MpiMemory memory;
    const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1, new_layout);
    const auto half = memory.communicator(3, "halves", {1, 3}, 0, new_layout);
    const auto mixed = memory.communicator(4, "mixed", {2, 1}, 1, new_layout);
    cpython::RemoteReader reader(memory.target());  // keeps what it has read
    OpenMpiReader open_mpi(reader);
    const auto found = open_mpi.communicator(Addr{world});
    REQUIRE(found);
    CHECK(found->is_world);
    CHECK(found->name == "MPI_COMM_WORLD");
    CHECK(found->rank == 1);
    CHECK(found->size == 4);
    CHECK(found->receives == 17);
    CHECK(open_mpi.communicator(Addr{half})->members == std::vector<std::int32_t>{1, 3});
    CHECK(open_mpi.communicator(Addr{mixed})->members == std::vector<std::int32_t>{2, 1});
    CHECK(!open_mpi.communicator(Addr{half + 64}));
  }
}

TEST_CASE("a communicator whose parts do not fit is none") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  memory.put(world + kMutexGrowth + 228, 2);  // not its rank in the group
  cpython::RemoteReader reader(memory.target());
  CHECK(!OpenMpiReader(reader).communicator(Addr{world}));
  MpiMemory between;
  const auto inter = between.communicator(5, "", {0, 1}, 0);
  between.put(inter + 256, between.group({2, 3}, 0));
  cpython::RemoteReader other(between.target());
  CHECK(!OpenMpiReader(other).communicator(Addr{inter}));
}

TEST_CASE("a register of the outermost frame names the communicator") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  CHECK(group_in(memory, "PMPI_Allreduce", {{{world, 0}}}) == "MPI_COMM_WORLD|0-3");
  CHECK(group_in(memory, "MPI_Allreduce", {{{half, 0}}}) == "MPI communicator 3|1,3");
  // The outer frame decides; two in one frame, and words on the stack, do not.
  CHECK(group_in(memory, "MPI_Barrier", {{{half, 0}}, {{world, 0}}}) == "MPI_COMM_WORLD|0-3");
  CHECK(group_in(memory, "MPI_Barrier", {{{half, 0}, {world, 0}}}) == "|");
  CHECK(group_in(memory, "MPI_Barrier", {{{half, kBase + 8}}}) == "|");
}

TEST_CASE("the transfers of a collective name its communicator") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  const auto part = memory.request(kRecvType, world, 0, kCollectiveTag);
  CHECK(group_in(memory, "MPI_Barrier", {{{part, kBase + 8}}, {{half, 0}}}) ==
        "MPI_COMM_WORLD|0-3");
  // One that is complete is left over.
  const auto done = memory.request(kRecvType, world, 0, kCollectiveTag, false);
  CHECK(group_in(memory, "MPI_Barrier", {{{done, kBase + 8}}, {{half, 0}}}) ==
        "MPI communicator 3|1,3");
}

TEST_CASE("ranks of another numbering are not the job's") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  CHECK(group_in(memory, "MPI_Barrier", {{{world, 0}}}, 2) == "|");
  CHECK(group_in(memory, "MPI_Barrier", {{{half, 0}}}, 3) == "|");
}

TEST_CASE("the open request names the other side") {
  MpiMemory memory;
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  const auto recv = memory.request(kRecvType, half, 1, 5);
  auto call = call_in(memory, "PMPI_Recv", {{{recv, 0}}, {{half, 0}}});
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == 3);
  const auto send = memory.request("mca_pml_ob1_send_request_t", half, 1, 6);
  call = call_in(memory, "MPI_Wait", {{{send, kBase + 8}}});
  CHECK(call.kind == CallKind::kSend);
  CHECK(call.peer == 3);
  // A register counts more than words on the stack; two requests there are too many.
  CHECK(call_in(memory, "MPI_Wait", {{{recv, 0}, {send, kBase + 8}}}).kind == CallKind::kRecv);
  CHECK(call_in(memory, "MPI_Waitall", {{{recv, kBase}, {send, kBase + 8}}}).peer == 3);
  const auto any = memory.request(kRecvType, half, -1, 5);
  CHECK(call_in(memory, "MPI_Recv", {{{any, 0}}}).peer == 3);  // the only other member
  const auto wrong = memory.request(kRecvType, half, 2, 5);
  CHECK(call_in(memory, "MPI_Recv", {{{wrong, 0}}}).peer == -1);
}

TEST_CASE("several open requests have several possible other sides") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  const auto recv = memory.request(kRecvType, world, 0, 5);
  const auto send = memory.request("mca_pml_ob1_send_request_t", world, 2, 6);
  const auto done = memory.request(kRecvType, world, 3, 5, false);
  ThreadBuilder builder;
  const std::vector<std::vector<PreservedValue>> all = {
      {{recv, kBase}, {send, kBase + 8}, {done, kBase + 16}}};
  auto call = find_in(memory, "MPI_Waitall", all, 1, builder);
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == -1);
  CHECK(builder_text(builder, call.peers) == "0,2");
  // A receive from any rank is from one of the others.
  const auto any = memory.request(kRecvType, world, -1, 5);
  ThreadBuilder from_any;
  call = find_in(memory, "MPI_Recv", {{{any, 0}}}, 1, from_any);
  CHECK(call.peer == -1);
  CHECK(builder_text(from_any, call.peers) == "0,2-3");
}

TEST_CASE("a receive whose request was not found is no collective") {
  MpiMemory memory;
  const auto world = memory.communicator(0, "MPI_COMM_WORLD", {0, 1, 2, 3}, 1);
  const auto call = call_in(memory, "MPI_Recv", {{{world, 0}}});
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == -1);
}

// A window of Open MPI's, whose module leads to its communicator.
std::uint64_t open_mpi_window(MpiMemory& memory, std::uint64_t communicator) {
  const auto window = memory.object("ompi_win_t", 512);
  const auto module = memory.allocate(1024);
  memory.put(window + 264, module);
  memory.put(module + 312, communicator);
  return window;
}

TEST_CASE("a one-sided call waits for one of its window's members") {
  MpiMemory memory;
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  const auto world = memory.communicator(5, "MPI COMMUNICATOR 5 DUP FROM 0", {0, 1, 2, 3}, 1);
  const auto in_half = open_mpi_window(memory, half);
  const auto of_all = open_mpi_window(memory, world);
  const auto call = call_in(memory, "PMPI_Win_lock", {{}, {{in_half, 0}}});
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == 3);  // the only other member
  ThreadBuilder builder;
  const auto wait = find_in(memory, "MPI_Win_wait", {{{of_all, 0}}}, 1, builder);
  CHECK(builder_text(builder, wait.op) == "win_wait");
  CHECK(builder_text(builder, wait.peers) == "0,2-3");
  // What is sent in the communicator does not count the window's calls.
  CHECK(builder.capture.processes[0].groups.empty());
  // A fence is a collective of all members.
  CHECK(call_in(memory, "MPI_Win_fence", {{{of_all, 0}}}).kind == CallKind::kCollective);
  CHECK(group_in(memory, "MPI_Win_fence", {{{in_half, 0}}}) == "MPI communicator 3|1,3");
  // Two windows in one frame, or one on the stack, may be any of the program's.
  CHECK(call_in(memory, "MPI_Win_lock", {{{in_half, 0}, {of_all, 0}}}).peer == -1);
  CHECK(call_in(memory, "MPI_Win_lock", {{{in_half, kBase + 8}}}).peer == -1);
}

// The object of Open MPI's osc/rdma by which a call asks for a lock of a window, or has it.
std::uint64_t window_lock(MpiMemory& memory, std::uint64_t module, std::int32_t rank) {
  const auto lock = memory.object("ompi_osc_rdma_sync_t", 256);
  memory.put(lock + 16, module);
  memory.put(lock + 24, 1);
  memory.put(lock + 32, rank);
  memory.put(lock + 36, std::int16_t{1});
  return lock;
}

TEST_CASE("a call that asks for a window's lock says which ones its process has") {
  MpiMemory memory;
  const auto odd = memory.communicator(3, "odd", {1, 3, 2}, 0);
  const auto module = memory.allocate(2048);
  const auto other = memory.allocate(2048);
  const auto window = memory.object("ompi_win_t", 512);
  memory.put(window + 264, module);
  memory.put(module + 312, odd);
  const auto table = memory.allocate(3 * 8);
  memory.put(module + 920, table);
  memory.put(table, window_lock(memory, other, 0));  // of another window
  memory.put(table + 8, window_lock(memory, module, 1));
  const auto wanted = window_lock(memory, module, 2);
  ThreadBuilder builder;
  const auto call = find_in(memory, "PMPI_Win_lock", {{{wanted, 0}}, {{window, 0}}}, 1, builder);
  CHECK(call.wants_window == 2);
  CHECK(builder_text(builder, call.has_windows) == "3");
  CHECK(builder_text(builder, call.peers) == "2-3");
  memory.put(table + 16, wanted);  // it is had
  const auto flush = find_in(memory, "PMPI_Win_flush", {{{wanted, 0}}, {{window, 0}}}, 1, builder);
  CHECK(flush.wants_window == -1);
  CHECK(builder_text(builder, flush.has_windows) == "2-3");
  memory.put(table + 16, std::uint64_t{0});
  memory.put(wanted + 24, 2);  // of a fence
  CHECK(call_in(memory, "PMPI_Win_lock", {{{wanted, 0}}, {{window, 0}}}).wants_window == -1);
  memory.put(wanted + 24, 1);
  memory.put(wanted + 32, 3);  // no rank of the communicator
  CHECK(call_in(memory, "PMPI_Win_lock", {{{wanted, 0}}, {{window, 0}}}).wants_window == -1);
}

TEST_CASE("a wait for a collective is one") {
  MpiMemory memory;
  const auto half = memory.communicator(3, "halves", {1, 3}, 0);
  const auto request = memory.request("ompi_coll_base_nbc_request_t", half, 0, 0);
  CHECK(call_in(memory, "MPI_Wait", {{{request, 0}}}).kind == CallKind::kCollective);
  CHECK(group_in(memory, "MPI_Wait", {{{request, 0}}}) == "MPI communicator 3|1,3");
}

TEST_CASE("all ranks meet at the end of MPI") {
  MpiMemory memory;
  const auto call = call_in(memory, "PMPI_Finalize", {});
  CHECK(call.kind == CallKind::kCollective);
  CHECK(call.whole_world);
}

TEST_CASE("communicators of MPICH") {
  MpiMemory memory;
  const auto at = memory.allocate(512);
  const auto behind = at + kMutexGrowth;
  memory.put(at, std::uint32_t{0x44000000});
  memory.put(at + 4, 1);
  memory.put(behind + 68, 4);
  memory.put(behind + 72, 1);
  memory.put(behind + 88, 4);
  memory.put_text(behind + 116, "MPI_COMM_WORLD");
  CHECK(group_in(memory, "PMPI_Allreduce", {{{at, 0}}}) == "MPI_COMM_WORLD|0-3");
  cpython::RemoteReader reader(memory.target());
  CHECK(read_mpich_communicator(reader, Addr{at})->is_world);
  memory.put(behind + 112, 1);  // between two groups
  cpython::RemoteReader again(memory.target());
  CHECK(!read_mpich_communicator(again, Addr{at}));
  CHECK(!read_mpich_communicator(again, Addr{at + 8}));
}

// A communicator of MPICH 4.0 whose ranks are mapped to those of the world.
std::uint64_t mpich_half(MpiMemory& memory, std::int32_t own) {
  const auto at = memory.allocate(896);
  const auto behind = at + kMutexGrowth;
  memory.put(at, std::uint32_t{0x84000001});
  memory.put(at + 4, 1);
  memory.put(behind + 64, std::uint16_t{0x1f0});
  memory.put(behind + 66, std::uint16_t{0x1f0});
  memory.put(behind + 68, 2);
  memory.put(behind + 72, own);
  memory.put(behind + 88, 2);
  memory.put_text(behind + 116, "halves");
  memory.put(behind + 784, 5);  // by strides
  memory.put(behind + 792, 2);
  memory.put(behind + 796, 1);
  memory.put(behind + 800, 2);
  memory.put(behind + 804, 1);
  memory.put(behind + 824, 11);
  return at;
}

TEST_CASE("members of a smaller communicator of MPICH") {
  MpiMemory memory;
  const auto half = mpich_half(memory, 0);
  CHECK(group_in(memory, "MPI_Allreduce", {{{half, 0}}}) == "MPI communicator 496|1,3");
  const auto list = memory.allocate(16);
  memory.put(list, 3);
  memory.put(list + 4, 1);
  memory.put(half + kMutexGrowth + 784, 9);
  memory.put(half + kMutexGrowth + 816, list);
  memory.put(half + kMutexGrowth + 72, 1);
  CHECK(group_in(memory, "MPI_Allreduce", {{{half, 0}}}) == "MPI communicator 496|3,1");
  memory.put(list, 1);  // twice the same
  CHECK(group_in(memory, "MPI_Allreduce", {{{half, 0}}}) == "|");
  memory.put(half + kMutexGrowth + 784, 5);
  memory.put(half + kMutexGrowth + 804, 0);  // no blocks
  CHECK(group_in(memory, "MPI_Allreduce", {{{half, 0}}}) == "|");
}

TEST_CASE("a window of MPICH leads to its communicator") {
  MpiMemory memory;
  const auto window = memory.allocate(512);
  memory.put(window, std::uint32_t{0xa0000000});
  memory.put(window + 4, 1);
  memory.put(window + 152, mpich_half(memory, 0));
  CHECK(call_in(memory, "PMPI_Win_start", {{{window, 0}}}).peer == 3);
  memory.put(window + 4, 0);  // freed
  CHECK(call_in(memory, "PMPI_Win_start", {{{window, 0}}}).peer == -1);
  memory.put(window + 4, 0x7ffc);  // a pointer into a stack: any object may begin with one
  CHECK(call_in(memory, "PMPI_Win_start", {{{window, 0}}}).peer == -1);
}

// A window's record of the part of one rank, behind the one before.
std::uint64_t mpich_part(MpiMemory& memory, std::int32_t rank, bool locked, std::uint64_t before) {
  const auto at = memory.allocate(88);
  memory.put(at + 16, locked ? 1 : 0);
  memory.put(at + 24, rank);
  memory.put(at + 32, std::uint64_t{0x1000});  // their table
  memory.put(at + 40, before);
  memory.put(at + 72, at + 24);
  memory.put(at + 80, 4);
  if (before != 0) {
    memory.put(before + 48, at);
  }
  return at;
}

TEST_CASE("a call of MPICH that asks for a window's lock says which ones its process has") {
  MpiMemory memory;
  const auto half = mpich_half(memory, 0);
  const auto had = mpich_part(memory, 1, true, 0);
  const auto wanted = mpich_part(memory, 0, false, had);
  const std::vector<std::vector<PreservedValue>> frames = {{},
                                                           {{wanted, kBase}, {half, kBase + 8}}};
  ThreadBuilder builder;
  const auto call = find_in(memory, "PMPI_Win_lock", frames, 1, builder);
  CHECK(call.wants_window == 1);
  CHECK(builder_text(builder, call.has_windows) == "3");
  CHECK(call.peer == 3);
  // A word left on the stack says nothing of other calls.
  CHECK(call_in(memory, "MPI_Recv", frames).peer == -1);
  memory.put(had + 20, 1024);  // without asking (MPI_MODE_NOCHECK)
  const auto alone = find_in(memory, "PMPI_Win_lock", frames, 1, builder);
  CHECK(builder_text(builder, alone.has_windows).empty());
  memory.put(had + 40, wanted);  // a circle
  memory.put(wanted + 48, had);
  CHECK(call_in(memory, "PMPI_Win_lock", frames).wants_window == 1);
  memory.put(wanted + 24, 2);  // no rank of the communicator
  CHECK(call_in(memory, "PMPI_Win_lock", frames).wants_window == -1);
  memory.put(wanted + 24, 0);
  memory.put(wanted + 16, 1);  // it is had: a flush, say
  CHECK(call_in(memory, "PMPI_Win_flush", frames).wants_window == -1);
}

// A request, and what libfabric's tcp provider keeps of it.
std::uint64_t mpich_request(MpiMemory& memory, std::uint32_t kind, std::uint64_t bits) {
  const auto at = memory.allocate(272);
  memory.put(at, std::uint32_t{0xac000000});
  memory.put(at + 4, 2);
  memory.put(at + 8, kind);
  memory.put(at + 16, at + 24);
  memory.put(at + 24, 1);
  const auto entry = memory.allocate(0x148);
  memory.put(at + 176, entry + 0x140);
  memory.put(entry + 64, at);
  memory.put(entry + 240, bits);
  memory.put(entry + 248, std::uint64_t{0xffffffff9fffffff});
  memory.put(entry + 256, std::uint64_t{19});
  return at;
}

TEST_CASE("requests of MPICH") {
  MpiMemory memory;
  const auto half = mpich_half(memory, 0);
  const auto recv = mpich_request(memory, 2, 0x01f0000100000005);
  auto call = call_in(memory, "PMPI_Recv", {{{recv, 0}}, {{half, 0}}});
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == 3);
  // The receives of a collective are in the second context of its communicator.
  const auto part = mpich_request(memory, 2, 0x01f1000100000005);
  const auto world = memory.allocate(896);
  memory.put(world, std::uint32_t{0x44000000});
  memory.put(world + 4, 1);
  memory.put(world + kMutexGrowth + 68, 4);
  memory.put(world + kMutexGrowth + 72, 1);
  memory.put(world + kMutexGrowth + 88, 4);
  const std::vector<std::vector<PreservedValue>> frames = {
      {{part, kBase}}, {{world, 0}}, {{half, kBase + 8}}};
  CHECK(group_in(memory, "MPI_Allreduce", frames) == "MPI communicator 496|1,3");
  const auto nonblocking = mpich_request(memory, 10, 0);
  memory.put(nonblocking + 40, half);
  CHECK(group_in(memory, "MPI_Wait", {{{nonblocking, 0}}}) == "MPI communicator 496|1,3");
  memory.put(recv + 24, 0);  // complete
  CHECK(call_in(memory, "PMPI_Recv", {{{recv, 0}}, {{half, 0}}}).peer == -1);
}

}  // namespace
}  // namespace oddrank::collectives
