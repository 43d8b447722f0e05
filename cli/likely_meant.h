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

// Returns the known word that is most like `word`: it begins with it, or differs by one or two
// typing mistakes; "" if no word does, or if two are equally near.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// Looks for an option that does not exist, and for "-p PID" (the form of other tools). nullopt: no
// such mistake.
std::optional<Mistake> find_mistake(std::span<char* const> words, const KnownOptions& known);

// Returns the hint for a number in place of a command; "" if the word is not a number.
std::string hint_for_number(std::string_view word);

}  // namespace oddrank::cli
