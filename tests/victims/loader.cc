// Loads the library `loader PATH` (plugin.cc) and gets stuck in it, in read() of stdin.
#include <dlfcn.h>

#include <cstdio>

int main(int count, char** arguments) {
  void* const library = count > 1 ? ::dlopen(arguments[1], RTLD_NOW) : nullptr;
  if (library == nullptr) {
    std::puts("failed");
    return 1;
  }
  return reinterpret_cast<int (*)()>(::dlsym(library, "plugin_run"))() + 1;
}
