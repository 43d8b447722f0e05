// A library whose constructor does not return: it calls a function of the program, which waits.
extern "C" void wait_in_constructor();

namespace {

[[gnu::constructor]] void begin() {
  wait_in_constructor();
}

}  // namespace
