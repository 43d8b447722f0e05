// Writes the facts about a process into a capture.
#pragma once

#include "ranks/process_facts.h"
#include "ranks/rank_tree.h"
#include "snapshot/capture.h"

namespace oddrank::ranks {

// Appends the process to the capture, as not yet read, and without the secrets in its command.
void append_row(const ProcessFacts& facts, const RankRow& row, snapshot::Capture& capture);

}  // namespace oddrank::ranks
