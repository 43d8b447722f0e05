// Guesses what a user meant by a command line that is not understood.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace oddrank::cli {

struct Mistake {
  std::string what;
  std::string hint;
};

// All long options of the chosen command and of the program. Hidden ones are never proposed.
struct KnownOptions {
  std::vector<std::string> shown;  // "--json"
  std::vector<std::string> hidden;
};

// Returns the known word nearest to `word`: it begins with `word`, or differs by one or two typing
// mistakes; "" if there is none, or two are equally near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// Finds an option that does not exist, or "-p PID" (the form of other tools); nullopt: no such
// mistake.
std::optional<Mistake> find_mistake(std::span<char* const> words, const KnownOptions& known);

// Returns the hint for a number in place of a command; "" if the word is not a number.
std::string hint_for_number(std::string_view word);

}  // namespace oddrank::cli
