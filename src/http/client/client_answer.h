// Reads one answer out of a client's socket; the parser is Beast's. Private to src/http.
#pragma once

#include <memory>
#include <string>

#include "http/client/client.h"
#include "http/client/client_socket.h"

namespace glovebox::http {

class AnswerReader {
 public:
  // `on_chunk` and `on_head` may be null: see Client::stream.
  AnswerReader(ClientSocket& socket, Method method, std::size_t max_body,
               const Client::OnChunk* on_chunk, const Client::OnHead* on_head);
  ~AnswerReader();
  AnswerReader(const AnswerReader&) = delete;
  AnswerReader& operator=(const AnswerReader&) = delete;

  // `received` is what has been read of it before.
  Result<ClientResponse> read(std::string received = {});
  bool has_bytes() const;    // some of it came
  bool keeps_alive() const;  // the connection can be used again

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace glovebox::http
