// A stack that was unwound, kept so that the same stack of another thread is recognised by a few
// words.
//
// Pools have dozens of threads at one place. Unwinding is a function of the program counter, the
// stack pointer and the words of the stack that it reads: return addresses, and frame pointers that
// were saved there. If another thread has the same program counter, and each of those words is the
// same (or points to the same place in its own stack), its frames are the same, too, at its own
// addresses. This is exact as long as the walk depended on nothing else: walks that searched for a
// frame, met a signal, needed a register or read other memory are not kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "unwind/native_stack.h"

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

  // `words`: all words that the walk read of the stack, which is from `stack_pointer` to
  // `stack_end`. Returns nullopt if they are too far apart to be worth reading.
  static std::optional<KnownWalk> of(const NativeStack& stack,
                                     std::uint64_t stack_pointer,
                                     std::uint64_t stack_end,
                                     std::vector<Word> words);

  // The parts to read of another thread's stack, and their size in all.
  const std::vector<Piece>& pieces() const { return pieces_; }
  std::size_t bytes() const { return bytes_; }

  // Returns the frames of a thread with that stack pointer and the same program counter, or nullopt
  // if its stack is another one. `bytes`: its pieces, one behind the other.
  std::optional<NativeStack> of_thread(std::uint64_t stack_pointer,
                                       std::span<const std::byte> bytes) const;

 private:
  struct Decisive {
    std::size_t at = 0;  // in the bytes of the pieces
    std::uint64_t value = 0;
    bool moves = false;  // it leads into the stack: relative to the stack pointer
  };

  NativeStack stack_;
  std::uint64_t stack_pointer_ = 0;
  std::vector<Decisive> words_;
  std::vector<Piece> pieces_;
  std::size_t bytes_ = 0;
};

}  // namespace oddrank::unwind
