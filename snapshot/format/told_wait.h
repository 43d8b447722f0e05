// Waits of captures older than format 9, which say in words what has its own fields since then.
// This is the only place that reads facts out of such words. Private to snapshot/.
#pragma once

#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

inline constexpr int kFirstFormatWithFacts = 9;

// Fills in the facts that verdicts and their sentences need: that the thread is frozen; that its
// lock has a time limit; how long its connection has been silent, and that TLS is above it. The
// words may be anything; the wait's sentence stays what they say.
void facts_of_told_wait(Tables& tables, Wait& wait);

}  // namespace oddrank::snapshot
