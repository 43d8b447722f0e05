// What victims have in assembler, for x86-64.
#pragma once

// Calls the function that it is given (rdi), without call frame information.
#define VICTIM_NO_CFI \
  "sub $40, %rsp\n"   \
  "call *%rdi\n"      \
  "add $40, %rsp\n"   \
  "ret\n"

// Calls pause() for ever. The frame's address is in rbx alone, as its table says.
#define VICTIM_FRAME_IN_REGISTER \
  ".cfi_startproc\n"             \
  "pushq %rbx\n"                 \
  ".cfi_adjust_cfa_offset 8\n"   \
  ".cfi_rel_offset %rbx, 0\n"    \
  "movq %rsp, %rbx\n"            \
  ".cfi_def_cfa_register %rbx\n" \
  "subq $256, %rsp\n"            \
  "1:\n"                         \
  "movl $34, %eax\n"             \
  "syscall\n"                    \
  "jmp 1b\n"                     \
  ".cfi_endproc\n"

// Calls outer(3600) and ends, as the first code of a program.
#define VICTIM_START  \
  "and $-16, %rsp\n"  \
  "mov $3600, %edi\n" \
  "call outer\n"      \
  "mov $60, %eax\n"   \
  "syscall\n"

// clock_nanosleep(CLOCK_MONOTONIC, 0, time, nullptr), inlined.
template <typename Time>
[[gnu::always_inline]] inline long sleep_by_call(const Time* time) {
  long result = 0;
  register long rest __asm__("r10") = 0;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(230L), "D"(1L), "S"(0L), "d"(time), "r"(rest)
                   : "rcx", "r11", "memory");
  return result;
}

// Call the function that they are given.
// push %rbp; mov %rsp,%rbp; sub $32,%rsp; call *%rdi; leave; ret
inline constexpr unsigned char kCodeWithFramePointer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
                                                          0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3};
// sub $40,%rsp; call *%rdi; add $40,%rsp; ret
inline constexpr unsigned char kCodeWithoutFramePointer[] = {0x48, 0x83, 0xec, 0x28, 0xff, 0xd7,
                                                             0x48, 0x83, 0xc4, 0x28, 0xc3};
