// SPDX-License-Identifier: Apache-2.0
#include "apps/job/broker_flags.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <random>

namespace weft::apps {
namespace {

// All of `text` as a number from `least` to `most`.
bool ParseNumber(std::string_view text, int least, int most, int& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() && number >= least &&
         number <= most;
}

}  // namespace

void AddBrokerFlags(CLI::App& command, BrokerFlags& flags) {
  command.add_option("--broker", flags.broker, "HOST:PORT of the MQTT broker");
  command.add_option("--ca", flags.ca, "Who signed the broker's certificate; turns TLS on");
  command.add_option("--cert", flags.certificate, "This side's certificate, with --key");
  command.add_option("--key", flags.key, "The certificate's key");
}

Result<net::MqttSetting> BrokerSetting(const BrokerFlags& flags) {
  const size_t colon = flags.broker.rfind(':');
  net::MqttSetting setting{
      .ca_file = flags.ca, .certificate_file = flags.certificate, .key_file = flags.key};
  if (colon == std::string::npos || colon == 0 ||
      !ParseNumber(std::string_view(flags.broker).substr(colon + 1), 1, 65535, setting.port)) {
    return Status::InvalidInput("'" + flags.broker +
                                "' is not a broker's address; write HOST:PORT, such as "
                                "broker.example:8883");
  }
  setting.host = flags.broker.substr(0, colon);
  if (flags.ca.empty() && !(flags.certificate.empty() && flags.key.empty())) {
    return Status::InvalidInput("--cert and --key need --ca to know whom to trust");
  }
  return setting;
}

Result<Share> ParseShare(const std::string& text, const std::string& flag) {
  Share share;
  const size_t slash = text.find('/');
  if (slash == std::string::npos ||
      !ParseNumber(std::string_view(text).substr(slash + 1), 1, 65535, share.count) ||
      !ParseNumber(std::string_view(text).substr(0, slash), 0, share.count - 1, share.index)) {
    return Status::InvalidInput(flag + " '" + text +
                                "' is not INDEX/COUNT, such as 0/4 for the first of four");
  }
  return share;
}

uint64_t RandomNumber() {
  std::random_device device;
  const uint64_t number = (uint64_t{device()} << 32) | device();
  return number == 0 ? 1 : number;
}

}  // namespace weft::apps
