// Reads pickles that hold plain data, without running them.
//
// A pickle is a program for a stack machine, and Python's own reader calls whatever it names. This
// one knows the opcodes that build numbers, texts, lists, dicts and tuples, and refuses every other
// by its name. Protocol 2 as PyTorch's C++ writes it (torch/csrc/jit/serialization/pickler.cpp:
// texts are memoised by value, containers after they were built), 3 to 5 as Python does. The one
// exception are the calls torch.jit._pickle.build_intlist and its like, by which old dumps mark
// lists: they are taken as what they return, their argument.
//
// If a file ends early (it is written in place, and the job may be killed meanwhile), the result is
// what was complete: open lists and dicts keep the items that they have.
#pragma once

#include <string_view>

#include "base/result.h"
#include "collectives/sources/plain_data.h"

namespace oddrank::collectives {

// Returns the document; tuples and sets become lists. `bytes` must outlive it. kBadData: not a
// pickle, one that does what plain data do not need (`what` names the opcode or the global), or a
// damaged one.
Result<PlainDocument> read_pickle(std::string_view bytes);

}  // namespace oddrank::collectives
