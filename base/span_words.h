// Time spans in words, as exact as a reader needs, and rounded down.
#pragma once

#include <chrono>
#include <cstdint>
#include <ratio>
#include <string>

namespace oddrank {

// The unit of times in captures.
using UnsignedMicroseconds = std::chrono::duration<std::uint64_t, std::micro>;

// Returns "0.3 s", "4 s", "95 s", "41 min", "3 h 20 min", "3 h", "2 d 7 h": tenths below ten
// seconds, whole seconds below two minutes, minutes below two hours, hours and minutes below two
// days. A span below zero is "0 s"; spans end at about 30,000 years.
std::string span_words(std::chrono::duration<double, std::milli> span);

}  // namespace oddrank
