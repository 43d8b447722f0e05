// An unwound stack, kept so that the same stack of another thread is recognised by a few words.
//
// Pools have dozens of threads at one place. Unwinding depends on the program counter, the stack
// pointer and the words of the stack that it reads: return addresses and saved frame pointers. If
// another thread has the same program counter, and each of those words is the same (or points to
// the same place in its own stack), its frames are the same, too, at its own addresses. This is
// exact because walks with other inputs are not kept: those that searched for a frame, met a
// signal, needed a register or read other memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unwind/native_unwind.h"

namespace oddrank::unwind {

class KnownWalk {
 public:
  // A part of the stack, relative to the stack pointer.
  struct Piece {
    std::uint64_t offset = 0;
    std::size_t size = 0;
  };
  struct Word {
    std::uint64_t address = 0;
    std::uint64_t value = 0;
  };

  // `words`: all words of the stack (from `stack_pointer` to `stack_end`) that the walk read.
  // Returns nullopt if they are too far apart to be worth reading.
  static std::optional<KnownWalk> of(const NativeStack& stack,
                                     std::uint64_t stack_pointer,
                                     std::uint64_t stack_end,
                                     std::vector<Word> words);

  // Return the parts to read of another thread's stack, and their total size.
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t bytes() const { return bytes_; }

  // Returns the frames of a thread with that stack pointer and the same program counter, or nullopt
  // if its stack differs. `bytes`: its pieces, one behind the other.
  std::optional<NativeStack> of_thread(std::uint64_t stack_pointer,
                                       std::span<const std::byte> bytes) const;

 private:
  struct Decisive {
    std::size_t at = 0;  // in the bytes of the pieces
    std::uint64_t value = 0;
    bool moves = false;  // it points into the stack: relative to the stack pointer
  };

  NativeStack stack_;
  std::uint64_t stack_pointer_ = 0;
  std::vector<Decisive> words_;
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace oddrank::unwind
