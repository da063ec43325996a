#include "net/http_parse.h"

#include <gtest/gtest.h>

namespace atl::net {
namespace {

struct Parsed {
  std::optional<Refusal> refusal;
  Request request;
  HeadFacts facts;
};

Parsed parse(std::string_view head, HeadLimits limits = {}) {
  Parsed parsed;
  parsed.refusal = parse_request_head(head, limits, parsed.request, parsed.facts);
  return parsed;
}

int status_of(std::string_view head, HeadLimits limits = {}) {
  const Parsed parsed = parse(head, limits);
  return parsed.refusal ? parsed.refusal->status : 200;
}

TEST(RequestHead, IsTakenApart) {
  const Parsed parsed =
      parse("POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length:  12 \r\nX:\r\n\r\n");

  ASSERT_FALSE(parsed.refusal.has_value());
  EXPECT_EQ(parsed.request.method, Method::post);
  EXPECT_EQ(parsed.request.path, "/a");
  EXPECT_EQ(parsed.request.headers.get("x"), "");
  EXPECT_EQ(parsed.facts.framing, Framing::sized);
  EXPECT_EQ(parsed.facts.size, 12u);
  EXPECT_TRUE(parsed.facts.keep_alive);
}

TEST(RequestHead, KnowsWhoStaysOpen) {
  EXPECT_TRUE(parse("GET / HTTP/1.1\r\nHost: h\r\n\r\n").facts.keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n").facts.keep_alive);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\n\r\n").facts.keep_alive);
  EXPECT_TRUE(parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n").facts.keep_alive);
}

TEST(RequestHead, RefusesWhatIsMalformed) {
  for (const std::string_view bad : {
           "GET /\r\n\r\n",
           "GET  HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1 \r\nHost: h\r\n\r\n",
           "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET /\x01 HTTP/1.1\r\nHost: h\r\n\r\n",
           "G(T / HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / HTTP/1.1\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\n: empty\r\n\r\n",
           "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n folded\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n",
           "GET / HTTP/1.1\r\nHost: h\r\nX: a\nY: b\r\n\r\n",
           "GET / HTTP/1.1\nHost: h\r\n\r\n",
           "GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n",
           "GET / XTTP/1.1\r\nHost: h\r\n\r\n",
       }) {
    EXPECT_EQ(status_of(bad), 400) << bad;
  }
}

TEST(RequestHead, RefusesWhatTwoParsersCouldReadDifferently) {
  const std::string start = "POST / HTTP/1.1\r\nHost: h\r\n";
  for (const std::string_view fields : {
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nContent-Length: 6\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n",
           "Content-Length: 5, 5\r\n",
           "Content-Length: +5\r\n",
           "Content-Length: 0x5\r\n",
           "Content-Length: \r\n",
           "Content-Length: 9999999999999999999999\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding : chunked\r\n",
           "Transfer-Encoding: chunked\n\r\n",
       }) {
    EXPECT_EQ(status_of(start + std::string(fields) + "\r\n"), 400) << fields;
  }
  EXPECT_EQ(status_of(start + "Transfer-Encoding: gzip, chunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of(start + "Transfer-Encoding: xchunked\r\n\r\n"), 501);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestHead, HasAStatusForEachLimit) {
  const HeadLimits limits{.bytes = 1000, .count = 2, .target = 10};

  EXPECT_EQ(status_of("GET /12345678 HTTP/1.1\r\nHost: h\r\n\r\n", limits), 200);
  EXPECT_EQ(status_of("GET /1234567890 HTTP/1.1\r\nHost: h\r\n\r\n", limits), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nA: 1\r\nB: 2\r\n\r\n", limits), 431);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: h\r\n\r\n", limits), 505);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: h\r\nExpect: magic\r\n\r\n", limits), 417);
  EXPECT_EQ(status_of("CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", limits), 501);
}

TEST(HeadEnd, IsFoundAcrossReads) {
  const std::string_view bytes = "GET / HTTP/1.1\r\n\r\nrest";

  for (size_t scanned = 0; scanned <= 17; ++scanned) {
    EXPECT_EQ(find_head_end(bytes, scanned), 18u) << scanned;
  }
  EXPECT_EQ(find_head_end("GET / HTTP/1.1\r\n\r", 0), std::string_view::npos);
}

Result<std::string> decode(std::string_view wire, size_t step, Framing framing, uint64_t size = 0) {
  BodyDecoder decoder;
  decoder.start(framing, size);
  std::string body;
  while (!decoder.done()) {
    char out[7];
    const auto moved = decoder.decode(wire.substr(0, step), out, sizeof out);
    if (!moved) return moved.error();
    body.append(out, moved->produced);
    wire.remove_prefix(moved->consumed);
    if (wire.empty() && !decoder.done()) {
      TRY_OK(decoder.end_of_stream());
    }
  }
  return body + "|" + std::string(wire);
}

TEST(ChunkedBody, IsTheSameHoweverItArrives) {
  const std::string_view wire =
      "4\r\nWiki\r\n6;ext=\"x\"\r\npedia \r\nE\r\nin \r\n\r\nchunks.\r\n0\r\nT: v\r\n\r\nnext";

  for (size_t step = 1; step <= wire.size(); ++step) {
    EXPECT_EQ(decode(wire, step, Framing::chunked).value(), "Wikipedia in \r\n\r\nchunks.|next")
        << step;
  }
}

TEST(ChunkedBody, RefusesWhatIsMalformed) {
  for (const std::string_view bad : {
           "x\r\n",
           "\r\n",
           " 4\r\nWiki\r\n0\r\n\r\n",
           "-4\r\nWiki\r\n",
           "4\nWiki\r\n0\r\n\r\n",
           "4\r\nWiki0\r\n\r\n",
           "4\r\nWikipedia\r\n",
           "4\r\nWiki\n0\r\n\r\n",
           "4;a\nb\r\nWiki\r\n",
           "fffffffffffffffff\r\n",
           "ffffffffffffffff\r\n",
           "00000000000000000000004\r\nWiki\r\n0\r\n\r\n",
           "0\r\n folded\r\n\r\n",
           "0\r\n\n",
       }) {
    const auto body = decode(bad, 100, Framing::chunked);
    ASSERT_FALSE(body.has_value()) << bad;
    EXPECT_EQ(body.error().code(), Code::invalid_argument) << bad;
  }
}

TEST(ChunkedBody, BoundsExtensionsAndTrailers) {
  EXPECT_FALSE(decode("1;" + std::string(1'000, 'e') + "\r\nx\r\n0\r\n\r\n", 9, Framing::chunked));
  std::string trailers = "0\r\n";
  for (int i = 0; i < 10'000; ++i) trailers += "a\r\n";
  EXPECT_FALSE(decode(trailers + "\r\n", 9, Framing::chunked));
}

TEST(SizedBody, EndsWhereItSaid) {
  EXPECT_EQ(decode("hello world", 3, Framing::sized, 5).value(), "hello| world");
  EXPECT_EQ(decode("hel", 3, Framing::sized, 5).error().code(), Code::unavailable);
}

TEST(BodyUntilClose, EndsWithTheStream) {
  EXPECT_EQ(decode("hello world", 3, Framing::until_close).value(), "hello world|");
}

TEST(ResponseHead, FramesByMethodAndStatus) {
  const auto framing = [](std::string_view head, Method asked) {
    int status = 0;
    Headers headers;
    HeadFacts facts;
    EXPECT_TRUE(parse_response_head(head, {}, asked, status, headers, facts).has_value()) << head;
    return facts.framing;
  };

  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", Method::get), Framing::sized);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", Method::head), Framing::none);
  EXPECT_EQ(framing("HTTP/1.1 204\r\nContent-Length: 3\r\n\r\n", Method::get), Framing::none);
  EXPECT_EQ(framing("HTTP/1.0 200 OK\r\n\r\n", Method::get), Framing::until_close);
  EXPECT_EQ(framing("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", Method::get),
            Framing::chunked);
}

TEST(ResponseHead, RefusesWhatIsMalformed) {
  for (const std::string_view bad : {
           "HTTP/1.1 20 OK\r\n\r\n",
           "HTTP/1.1 abc OK\r\n\r\n",
           "HTTP/1.1 099 OK\r\n\r\n",
           "HTTP/1.1 2000\r\n\r\n",
           "HTTP/2 200\r\n\r\n",
           "SSH-2.0-x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       }) {
    int status = 0;
    Headers headers;
    HeadFacts facts;
    EXPECT_FALSE(parse_response_head(bad, {}, Method::get, status, headers, facts)) << bad;
  }
}

}  // namespace
}  // namespace atl::net
