// SPDX-License-Identifier: Apache-2.0
// The main() of every test suite: CppUTest's runner without its own watch over the heap. The
// sanitizer build watches instead: CppUTest pads each block, which hides small overflows from the
// sanitizer, and its thread-safe version deadlocks on the first overflow it finds itself.
#include <CppUTest/CommandLineTestRunner.h>
#include <CppUTest/TestHarness.h>

int main(int argc, char** argv) {
  MemoryLeakWarningPlugin::turnOffNewDeleteOverloads();
  return CommandLineTestRunner::RunAllTests(argc, argv);
}
