// What victims have in assembler, for the machine that they are compiled for.
#pragma once

#if defined(__x86_64__)
#include "tests/victims/machine/x86_64_code.h"
#else
#include "tests/victims/machine/aarch64_code.h"
#endif
