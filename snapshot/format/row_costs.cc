#include "snapshot/format/row_costs.h"

#include <algorithm>
#include <array>

#include "snapshot/capture.h"

namespace oddrank::snapshot {
namespace {

constexpr std::size_t kGrowth = 3;        // old and new storage of a vector, for a moment
constexpr std::size_t kCostOfText = 128;  // in the table, besides its bytes
constexpr std::size_t kCostOfRow = 64;    // of a small row

struct RowCost {
  std::string_view table;
  std::size_t bytes;
};

// Tables that are not listed have small rows.
constexpr std::array<RowCost, 17> kRowCosts = {{
    {"frames", 2 * sizeof(Frame) + 64},
    {"stacks", 2 * sizeof(Stack) + 64},
    {"stack_frames", kGrowth * sizeof(FrameId)},
    {"nodes", kGrowth * sizeof(NodeCapture)},
    {"processes", kGrowth * sizeof(ProcessCapture) + 832},
    {"threads", sizeof(ThreadCapture) + 408},
    {"samples", sizeof(ThreadSample) + 24},
    {"tasks", sizeof(AsyncTask) + 256},
    {"task_members", 16},
    {"frame_locals", kGrowth * sizeof(FrameLocals) + 48},
    {"groups", kGrowth * sizeof(ProcessGroup) + 112},
    {"connections", kGrowth * sizeof(Connection) + 128},
    {"transfers", kGrowth * sizeof(Transfer) + 128},
    {"loops", kGrowth * sizeof(PythonLoop) + 48},
    {"flight_records", kGrowth * sizeof(FlightRecord) + 512},
    {"flight_entries", kGrowth * sizeof(FlightEntry) + 128},
    {"expected_ranks", 384},  // each may be a missing rank: a node, its label, rows of the report
}};

std::size_t cost_of(std::string_view table) {
  const auto* const found =
      std::find_if(kRowCosts.begin(), kRowCosts.end(),
                   [table](const RowCost& row) { return row.table == table; });
  return found == kRowCosts.end() ? kCostOfRow : found->bytes;
}

}  // namespace

Status take_rows(const ReadDocument& document, MemoryBudget& budget) {
  for (const std::string_view text : document.strings) {
    budget.take(2 * text.size() + kCostOfText);
  }
  for (const ReadTable& table : document.tables) {
    const std::size_t rows = table.columns.empty() ? 0 : table.columns.front().size;
    budget.take(rows, cost_of(table.name));
  }
  return budget.over() ? Status(fail(over_budget())) : ok();
}

Error over_budget() {
  return {Errc::kBadData, "it describes more than a capture of its size may", ""};
}

}  // namespace oddrank::snapshot
