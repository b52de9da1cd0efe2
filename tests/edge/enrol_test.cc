// SPDX-License-Identifier: Apache-2.0
// `weft-edge enrol`: a bundle's files land where they should, and what is no bundle leaves nothing.
#include <sys/stat.h>

#include <filesystem>

#include "apps/enrolment/device_bundle.h"
#include "apps/enrolment/ustar.h"
#include "core/rng.h"
#include "tests/edge/typed_edge.h"

#include <CppUTest/TestHarness.h>

namespace weft::apps {
namespace {

const DeviceBundle kBundle{
    .config =
        "broker = \"b:8883\"\nca = \"/etc/weft/ca.crt\"\ncert = \"/etc/weft/device.crt\"\n"
        "key = \"/etc/weft/device.key\"\njob = \"j\"\nworker = \"pi1\"\n",
    .authority = "the authority\n",
    .certificate = "the certificate\n",
    .key = "the key\n"};

std::vector<TarFile> Files() {
  return {{kConfigName, kBundle.config},
          {kAuthorityName, kBundle.authority},
          {kCertificateName, kBundle.certificate},
          {kKeyName, kBundle.key}};
}

// The header of the first file changed at `at`, with a checksum that fits again.
std::string Changed(size_t at, const std::string& bytes) {
  std::string archive = WriteUstar(Files(), 0);
  archive.replace(at, bytes.size(), bytes);
  archive.replace(148, 8, "        ");
  unsigned sum = 0;
  for (size_t i = 0; i < 512; ++i) sum += static_cast<unsigned char>(archive[i]);
  char text[16];
  std::snprintf(text, sizeof(text), "%06o", sum);
  archive.replace(148, 8, std::string(text) + std::string("\0 ", 2));
  return archive;
}

}  // namespace

TEST_GROUP(Enrol) {
  const EdgeFolder edge;
  const std::string bundle = edge.Path("pi1.tar");
  const std::string into = edge.Path("etc/weft");

  EdgeAnswer EnrolWith(const std::string& archive) const {
    WriteAll(bundle, archive);
    return EdgeFolder::Type({"enrol", bundle, "--into", into});
  }

  void CheckRefused(const std::string& archive, const char* words) const {
    const EdgeAnswer answer = EnrolWith(archive);
    CHECK_EQUAL(2, answer.exit_code);
    CHECK(answer.OneLineOnErr());
    STRCMP_CONTAINS(words, answer.err.c_str());
    CHECK_FALSE(std::filesystem::exists(into));
  }
};

TEST(Enrol, TheFilesLandWhereTheConfigurationPoints) {
  const EdgeAnswer answer = EnrolWith(PackBundle(kBundle, 1'700'000'000));
  CHECK_EQUAL(0, answer.exit_code);
  STRCMP_CONTAINS("weft-edge doctor", answer.out.c_str());
  STRCMP_CONTAINS("systemctl enable --now weft-edge", answer.out.c_str());
  STRCMP_CONTAINS("data = \"KIND:PATH\"", answer.out.c_str());  // nobody has said it yet
  STRCMP_EQUAL("the key\n", ReadAll(into + "/device.key").c_str());
  STRCMP_EQUAL("the certificate\n", ReadAll(into + "/device.crt").c_str());
  STRCMP_EQUAL("the authority\n", ReadAll(into + "/ca.crt").c_str());
  const std::string config = ReadAll(into + "/edge.toml");
  STRCMP_CONTAINS(("ca = \"" + into + "/ca.crt\"\n").c_str(), config.c_str());
  STRCMP_CONTAINS(("key = \"" + into + "/device.key\"\n").c_str(), config.c_str());
  STRCMP_CONTAINS("worker = \"pi1\"\n", config.c_str());
  for (const char* name : {"edge.toml", "ca.crt", "device.crt", "device.key"}) {
    struct stat facts {};
    CHECK_EQUAL(0, stat((into + "/" + name).c_str(), &facts));
    CHECK_EQUAL(0600, facts.st_mode & 07777);
  }
}

TEST(Enrol, AnEarlierConfigurationIsKeptAside) {
  std::filesystem::create_directories(into);
  WriteAll(into + "/edge.toml", "data = \"mine\"\n");
  CHECK_EQUAL(0, EnrolWith(PackBundle(kBundle, 0)).exit_code);
  STRCMP_EQUAL("data = \"mine\"\n", ReadAll(into + "/edge.toml.old").c_str());
  // Once more changes nothing.
  CHECK_EQUAL(0, EnrolWith(PackBundle(kBundle, 0)).exit_code);
  STRCMP_EQUAL("data = \"mine\"\n", ReadAll(into + "/edge.toml.old").c_str());
}

TEST(Enrol, AFileThatIsALinkElsewhereIsReplacedAndNotFollowed) {
  std::filesystem::create_directories(into);
  WriteAll(edge.Path("precious"), "precious");
  std::filesystem::create_symlink(edge.Path("precious"), into + "/device.key");
  CHECK_EQUAL(0, EnrolWith(PackBundle(kBundle, 0)).exit_code);
  STRCMP_EQUAL("precious", ReadAll(edge.Path("precious")).c_str());
  STRCMP_EQUAL("the key\n", ReadAll(into + "/device.key").c_str());
}

TEST(Enrol, OtherThanTheFourFilesOnceEachIsRefused) {
  std::vector<TarFile> files = Files();
  files.push_back({"extra", "x"});
  CheckRefused(WriteUstar(files, 0), "no part of a bundle");
  files = Files();
  files.push_back(files[3]);
  CheckRefused(WriteUstar(files, 0), "there twice");
  files = Files();
  files.pop_back();
  CheckRefused(WriteUstar(files, 0), "it holds no device.key");
  files = Files();
  files[3].content = "";
  CheckRefused(WriteUstar(files, 0), "is empty");
  files = Files();
  files[0].content = "broker = \"b\"\n";
  CheckRefused(WriteUstar(files, 0), "is not one that `weft cluster add` wrote");
  files = Files();
  files[3].content = std::string((64 << 10) + 1, 'k');
  CheckRefused(WriteUstar(files, 0), "more than 65536 bytes");
}

TEST(Enrol, HostileArchivesAreRefused) {
  CheckRefused(Changed(0, "../../etc/passwd"), "in a folder");
  CheckRefused(Changed(0, "/etc/passwd"), "in a folder");
  CheckRefused(Changed(0, "./edge.toml"), "in a folder");
  CheckRefused(Changed(0, std::string(100, 'x')), "without a proper name");
  CheckRefused(Changed(0, std::string(9, '\0')), "without a proper name");
  CheckRefused(Changed(345, "etc"), "in a folder");  // the name's prefix
  for (const char* kind : {"1", "2", "3", "4", "5", "6", "7", "x", "g", "L", "S"}) {
    CheckRefused(Changed(156, kind), "other than plain files");  // links, devices, folders …
  }
  CheckRefused(Changed(157, "/etc/passwd"), "other than plain files");
  CheckRefused(Changed(257, "ustar  "), "not in the ustar format");
  CheckRefused(Changed(124, "77777777777"), "more than 65536 bytes");
  CheckRefused(Changed(124, "-0000000001"), "damaged");
  CheckRefused(Changed(124, std::string("\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", 12)),
               "damaged");  // a size in binary, as GNU's tar has it
  CheckRefused("", "cut off");
  CheckRefused("no archive at all", "cut off");
  CheckRefused(std::string(10'240, 'x'), "damaged");
  CheckRefused(std::string(10'240, '\0'), "it holds no edge.toml");
  CheckRefused(WriteUstar(Files(), 0) + "more", "behind its end");
  CheckRefused(std::string((1 << 20) + 1, '\0'), "more than");
  EdgeAnswer answer = EdgeFolder::Type({"enrol", edge.Path("nothing.tar"), "--into", into});
  CHECK_EQUAL(2, answer.exit_code);
  CHECK(answer.OneLineOnErr());
}

TEST(Enrol, AnArchiveThatIsCutOffAnywhereIsRefused) {
  const std::string archive = WriteUstar(Files(), 0);
  const size_t end = archive.find_last_not_of('\0') + 1;
  for (size_t size = 0; size < end; size += 37) {
    CHECK_FALSE(UnpackBundle(archive.substr(0, size)).ok());
  }
}

TEST(Enrol, NoByteOfAHeaderCanBeChangedUnseen) {
  const std::string archive = WriteUstar(Files(), 0);
  for (size_t at = 0; at < 512; ++at) {
    std::string changed = archive;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    CHECK_FALSE(UnpackBundle(changed).ok());
  }
  // Whatever else comes, it is an answer and no crash.
  Rng rng(3);
  for (int i = 0; i < 2'000; ++i) {
    std::string changed = archive;
    for (int n = 0; n < 4; ++n) {
      changed[static_cast<size_t>(rng.Between(0, static_cast<int64_t>(changed.size()) - 1))] =
          static_cast<char>(rng.Between(0, 255));
    }
    (void)UnpackBundle(changed).ok();
  }
}

TEST(Enrol, AFolderThatCannotBeMadeIsToldOf) {
  WriteAll(edge.Path("file"), "");
  WriteAll(bundle, PackBundle(kBundle, 0));
  const EdgeAnswer answer = EdgeFolder::Type({"enrol", bundle, "--into", edge.Path("file/weft")});
  CHECK_EQUAL(1, answer.exit_code);
  CHECK(answer.OneLineOnErr());
}

}  // namespace weft::apps
