// SPDX-License-Identifier: Apache-2.0
// How a function says that the outside world let it down: a code for programs and one sentence
// for people, naming what is wrong and what to do. Our own bugs are asserted instead.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weft {

enum class StatusCode {
  kOk,
  kInvalidInput,  // what was given cannot be used: a flag, a file's content, a message
  kNotFound,      // what was named does not exist
  kUnavailable,   // a tool, a file or a peer could not be used now; trying again may help
  kTaken,         // somebody else has it, or has taken it from us
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status Ok() { return Status(); }
  static Status InvalidInput(std::string sentence) {
    return Status(StatusCode::kInvalidInput, std::move(sentence));
  }
  static Status NotFound(std::string sentence) {
    return Status(StatusCode::kNotFound, std::move(sentence));
  }
  static Status Unavailable(std::string sentence) {
    return Status(StatusCode::kUnavailable, std::move(sentence));
  }
  static Status Taken(std::string sentence) {
    return Status(StatusCode::kTaken, std::move(sentence));
  }

  // Unavailable: what failed, and what errno says of it.
  static Status SystemFailure(std::string_view what);

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

  // The same failure, told from further out: "reading job.toml: " + message. Ok stays Ok.
  Status WithContext(std::string_view context) const;

 private:
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

// A value, or the Status that explains its absence. Asking for the value of a failure is a bug.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}        // NOLINT(google-explicit-constructor)
  Result(Status status) : state_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<Status>(state_).ok());
  }

  bool ok() const { return std::holds_alternative<T>(state_); }
  Status status() const { return ok() ? Status::Ok() : std::get<Status>(state_); }

  const T& value() const& { return Checked(state_); }
  T& value() & { return Checked(state_); }
  T&& value() && { return std::move(Checked(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  template <typename State>
  static auto& Checked(State& state) {
    assert(std::holds_alternative<T>(state));
    return *std::get_if<T>(&state);
  }

  std::variant<T, Status> state_;
};

}  // namespace weft
