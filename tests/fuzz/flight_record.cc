// Reads and analyses any bytes as a dump of the flight recorder, pickle or JSON: no crash, no hang,
// and memory in proportion to the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/diagnose.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/view/job_view.h"
#include "collectives/flight/json_reader.h"
#include "collectives/flight/pickle_reader.h"
#include "collectives/flight/read_flight_record.h"
#include "tests/fuzz/peak_memory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  {
    const fuzz::PeakMemory memory(size);
    (void)collectives::read_pickle(bytes);
  }
  {
    const fuzz::PeakMemory memory(size);
    (void)collectives::read_json(bytes);
  }
  snapshot::Capture capture;
  std::vector<snapshot::FlightRecord>& records = capture.collectives.flight;
  // One rank has the whole dump, another one the first half.
  for (const std::string_view part : {bytes, bytes.substr(0, size / 2)}) {
    const fuzz::PeakMemory memory(part.size());
    const std::string name = "rank_" + std::to_string(records.size());
    if (auto record = collectives::read_flight_record(name, part, capture.tables)) {
      records.push_back(std::move(*record));
    }
  }
  aggregate::FrameModel model(capture.tables);
  const auto verdict = aggregate::verdict_of(aggregate::JobView(capture, model));
  return verdict.summary.empty() ? std::abort(), 0 : 0;
}
