// SPDX-License-Identifier: Apache-2.0
// Finds out what a job is before joining it: asks its first server until one answers.
#pragma once

#include <atomic>
#include <string>

#include "apps/job/service_manager.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/status.h"
#include "net/message.h"
#include "net/transport.h"
#include "net/worker_session.h"

namespace weft::apps {

struct JobAnswer {
  net::Welcome job = {};
  net::ConnectionLimits limits = {};  // of the connection it came by
};

// The question, as a worker's Hello that does not join. `from` needs no epoch and no round.
net::Payload JobQuestion(const net::Header& from, const std::string& software);

// Waits for broker and server as long as it takes, telling `log` what it waits for and `manager`
// that it is alive. Unavailable: the server does not want us at present, or `stop` was set.
Result<JobAnswer> AskForJob(const net::WorkerSession::Setting& worker, net::Transport& transport,
                            const Clock& clock, const Logger& log, ServiceManager& manager,
                            const std::atomic<bool>& stop);

}  // namespace weft::apps
