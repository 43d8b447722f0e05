// How a verdict was reached, for people (`--explain`).
#pragma once

#include <string>

#include "aggregate/explain/explain.h"
#include "report/text_options.h"

namespace oddrank::report {

// Returns paragraphs that end with a newline: facts, states of ranks, and causes by both runs of
// the solver.
std::string explain_text(const aggregate::Explanation& explanation, const TextOptions& options);

}  // namespace oddrank::report
