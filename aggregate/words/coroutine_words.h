// Coroutines of which each waits for the next, in words.
#pragma once

#include <string>

#include "aggregate/view/coroutines.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns "Store.fill (store.py:33), which waits in Lock.acquire for Store.take (store.py:27),
// which waits in Event.wait".
std::string coroutine_words(const JobView& view, const TaskWay& way);

}  // namespace oddrank::aggregate
