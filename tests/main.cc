// SPDX-License-Identifier: Apache-2.0
// The main() of every test suite: CppUTest's runner without its own watch over the heap. The
// sanitizer build watches instead: CppUTest pads each block, which hides small overflows from the
// sanitizer, and its thread-safe version deadlocks on the first overflow it finds itself.
#include <CppUTest/CommandLineTestRunner.h>
#include <CppUTest/MemoryLeakDetector.h>
#include <CppUTest/MemoryLeakWarningPlugin.h>
#include <CppUTest/TestHarness.h>

int main(int argc, char** argv) {
  MemoryLeakWarningPlugin::turnOffNewDeleteOverloads();
  // Libraries that start threads before main() have blocks on its books that they give back later.
  MemoryLeakWarningPlugin::getGlobalDetector()->clearAllAccounting(mem_leak_period_all);
  return CommandLineTestRunner::RunAllTests(argc, argv);
}
