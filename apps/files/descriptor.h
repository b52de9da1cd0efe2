// SPDX-License-Identifier: Apache-2.0
// An open file descriptor that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace weft::apps {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}  // below 0: none
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }

  bool open() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace weft::apps
