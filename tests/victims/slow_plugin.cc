// A library whose constructor does not return: it waits in the program that loads it.
extern "C" void wait_in_constructor();

namespace {

[[gnu::constructor]] void begin() {
  wait_in_constructor();
}

}  // namespace
