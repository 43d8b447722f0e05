#include "node/collect/unnoted_ends.h"

#include <string>
#include <string_view>

#include "snapshot/flight_record.h"
#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using snapshot::FlightRecord;

struct Rank {
  snapshot::Tables tables;
  snapshot::ProcessCapture process;
  FlightRecord record;

  Rank(std::string_view name, std::string_view value) {
    process.environment.push_back({tables.string(name), tables.string(value)});
    record.groups.resize(1);
    for (const char* backend : {"gloo", "nccl", "nccl", "nccl"}) {
      snapshot::FlightEntry entry;
      entry.record = static_cast<std::int64_t>(record.entries.size());
      entry.backend = tables.string(backend);
      record.entries.push_back(entry);
    }
  }

  // Returns how many calls are left, and how many of them are open.
  std::pair<std::size_t, std::size_t> left(std::size_t newest) {
    forget_unnoted_ends(process, tables, newest, record);
    std::size_t open = 0;
    for (const snapshot::FlightEntry& entry : record.entries) {
      open += snapshot::has_ended(entry, tables) ? 0U : 1U;
    }
    return {record.entries.size(), open};
  }
};

using Counts = std::pair<std::size_t, std::size_t>;

TEST_CASE("calls of NCCL whose ends nobody notes are not open") {
  CHECK(Rank("TORCH_NCCL_BLOCKING_WAIT", "1").left(0) == Counts{4, 1});
  CHECK(Rank("NCCL_BLOCKING_WAIT", "True").left(0) == Counts{4, 1});
  CHECK(Rank("TORCH_NCCL_BLOCKING_WAIT", "yes").left(1) == Counts{2, 1});  // gloo's, and the newest
}

TEST_CASE("calls of NCCL are open until their end is noted, where it is") {
  CHECK(Rank("TORCH_NCCL_BLOCKING_WAIT", "0").left(1) == Counts{4, 4});
  CHECK(Rank("TORCH_NCCL_BLOCKING_WAIT", "").left(1) == Counts{4, 4});
  CHECK(Rank("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1").left(1) == Counts{4, 4});
}

}  // namespace
}  // namespace oddrank::node
