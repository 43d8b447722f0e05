// Reads pickles that hold plain data, without running them.
//
// A pickle is a program for a stack machine, and Python's own reader calls any function that it
// names. This one supports only the opcodes that build numbers, texts, lists, dicts and tuples, and
// refuses any other by name. It reads protocol 2 as PyTorch's C++ writes it
// (torch/csrc/jit/serialization/pickler.cpp: texts are memoised by value, containers after they
// were built), and 3 to 5 as Python does. The only exceptions are calls of
// torch.jit._pickle.build_intlist and its like, which mark lists in old dumps: such a call is
// replaced by its argument, which is also its result.
//
// If a file ends early (it is written in place, and the job may be killed meanwhile), the result is
// the complete part: open lists and dicts keep their items so far.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/flight/plain_data.h"

namespace oddrank::collectives {

// Returns the document; tuples and sets become lists. `bytes` must outlive it. kBadData: it is not
// a pickle, it is damaged, or it does more than plain data needs (`what` names the opcode or the
// global).
Result<PlainDocument> read_pickle(std::string_view bytes);

}  // namespace oddrank::collectives
