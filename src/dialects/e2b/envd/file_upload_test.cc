// Uploads: each file whole or not at all, as a body or a form, compressed or not.
#include <gmock/gmock.h>
#include <zlib.h>

#include "dialects/e2b/testing/files_session.h"

namespace glovebox::e2b {
namespace {

using ::testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

TEST_F(E2bFiles, UploadsABody) {
  const http::Headers octets{{"Content-Type", "application/octet-stream"},
                             {"X-Metadata-Author", "me"},
                             {"x-metadata-b", ""}};
  const api::Answer answer = post(octets, "d/a.txt", "hello");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.body, R"([{"name":"a.txt","type":"file","path":"/home/user/d/a.txt",)"
                         R"("metadata":{"author":"me","b":""}}])");
  EXPECT_EQ(session->files["d/a.txt"], "hello");
  EXPECT_EQ(post(octets, "", "hello").status, 400);
  EXPECT_EQ(post({{"Content-Type", "text/plain"}}, "a", "hello").status, 400);
  const http::Headers long_one{{"Content-Type", "application/octet-stream"},
                               {"X-Metadata-k", std::string(4096, 'v')}};
  EXPECT_EQ(post(long_one, "a", "x").status, 400);
  const auto with_key = [&](std::size_t size) {
    const http::Headers headers{{"Content-Type", "application/octet-stream"},
                                {"X-Metadata-" + std::string(size, 'k'), "v"}};
    return post(headers, "d/a.txt", "hello").status;
  };
  EXPECT_EQ(with_key(246), 200);
  EXPECT_EQ(with_key(247), 400);
  EXPECT_EQ(with_key(0), 400);
  const http::Headers odd{{"Content-Type", "application/octet-stream"}, {"X-Metadata-k", "\xc3"}};
  EXPECT_EQ(post(odd, "a", "x").status, 400);
  EXPECT_EQ(session->files.size(), 1u);
}

TEST_F(E2bFiles, UnpacksGzip) {
  std::string large;
  for (int i = 0; i < 200'000; ++i) large += std::to_string(i);
  const http::Headers headers{{"Content-Type", "application/octet-stream"},
                              {"Content-Encoding", "gzip"}};
  const std::string packed = gzipped(large);
  ASSERT_EQ(post(headers, "a", packed, 5000).status, 200);
  EXPECT_EQ(session->files["a"], large);
  ASSERT_EQ(post(headers, "two", gzipped("one ") + gzipped("two"), 1).status, 200);
  EXPECT_EQ(session->files["two"], "one two");
  ASSERT_EQ(post(headers, "empty", gzipped(""), 3).status, 200);
  EXPECT_EQ(session->files["empty"], "");
  const std::string zeros(8'000'000, '\0');
  ASSERT_EQ(post(headers, "zeros", gzipped(zeros), 100'000).status, 200);
  EXPECT_TRUE(session->files["zeros"] == zeros);
  std::string damaged = packed;
  damaged[damaged.size() / 2] ^= 0x55;
  for (const std::string& bad :
       {std::string(), std::string("plain"), packed.substr(0, packed.size() - 1), damaged}) {
    EXPECT_EQ(post(headers, "bad", bad).status, 400);
  }
  EXPECT_FALSE(session->files.contains("bad")) << "half a file is none";
  EXPECT_EQ(
      post({{"Content-Type", "application/octet-stream"}, {"Content-Encoding", "br"}}, "a", "")
          .status,
      400);
}

std::string form_part(const std::string& parameters, const std::string& content) {
  return "--xyz\r\nContent-Disposition: form-data; " + parameters + "\r\n\r\n" + content + "\r\n";
}

TEST_F(E2bFiles, UploadsAForm) {
  const http::Headers form{{"Content-Type", "multipart/form-data; boundary=xyz"}};
  const std::string two = form_part("name=\"file\"; filename=\"/tmp/a\"", "one") +
                          form_part("name=\"note\"", "ignored") +
                          form_part("name=\"file\"; filename=\"d/b\"", std::string(300'000, 'b')) +
                          "--xyz--\r\n";
  const api::Answer answer = post(form, "", two);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(session->files["/tmp/a"], "one");
  EXPECT_EQ(session->files["d/b"].size(), 300'000u);
  const json::array files = json::parse(answer.body).as_array();
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].at("path").as_string(), "/home/user/d/b");
  session->files.clear();
  // The query's path is the one file's.
  const std::string one = form_part("name=file; filename=x", "y") + "--xyz--";
  EXPECT_EQ(post(form, "/q", one).status, 200);
  EXPECT_EQ(session->files["/q"], "y");
}

TEST_F(E2bFiles, AFormThatIsWrongIsRefused) {
  const http::Headers form{{"Content-Type", "multipart/form-data; boundary=xyz"}};
  const std::string file = form_part("name=file; filename=a", "1");
  const api::Answer twice =
      post(form, "", file + form_part("name=file; filename=/home/user/./a", "2") + "--xyz--");
  EXPECT_EQ(twice.status, 400) << twice.body;
  EXPECT_THAT(twice.body, HasSubstr("same path"));
  EXPECT_EQ(session->files["a"], "1") << "the second is not written";
  session->files.clear();
  EXPECT_EQ(post(form, "/q", file + file + "--xyz--").status, 400);
  const std::string back = form_part("name=file; filename=/t/x/../a", "1") +
                           form_part("name=file; filename=/t/a", "2") + "--xyz--";
  EXPECT_EQ(post(form, "", back).status, 400);
  session->files.clear();
  EXPECT_EQ(post(form, "", file.substr(0, file.size() - 4)).status, 400);
  EXPECT_TRUE(session->files.empty()) << "half a file is none";
  EXPECT_EQ(post(form, "", "--xyz--").status, 400);
  EXPECT_EQ(post(form, "", form_part("name=file", "1") + "--xyz--").status, 400);
  EXPECT_EQ(post(form, "", "nonsense").status, 400);
  EXPECT_EQ(
      post(form, "", form_part("name=n", std::string(2'000'000, 'x')) + file + "--xyz--", 50'000)
          .status,
      400);
  // What follows the form has no meaning, and is not read without end.
  EXPECT_EQ(post(form, "", file + "--xyz--" + std::string(1'000'000, 'x'), 50'000).status, 200);
  session->files.clear();
  const api::Answer endless =
      post(form, "", file + "--xyz--" + std::string(2'000'000, 'x'), 50'000);
  EXPECT_EQ(endless.status, 400);
  EXPECT_THAT(endless.body, HasSubstr("too much data after the form"));
  session->refuse = [](const FileRequest&) { return ENOSPC; };
  EXPECT_EQ(post(form, "", file + "--xyz--").status, 507);
}

}  // namespace
}  // namespace glovebox::e2b
