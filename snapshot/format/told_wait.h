// Waits of captures older than format 9, which have in words what later ones have in fields. Only
// this file extracts facts from such words. Private to snapshot/.
#pragma once

#include "snapshot/tables.h"
#include "snapshot/wait.h"

namespace oddrank::snapshot {

inline constexpr int kFirstFormatWithFacts = 9;

// Fills in the facts that verdicts and their sentences need: whether the thread is frozen, whether
// its lock has a time limit, how long its connection has been silent, and whether it carries TLS.
// The words may be anything; they remain the wait's sentence.
void facts_of_told_wait(Tables& tables, Wait& wait);

}  // namespace oddrank::snapshot
