// SPDX-License-Identifier: Apache-2.0
// Certificates made for one test by the openssl program: authorities, a broker for 127.0.0.1, and
// devices.
#pragma once

#include <string>

#include "tests/files/scratch_folder.h"

namespace weft::net {

class Certificates {
 public:
  // Aborts if openssl is not there, or will not.
  void MakeAuthority(const std::string& name) const;
  // For a broker under these names, as in "IP:127.0.0.1, DNS:localhost".
  void MakeServer(const std::string& name, const std::string& authority,
                  const std::string& hosts) const;
  // For the device called `name`.
  void MakeDevice(const std::string& name, const std::string& authority) const;

  std::string Certificate(const std::string& name) const { return folder_.Path(name + ".crt"); }
  std::string Key(const std::string& name) const { return folder_.Path(name + ".key"); }

 private:
  void Sign(const std::string& name, const std::string& authority,
            const std::string& extensions) const;

  apps::ScratchFolder folder_;
};

}  // namespace weft::net
