// SPDX-License-Identifier: Apache-2.0
// Files that are right come back as they were written; each kind of wrong one gets a sentence with
// the file and the tensor in it.
#include "apps/files/safetensors.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/rng.h"
#include "tests/files/failing_calls.h"
#include "tests/files/scratch_folder.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

template <typename Number>
std::string BytesOf(Number number) {
  return {reinterpret_cast<const char*>(&number), sizeof(number)};
}

std::string FileWith(const std::string& header, const std::string& data = "") {
  return BytesOf<uint64_t>(header.size()) + header + data;
}

// A header with one tensor, "w".
std::string HeaderOf(const std::string& dtype, const std::string& shape,
                     const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

void CheckRefused(const std::string& content, const char* expected) {
  const ScratchFolder scratch;
  const std::string path = scratch.Path("bad.safetensors");
  WriteAll(path, content);
  const Result<SafetensorsFile> file = SafetensorsFile::Open(path);
  CHECK_FALSE_TEXT(file.ok(), expected);
  CHECK(file.status().code() == StatusCode::kInvalidInput);
  STRCMP_CONTAINS(expected, file.status().message().c_str());
  STRCMP_CONTAINS((path + " is not a safetensors file: ").c_str(), file.status().message().c_str());
  CHECK(file.status().message().find('\n') == std::string::npos);
  CHECK(file.status().message().size() < 600);
}

void CheckHeaderRefused(const std::string& header, const char* expected,
                        const std::string& data = "") {
  CheckRefused(FileWith(header, data), expected);
}

std::vector<float> ReadFloats(const std::string& header, const std::string& data, size_t count) {
  const ScratchFolder scratch;
  WriteAll(scratch.Path("w"), FileWith(header, data));
  const SafetensorsFile file = SafetensorsFile::Open(scratch.Path("w")).value();
  std::vector<float> values(count, 99.0f);
  CHECK(file.Read(*file.Find("w"), values).ok());
  return values;
}

const std::vector<float> kFloatValues = {1.5f, -0.0f, 3e38f, 1e-45f, 7, 8};
const std::vector<int64_t> kCounter = {INT64_MAX};

void WriteSample(const std::string& path) {
  const std::vector<TensorToWrite> tensors = {
      {"odd", {3}, std::span(kFloatValues).first(3)},
      {"bn.num_batches_tracked", {}, std::span<const int64_t>(kCounter)},
      {"conv.weight", {1, 2, 3, 1}, std::span<const float>(kFloatValues)},
      {"empty", {0, 5}, std::span<const float>()}};
  FileCalls calls;
  CHECK(WriteSafetensors(path, tensors, {{"format", "pt"}}, calls).ok());
}

}  // namespace

TEST_GROUP(Safetensors){};

TEST(Safetensors, ReadsBackWhatItWrote) {
  const ScratchFolder scratch;
  const std::string path = scratch.Path("model.safetensors");
  WriteSample(path);
  const SafetensorsFile file = SafetensorsFile::Open(path).value();
  LONGS_EQUAL(4, file.entries().size());
  STRCMP_EQUAL("pt", file.metadata().at("format").c_str());
  CHECK(file.Find("conv") == nullptr);

  std::vector<float> floats(6);
  CHECK(file.Find("conv.weight")->shape == (std::vector<int64_t>{1, 2, 3, 1}));
  CHECK(file.Read(*file.Find("conv.weight"), floats).ok());
  CHECK(std::memcmp(floats.data(), kFloatValues.data(), 6 * sizeof(float)) == 0);
  std::vector<int64_t> counter(1);
  CHECK(file.Find("bn.num_batches_tracked")->shape.empty());
  CHECK(file.Read(*file.Find("bn.num_batches_tracked"), counter).ok());
  CHECK(counter == kCounter);
  CHECK(file.Read(*file.Find("empty"), std::span<float>()).ok());
}

// The reference implementation wants the data to begin at a multiple of eight, and PyTorch views
// each tensor in place.
TEST(Safetensors, AlignsEveryTensorAndListsThemAsGiven) {
  const ScratchFolder scratch;
  WriteSample(scratch.Path("x"));
  const std::string content = ReadAll(scratch.Path("x"));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, content.data(), sizeof(header_bytes));
  LONGS_EQUAL(0, header_bytes % 8);
  LONGS_EQUAL(8 + header_bytes + 8 + 9 * 4, content.size());
  const std::string header = content.substr(8, header_bytes);
  const std::string expected =
      R"({"__metadata__":{"format":"pt"},)"
      R"("odd":{"dtype":"F32","shape":[3],"data_offsets":[8,20]},)"
      R"("bn.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
      R"("conv.weight":{"dtype":"F32","shape":[1,2,3,1],"data_offsets":[20,44]},)"
      R"("empty":{"dtype":"F32","shape":[0,5],"data_offsets":[44,44]}})";
  STRCMP_EQUAL(expected.c_str(), header.substr(0, header.find_last_not_of(' ') + 1).c_str());
}

TEST(Safetensors, LeavesTheOldFileIfTheNewOneCannotBeWritten) {
  const ScratchFolder scratch;
  const std::string path = scratch.Path("x");
  WriteAll(path, "old");
  OneFailingCall calls(2, ENOSPC);
  const Status status = WriteSafetensors(path, {}, {}, calls);
  CHECK(status.code() == StatusCode::kUnavailable);
  STRCMP_CONTAINS("No space left on device", status.message().c_str());
  STRCMP_EQUAL("old", ReadAll(path).c_str());
}

TEST(Safetensors, ReadsEveryHalf) {
  std::string data;
  for (int bits = 0; bits < 65536; ++bits) data += BytesOf(static_cast<uint16_t>(bits));
  const std::vector<float> values =
      ReadFloats(HeaderOf("F16", "[65536]", "[0,131072]"), data, 65536);
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = (bits >> 10) & 31;
    const int fraction = bits & 1023;
    const float value = values[static_cast<size_t>(bits)];
    CHECK_EQUAL(bits >= 32768, std::signbit(value));
    if (exponent == 31) {
      CHECK_EQUAL(fraction != 0, std::isnan(value));
      CHECK_EQUAL(fraction == 0, std::isinf(value));
      continue;
    }
    const double magnitude =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    DOUBLES_EQUAL(magnitude, std::abs(value), 0);
  }
}

TEST(Safetensors, ReadsBfloat16AndDouble) {
  const std::vector<float> shorts = ReadFloats(
      HeaderOf("BF16", "[3]", "[0,6]"),
      BytesOf<uint16_t>(0x3FC0) + BytesOf<uint16_t>(0xC000) + BytesOf<uint16_t>(0x7F80), 3);
  DOUBLES_EQUAL(1.5, shorts[0], 0);
  DOUBLES_EQUAL(-2, shorts[1], 0);
  CHECK(std::isinf(shorts[2]));
  // More than is converted at a time.
  std::string data;
  for (int i = 0; i < 20000; ++i) data += BytesOf(i / 3.0);
  const std::vector<float> doubles =
      ReadFloats(HeaderOf("F64", "[20000]", "[0,160000]"), data, 20000);
  for (int i = 0; i < 20000; ++i) {
    DOUBLES_EQUAL(static_cast<float>(i / 3.0), doubles[static_cast<size_t>(i)], 0);
  }
}

TEST(Safetensors, ReadsNoOtherNumbersAsFloats) {
  const ScratchFolder scratch;
  WriteAll(scratch.Path("w"), FileWith(HeaderOf("I32", "[1]", "[0,4]"), "abcd"));
  const SafetensorsFile file = SafetensorsFile::Open(scratch.Path("w")).value();
  std::vector<float> floats(1);
  std::vector<int64_t> counters(1);
  for (const Status& status :
       {file.Read(*file.Find("w"), floats), file.Read(*file.Find("w"), counters)}) {
    CHECK(status.code() == StatusCode::kInvalidInput);
    STRCMP_CONTAINS("/w: tensor \"w\" is I32", status.message().c_str());
  }
}

TEST(Safetensors, AcceptsAnEmptyFileOfTensorsAndPaddedHeaders) {
  const ScratchFolder scratch;
  WriteAll(scratch.Path("x"), FileWith("{}      "));
  LONGS_EQUAL(0, SafetensorsFile::Open(scratch.Path("x"))->entries().size());
}

TEST(Safetensors, AcceptsAnEmptyTensorWhereAnotherBegins) {
  const ScratchFolder scratch;
  WriteAll(scratch.Path("x"), FileWith(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                                       R"("b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                                       "abcd"));
  LONGS_EQUAL(2, SafetensorsFile::Open(scratch.Path("x"))->entries().size());
}

TEST(Safetensors, SaysThatThereIsNoFile) {
  const Status status = SafetensorsFile::Open("/nowhere/x.safetensors").status();
  CHECK(status.code() == StatusCode::kNotFound);
  STRCMP_CONTAINS("/nowhere/x.safetensors", status.message().c_str());
  CHECK(SafetensorsFile::Open("/").status().code() == StatusCode::kUnavailable);
}

TEST(Safetensors, RefusesFilesThatEndTooSoonOrPromiseTooMuch) {
  CheckRefused("", "it has only 0 bytes");
  CheckRefused("1234567", "it has only 7 bytes");
  CheckRefused(BytesOf<uint64_t>(3) + "{}", "it ends inside its header");
  CheckRefused(BytesOf<uint64_t>(UINT64_MAX), "over 16 MiB");
  CheckRefused(BytesOf<uint64_t>(kMostHeaderBytes + 1), "over 16 MiB");
  CheckRefused(BytesOf<uint64_t>(0), "not a JSON object");
}

TEST(Safetensors, RefusesWhatIsNoHeader) {
  CheckHeaderRefused(" {}", "not a JSON object");
  CheckHeaderRefused("[1]", "not a JSON object");
  CheckHeaderRefused("{\"a\":", "not JSON, from byte");
  CheckHeaderRefused("{}x", "not JSON, from byte");
  CheckHeaderRefused("{\"\xFF\":1}", "not JSON, from byte");
  CheckHeaderRefused("{\"w\":" + std::string(100000, '['), "nested too deeply");
  CheckHeaderRefused("{\"w\":1e999}", "too large");
  CheckHeaderRefused(R"({"w":1})", "tensor \"w\" is not described by an object");
  CheckHeaderRefused(R"({"__metadata__":1})", "__metadata__ is not an object");
  CheckHeaderRefused(R"({"__metadata__":{"a":1}})", "\"a\", which is not a string");
  CheckHeaderRefused(R"({"__metadata__":{},"__metadata__":{}})", "\"__metadata__\" twice");
}

TEST(Safetensors, RefusesTensorsThatAreNotDescribedRight) {
  CheckHeaderRefused(R"({"w":{}})", "tensor \"w\" must have dtype, shape and data_offsets");
  CheckHeaderRefused(R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})",
                     "and nothing else", "abcd");
  CheckHeaderRefused(R"({"w":{"dtype":"F32","dtype":"F16","shape":[],"data_offsets":[0,4]}})",
                     "\"dtype\" twice", "abcd");
  const std::string fine = R"({"dtype":"F32","shape":[],"data_offsets":[0,4]})";
  CheckHeaderRefused("{\"w\":" + fine + ",\"w\":" + fine + "}", "its header has \"w\" twice",
                     "abcd");
  CheckHeaderRefused(R"({"w":{"dtype":1,"shape":[],"data_offsets":[0,4]}})", "unknown dtype number",
                     "abcd");
  CheckHeaderRefused(HeaderOf("F31", "[]", "[0,4]"), "tensor \"w\" has the unknown dtype \"F31\"");
  for (const char* shape : {"1", "[-1]", "[1.5]", "[\"1\"]", "[{}]", "[9223372036854775808]"}) {
    CheckHeaderRefused(HeaderOf("F32", shape, "[0,4]"), "shape that is not a list", "abcd");
  }
  for (const char* offsets : {"4", "[4]", "[0,4,8]", "[-4,0]", "[0.0,4.0]", "[null,4]"}) {
    CheckHeaderRefused(HeaderOf("F32", "[1]", offsets), "not two whole numbers", "abcd");
  }
}

TEST(Safetensors, RefusesTensorsOutOfPlace) {
  CheckHeaderRefused(HeaderOf("F32", "[1]", "[4,0]"), "ends before it begins", "abcd");
  CheckHeaderRefused(HeaderOf("F32", "[2]", "[0,4]"),
                     "has 4 bytes, which is not what F32 [2] takes", "abcd");
  CheckHeaderRefused(HeaderOf("F32", "[4611686018427387904,4]", "[0,0]"), "which is not what F32");
  CheckHeaderRefused(HeaderOf("F32", "[1]", "[0,4]"), "beyond the file's end", "abc");
  CheckHeaderRefused(HeaderOf("F32", "[2305843009213693951]", "[0,9223372036854775804]"),
                     "beyond the file's end", "abc");
  CheckHeaderRefused(HeaderOf("F32", "[1]", "[0,4]"), "1 bytes at its end belong to no tensor",
                     "abcde");
  CheckHeaderRefused(HeaderOf("F32", "[1]", "[4,8]"), "tensor \"w\" leaves a gap", "abcdefgh");
  CheckHeaderRefused(R"({"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"F32","shape":[],"data_offsets":[3,7]}})",
                     "tensor \"b\" overlaps", "abcdefg");
}

TEST(Safetensors, KeepsHostileNamesOutOfItsSentences) {
  CheckHeaderRefused(R"({"a\nb\u001b[31m":1})", R"("a\nb\u001b[31m")");
  CheckHeaderRefused("{\"" + std::string(100000, 'n') + "\":1}", "nnn\"... is not described");
  std::string shape = "[1";
  for (int i = 0; i < 10000; ++i) shape += ",1";
  CheckHeaderRefused(HeaderOf("F32", shape + "]", "[0,8]"), "[1, 1, 1, 1, 1, 1, 1, 1, ...]",
                     "abcdefgh");
}

TEST(Safetensors, SurvivesRandomDamage) {
  const ScratchFolder scratch;
  const std::string path = scratch.Path("x");
  WriteSample(path);
  const std::string intact = ReadAll(path);
  const std::string alphabet = "{}[]\",:0123456789-.eE\\ abFI\xFF";
  Rng rng(31);
  int opened = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string changed = intact;
    const int64_t changes = rng.Between(1, 6);
    for (int64_t i = 0; i < changes; ++i) {
      const auto at = static_cast<size_t>(rng.Between(0, std::ssize(changed) - 1));
      const auto pick = static_cast<size_t>(rng.Between(0, std::ssize(alphabet) - 1));
      switch (rng.Between(0, 2)) {
        case 0:
          changed[at] = alphabet[pick];
          break;
        case 1:
          changed.erase(at, 1);
          break;
        default:
          changed.insert(at, 1, alphabet[pick]);
          break;
      }
    }
    if (rng.Between(0, 1) == 1) changed.replace(0, 8, BytesOf<uint64_t>(changed.size() - 8 - 44));
    WriteAll(path, changed);
    const Result<SafetensorsFile> file = SafetensorsFile::Open(path);
    if (!file.ok()) {
      CHECK(file.status().message().find('\n') == std::string::npos);
      continue;
    }
    ++opened;
    for (const SafetensorsEntry& entry : file->entries()) {
      std::vector<float> floats(entry.elements());
      const bool readable = entry.dtype == "F32" || entry.dtype == "F16" || entry.dtype == "BF16" ||
                            entry.dtype == "F64";
      CHECK_EQUAL(readable, file->Read(entry, floats).ok());
    }
  }
  CHECK(opened > 50);  // the damage reaches beyond the first check
}

}  // namespace weft::apps
