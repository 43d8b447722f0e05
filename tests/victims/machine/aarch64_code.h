// What victims have in assembler, for aarch64.
#pragma once

// Calls the function that it is given (x0), without call frame information.
#define VICTIM_NO_CFI           \
  "stp x29, x30, [sp, #-16]!\n" \
  "mov x29, sp\n"               \
  "sub sp, sp, #32\n"           \
  "blr x0\n"                    \
  "add sp, sp, #32\n"           \
  "ldp x29, x30, [sp], #16\n"   \
  "ret\n"

// Calls ppoll() without files for ever. The frame's address is in x19 alone, as its table says.
#define VICTIM_FRAME_IN_REGISTER \
  ".cfi_startproc\n"             \
  "stp x19, x30, [sp, #-16]!\n"  \
  ".cfi_adjust_cfa_offset 16\n"  \
  ".cfi_rel_offset x19, 0\n"     \
  ".cfi_rel_offset x30, 8\n"     \
  "mov x19, sp\n"                \
  ".cfi_def_cfa_register x19\n"  \
  "sub sp, sp, #256\n"           \
  "1:\n"                         \
  "mov x0, #0\n"                 \
  "mov x1, #0\n"                 \
  "mov x2, #0\n"                 \
  "mov x3, #0\n"                 \
  "mov x8, #73\n"                \
  "svc #0\n"                     \
  "b 1b\n"                       \
  ".cfi_endproc\n"

// Calls outer(3600) and ends, as the first code of a program.
#define VICTIM_START \
  "mov x29, #0\n"    \
  "mov x30, #0\n"    \
  "mov x0, #3600\n"  \
  "bl outer\n"       \
  "mov x8, #93\n"    \
  "svc #0\n"

// clock_nanosleep(CLOCK_MONOTONIC, 0, time, nullptr), inlined.
template <typename Time>
[[gnu::always_inline]] inline long sleep_by_call(const Time* time) {
  register long clock __asm__("x0") = 1;
  register long flags __asm__("x1") = 0;
  register const Time* span __asm__("x2") = time;
  register long rest __asm__("x3") = 0;
  register long number __asm__("x8") = 115;
  __asm__ volatile("svc #0"
                   : "+r"(clock)
                   : "r"(flags), "r"(span), "r"(rest), "r"(number)
                   : "memory");
  return clock;
}

// Call the function that they are given.
// stp x29,x30,[sp,#-16]!; mov x29,sp; sub sp,sp,#32; blr x0; add sp,sp,#32; ldp x29,x30,[sp],#16;
// ret
inline constexpr unsigned kCodeWithFramePointer[] = {0xa9bf7bfd, 0x910003fd, 0xd10083ff, 0xd63f0000,
                                                     0x910083ff, 0xa8c17bfd, 0xd65f03c0};
// sub sp,sp,#48; str x30,[sp,#40]; blr x0; ldr x30,[sp,#40]; add sp,sp,#48; ret
inline constexpr unsigned kCodeWithoutFramePointer[] = {0xd100c3ff, 0xf90017fe, 0xd63f0000,
                                                        0xf94017fe, 0x9100c3ff, 0xd65f03c0};
