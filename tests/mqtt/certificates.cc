// SPDX-License-Identifier: Apache-2.0
#include "tests/mqtt/certificates.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/mqtt/program.h"

namespace weft::net {

namespace {

void OpenSsl(std::vector<std::string> words) {
  words.insert(words.begin(), FindProgram("openssl"));
  if (RunProgram(words)) return;
  for (const std::string& word : words) std::fprintf(stderr, "%s ", word.c_str());
  std::fprintf(stderr, "\nfailed\n");
  std::abort();
}

// Keys on an elliptic curve are made at once.
const std::vector<std::string> kNewKey = {
    "req", "-new", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"};

std::vector<std::string> With(std::vector<std::string> words,
                              const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

void Certificates::MakeAuthority(const std::string& name) const {
  OpenSsl(With(kNewKey, {"-x509", "-subj", "/CN=" + name, "-days", "2", "-keyout", Key(name),
                         "-out", Certificate(name)}));
}

void Certificates::Sign(const std::string& name, const std::string& authority,
                        const std::string& extensions) const {
  const std::string request = folder_.Path(name + ".csr");
  const std::string extension_file = folder_.Path(name + ".ext");
  apps::WriteAll(extension_file, extensions);
  OpenSsl(With(kNewKey, {"-subj", "/CN=" + name, "-keyout", Key(name), "-out", request}));
  OpenSsl({"x509", "-req", "-in", request, "-CA", Certificate(authority), "-CAkey", Key(authority),
           "-CAcreateserial", "-days", "2", "-extfile", extension_file, "-out", Certificate(name)});
}

void Certificates::MakeServer(const std::string& name, const std::string& authority,
                              const std::string& hosts) const {
  Sign(name, authority, "subjectAltName = " + hosts + "\n");
}

void Certificates::MakeDevice(const std::string& name, const std::string& authority) const {
  Sign(name, authority, "extendedKeyUsage = clientAuth\n");
}

}  // namespace weft::net
