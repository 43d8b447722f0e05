#include "collectives/world_in_memory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/parse_number.h"
#include "collectives/backend_threads.h"
#include "collectives/call_frames.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/scalars.h"
#include "cpython/objects/strings.h"
#include "cpython/objects/types.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using attach::Addr;
using cpython::PythonMemory;
using ranks::ReportedBy;
using ranks::ReportedWorld;

constexpr std::size_t kMaxAddress = 256;

// Functions that have the rank and the number of ranks among their locals, while a group is made.
constexpr std::array<std::string_view, 5> kInitFunctions = {
    "init_process_group", "_create_c10d_store", "_env_rendezvous_handler",
    "_tcp_rendezvous_handler", "_file_rendezvous_handler"};

bool is_number_of_ranks(std::int64_t rank, std::int64_t size) {
  return rank >= 0 && rank < size && size <= static_cast<std::int64_t>(snapshot::kMaxRanks);
}

// "tcp://n0:29500?rank=0" -> "n0:29500"; "file:///tmp/x" stays; "env://" -> "".
std::string meeting_place(std::string_view method) {
  constexpr std::string_view kTcp = "tcp://";
  method = method.substr(0, std::min(method.find('?'), kMaxAddress));
  if (method.starts_with(kTcp)) {
    return std::string(method.substr(kTcp.size()));
  }
  return method.starts_with("env://") ? std::string() : std::string(method);
}

// Takes the quotes off a text as locals show it.
std::string_view without_quotes(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '\'' && text.back() == '\'';
  return quoted ? text.substr(1, text.size() - 2) : std::string_view();
}

std::optional<std::int32_t> number_of_local(const CallFrames& frames,
                                            std::size_t at,
                                            std::string_view name) {
  const auto text = frames.local(at, name);
  return text ? parse_number<std::int32_t>(*text) : std::nullopt;
}

// Reads the arguments of one frame of the making of the default group.
void read_init_frame(const CallFrames& frames, std::size_t at, ReportedWorld& world) {
  const auto rank = number_of_local(frames, at, "rank");
  const auto size = number_of_local(frames, at, "world_size");
  if (rank && size && is_number_of_ranks(*rank, *size)) {
    world.by = ReportedBy::kInit;
    world.rank = *rank;
    world.world_size = *size;
  }
  const std::string_view host = without_quotes(frames.local(at, "hostname").value_or(""));
  const auto port = number_of_local(frames, at, "port");
  if (!host.empty() && port) {
    world.address = std::string(host) + ":" + std::to_string(*port);
  } else if (world.address.empty()) {
    world.address = meeting_place(without_quotes(frames.local(at, "init_method").value_or("")));
  }
}

void read_frames(const CallFrames& frames, ReportedWorld& world) {
  for (std::size_t at = 0; at < frames.size(); ++at) {
    if (!frames.is_python(at)) {
      continue;
    }
    const std::string_view file = frames.file(at);
    const std::string_view function = frames.function(at);
    const bool init = file.ends_with("torch/distributed/distributed_c10d.py") ||
                      file.ends_with("torch/distributed/rendezvous.py");
    if (init && world.by < ReportedBy::kJax &&
        std::find(kInitFunctions.begin(), kInitFunctions.end(), function) != kInitFunctions.end()) {
      read_init_frame(frames, at, world);
    }
    if (file.ends_with("torch/multiprocessing/spawn.py") && function == "_wrap") {
      world.index = number_of_local(frames, at, "i").value_or(-1);
      world.by = std::max(world.by, ReportedBy::kStart);
    }
  }
}

void read_jax(PythonMemory& memory, const NameTable& modules, ReportedWorld& world) {
  const Addr module = modules.find("jax._src.distributed");
  const Addr state =
      module == Addr{} ? Addr{} : NameTable::of_module(memory, module).find("global_state");
  if (state == Addr{}) {
    return;
  }
  // Set by initialize(); before that they are attributes of the class.
  const auto rank = cpython::read_int(memory, cpython::read_attribute(memory, state, "process_id"));
  const auto size =
      cpython::read_int(memory, cpython::read_attribute(memory, state, "num_processes"));
  if (!rank || !size || !is_number_of_ranks(*rank, *size)) {
    return;
  }
  world.by = ReportedBy::kJax;
  world.rank = static_cast<std::int32_t>(*rank);
  world.world_size = static_cast<std::int32_t>(*size);
  const auto address = cpython::read_string(
      memory, cpython::read_attribute(memory, state, "coordinator_address"), kMaxAddress);
  world.address = address ? address->utf8 : std::string();
}

}  // namespace

ReportedWorld read_world(PythonMemory& memory,
                         const NameTable& modules,
                         std::string_view init_method,
                         const snapshot::Tables& tables,
                         const snapshot::ProcessCapture& process) {
  ReportedWorld world;
  read_jax(memory, modules, world);
  for (const snapshot::ThreadCapture& thread : process.threads) {
    for (const bool python : {false, true}) {
      read_frames(CallFrames(thread, tables, python), world);
    }
  }
  for (const snapshot::ProcessGroup& group : process.groups) {
    if (group.is_default && is_number_of_ranks(group.rank, group.size)) {
      world.by = ReportedBy::kGroup;
      world.rank = group.rank;
      world.world_size = group.size;
      world.address = meeting_place(init_method);
      world.inherited = !has_backend_thread(process, tables);
    }
  }
  return world;
}

}  // namespace oddrank::collectives
