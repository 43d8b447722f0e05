// Rows of a CollectiveState to columns and back: a part of encode_rows.h and decode_rows.h on its
// own. Private to snapshot/.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "snapshot/collective_state.h"
#include "snapshot/format/columns.h"
#include "snapshot/format/rows.h"

namespace oddrank::snapshot {

inline constexpr int kFirstFormatWithCounters = 11;  // and recorders read from memory

void encode_collectives(const CollectiveState& state, Document& document);

// Borrows the document.
class CollectiveDecoder {
 public:
  CollectiveDecoder(const ReadDocument& document, const IdLimits& limits, int format);

  // Invalid data becomes a problem() of one of the tables. `nodes`: how many the capture has.
  CollectiveState run(std::size_t nodes);
  std::array<RowReader*, 10> tables();

 private:
  FlightRecord record();
  RasCommunicator communicator();
  LogLine line();
  Device device();

  int format_;
  RowReader records_, groups_, entries_, communicators_, members_, lines_, behind_, devices_, pids_,
      ports_;
};

}  // namespace oddrank::snapshot
