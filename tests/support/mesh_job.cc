#include "tests/support/mesh_job.h"

#include <algorithm>

#include "snapshot/rank_text.h"
#include "tests/support/hung_jobs.h"

namespace oddrank::tests {
namespace {

constexpr std::int32_t kRanksOfNode = 8;
constexpr std::string_view kDistributed =
    "/opt/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";

class MeshBuilder {
 public:
  explicit MeshBuilder(const Mesh& mesh) : mesh_(mesh), ranks_(mesh.ranks()) {}

  CaptureBuilder build() const;

 private:
  std::int32_t rank_at(std::int32_t place) const;
  std::int32_t stride(std::size_t dimension) const;
  std::int32_t coordinate(std::int32_t place, std::size_t dimension) const;
  std::int32_t first_of_group(std::int32_t place, std::size_t dimension) const;
  std::string name_of_group(std::int32_t place, std::size_t dimension) const;
  std::vector<std::int32_t> members_of(std::int32_t place, std::size_t dimension) const;
  ThreadSpec waits_in(std::int32_t place, std::size_t dimension) const;
  void add_groups(CaptureBuilder& job, snapshot::ProcessCapture& process, std::int32_t place) const;

  const Mesh& mesh_;
  std::int32_t ranks_;
};

std::int32_t MeshBuilder::rank_at(std::int32_t place) const {
  return mesh_.rank_at ? mesh_.rank_at(place) : place;
}

std::int32_t MeshBuilder::stride(std::size_t dimension) const {
  std::int32_t product = 1;
  for (std::size_t at = dimension + 1; at < mesh_.dimensions.size(); ++at) {
    product *= mesh_.dimensions[at].size;
  }
  return product;
}

std::int32_t MeshBuilder::coordinate(std::int32_t place, std::size_t dimension) const {
  return place / stride(dimension) % mesh_.dimensions[dimension].size;
}

std::int32_t MeshBuilder::first_of_group(std::int32_t place, std::size_t dimension) const {
  return place - coordinate(place, dimension) * stride(dimension);
}

std::string MeshBuilder::name_of_group(std::int32_t place, std::size_t dimension) const {
  const std::string& label = mesh_.dimensions[dimension].label;
  const std::int32_t first = first_of_group(place, dimension);
  return mesh_.group_name ? mesh_.group_name(label, first) : label + '#' + std::to_string(first);
}

std::vector<std::int32_t> MeshBuilder::members_of(std::int32_t place, std::size_t dimension) const {
  std::vector<std::int32_t> members;
  const std::int32_t first = first_of_group(place, dimension);
  for (std::int32_t i = 0; i < mesh_.dimensions[dimension].size; ++i) {
    members.push_back(rank_at(first + i * stride(dimension)));
  }
  return members;
}

ThreadSpec MeshBuilder::waits_in(std::int32_t place, std::size_t dimension) const {
  const bool transfers = mesh_.dimensions[dimension].transfers;
  ThreadSpec spec = in_all_reduce();
  const std::string op = transfers ? "recv" : "all_reduce";
  // A dimension is used at a place of its own in the program.
  spec.frames =
      Frames{native("pthread_cond_wait@@GLIBC_2.3.2", "/usr/lib/x86_64-linux-gnu/libc.so.6"),
             py(op, kDistributed, 3170)} +
      Frames{py("step_" + std::to_string(dimension), "/home/ada/demo/train.py",
                80 + static_cast<std::uint32_t>(dimension)),
             py("train", "/home/ada/demo/train.py", 70)};
  CallSpec call;
  call.op = op;
  call.group = name_of_group(place, dimension);
  call.members = members_of(place, dimension);
  call.evidence = "frame " + op + " (distributed_c10d.py:3170)";
  if (transfers) {
    call.kind = snapshot::CallKind::kRecv;
    const bool below = coordinate(place, dimension) < coordinate(mesh_.odd, dimension);
    call.peer = rank_at(place + (below ? stride(dimension) : -stride(dimension)));
  } else {
    call.sequence = 4711 + static_cast<std::int64_t>(dimension);
  }
  spec.call = call;
  return spec;
}

void MeshBuilder::add_groups(CaptureBuilder& job,
                             snapshot::ProcessCapture& process,
                             std::int32_t place) const {
  auto& tables = job.capture.tables;
  for (std::size_t at = 0; at < mesh_.dimensions.size(); ++at) {
    snapshot::ProcessGroup group;
    group.name = tables.string(name_of_group(place, at));
    group.label = tables.string(mesh_.dimensions[at].label);
    group.backend = tables.string("nccl");
    group.members = tables.string(snapshot::rank_text(members_of(place, at)));
    process.groups.push_back(group);
  }
}

CaptureBuilder MeshBuilder::build() const {
  std::vector<std::string> hosts;
  for (std::int32_t node = 0; node * kRanksOfNode < ranks_; ++node) {
    const std::string number = std::to_string(node);
    hosts.push_back("node" + std::string(5 - std::min<std::size_t>(5, number.size()), '0') +
                    number);
  }
  CaptureBuilder job(hosts, ranks_);
  for (std::int32_t place = 0; place < ranks_; ++place) {
    const std::int32_t rank = rank_at(place);
    auto& process =
        job.rank(rank, hosts[static_cast<std::size_t>(rank / kRanksOfNode)], 3000 + rank);
    process.local_rank = rank % kRanksOfNode;
    std::size_t apart = 0;
    while (place != mesh_.odd && coordinate(place, apart) == coordinate(mesh_.odd, apart)) {
      ++apart;
    }
    auto& thread = job.thread(process, place == mesh_.odd ? in_loader(0) : waits_in(place, apart));
    if (mesh_.labelled) {
      add_groups(job, process, place);
      if (thread.call) {
        thread.call->label = job.capture.tables.string(mesh_.dimensions[apart].label);
      }
    }
  }
  return job;
}

}  // namespace

std::int32_t Mesh::ranks() const {
  std::int32_t product = 1;
  for (const MeshDimension& dimension : dimensions) {
    product *= dimension.size;
  }
  return product;
}

Mesh three_dimensions(std::int32_t dp, std::int32_t pp, std::int32_t tp) {
  Mesh mesh;
  mesh.dimensions = {{"dp", dp}, {"pp", pp, true}, {"tp", tp}};
  mesh.odd = mesh.ranks() / 3;
  return mesh;
}

CaptureBuilder mesh_job(const Mesh& mesh) {
  return MeshBuilder(mesh).build();
}

}  // namespace oddrank::tests
