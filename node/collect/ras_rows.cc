#include "node/collect/ras_rows.h"

#include "snapshot/carrier.h"

namespace oddrank::node {

using snapshot::RasCommunicator;
using snapshot::RasRank;

RasCommunicator communicator_row(const collectives::RasAnswer& answer,
                                 const collectives::RasGroup& group,
                                 snapshot::Tables& tables) {
  RasCommunicator row;
  row.hash = tables.string(group.hash);
  row.version = tables.string(answer.version);
  row.size = group.size;
  return row;
}

RasRank member_row(const collectives::RasMember& member) {
  RasRank row;
  row.rank = member.rank;
  row.device = member.device;
  row.presence = member.presence;
  row.init_state = member.init_state;
  row.async_error = member.async_error;
  row.leaving = member.leaving;
  row.counts = member.counts;
  return row;
}

void carry_communicators(const snapshot::Capture& from, snapshot::Capture& into) {
  snapshot::Carrier carrier(from.tables, into.tables);
  for (const RasCommunicator& communicator : from.collectives.ras) {
    into.collectives.ras.push_back(carrier.row(communicator));
  }
}

}  // namespace oddrank::node
