// Reads and analyses any bytes as a dump of the flight recorder, pickle or JSON: no crash, no hang,
// and memory in proportion to the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/flight/flight_verdict.h"
#include "collectives/sources/json_reader.h"
#include "collectives/sources/pickle_reader.h"
#include "collectives/sources/read_flight_record.h"
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
  snapshot::Tables texts;
  std::vector<snapshot::FlightRecord> records;
  // One rank has the whole dump, another one the first half.
  for (const std::string_view part : {bytes, bytes.substr(0, size / 2)}) {
    const fuzz::PeakMemory memory(part.size());
    const std::string name = "rank_" + std::to_string(records.size());
    if (auto record = collectives::read_flight_record(name, part, texts)) {
      records.push_back(std::move(*record));
    }
  }
  const auto job = aggregate::make_flight_job(records, texts);
  const auto waits = aggregate::find_flight_waits(job);
  const auto verdict = aggregate::decide_flight(job, waits, aggregate::find_mismatches(job));
  return verdict.summary.empty() ? std::abort(), 0 : 0;
}
