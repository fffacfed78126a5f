//! HTTP/1.1 requests as bytes.

use super::stage::{Stage, ask};

/// Request, and the answer that is expected of guard and gateway.
struct Case {
    /// Section of the RFC that decides.
    rfc: &'static str,
    /// Bytes of the request.
    request: &'static str,
    /// Expected status.
    status: u16,
    /// Lines that the service has to see.
    sees: &'static [&'static str],
    /// Text that the service must not see.
    lacks: &'static [&'static str],
}

const fn refused(rfc: &'static str, status: u16, request: &'static str) -> Case {
    passes(rfc, request, status, &[], &[])
}

const fn forwarded(
    rfc: &'static str,
    request: &'static str,
    sees: &'static [&'static str],
    lacks: &'static [&'static str],
) -> Case {
    passes(rfc, request, 200, sees, lacks)
}

const fn passes(
    rfc: &'static str,
    request: &'static str,
    status: u16,
    sees: &'static [&'static str],
    lacks: &'static [&'static str],
) -> Case {
    Case {
        rfc,
        request,
        status,
        sees,
        lacks,
    }
}

async fn check(cases: &[Case]) {
    let stage = Stage::mirror().await;
    let mut wrong = Vec::new();
    for (name, at) in stage.both() {
        for case in cases {
            let answer = ask(at, case.request.as_bytes()).await;
            let is_right = answer.status() == case.status
                && case.sees.iter().all(|line| answer.body.contains(line))
                && !case.lacks.iter().any(|text| answer.body.contains(text));
            if !is_right {
                wrong.push(format!(
                    "{name}, RFC {}: {:?} expected {}, found {answer:?}",
                    case.rfc, case.request, case.status
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_request_has_exactly_one_valid_host() {
    check(&[
        forwarded(
            "9112 3.2",
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            &["GET /\n", "host: a\n"],
            &[],
        ),
        forwarded(
            "9112 3.2",
            "GET / HTTP/1.1\r\nHost: a:80\r\n\r\n",
            &["host: a:80\n"],
            &[],
        ),
        forwarded(
            "9112 3.2",
            "GET / HTTP/1.1\r\nHost: a:\r\n\r\n",
            &["host: a:\n"],
            &[],
        ),
        forwarded(
            "9112 3.2",
            "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
            &["host: [::1]:80\n"],
            &[],
        ),
        forwarded(
            "9112 3.2",
            "GET / HTTP/1.1\r\nHost: a_b.c-d\r\n\r\n",
            &["host: a_b.c-d\n"],
            &[],
        ),
        // HTTP/1.0 needs no host.
        forwarded("9112 3.2", "GET / HTTP/1.0\r\n\r\n", &["GET /\n"], &[]),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\n\r\n"),
        refused(
            "9112 3.2",
            400,
            "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        ),
        refused(
            "9112 3.2",
            400,
            "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        ),
        refused(
            "9112 3.2",
            400,
            "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
        ),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a, b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a?b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a#b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: http://a\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: :80\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: a:80:80\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        refused("9112 3.2", 400, "GET / HTTP/1.1\r\nHost: \x7f\r\n\r\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_target_has_origin_form_or_absolute_form_and_the_host_of_the_target_counts() {
    check(&[
        forwarded(
            "9112 3.2.1",
            "GET /a?b=c HTTP/1.1\r\nHost: a\r\n\r\n",
            &["GET /a?b=c\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.1",
            "GET //a HTTP/1.1\r\nHost: a\r\n\r\n",
            &["GET //a\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.1",
            "GET /http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
            &["GET /http://b/\n", "host: a\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.2",
            "GET http://b/c HTTP/1.1\r\nHost: a\r\n\r\n",
            &["GET /c\n", "host: b\n"],
            &["host: a"],
        ),
        forwarded(
            "9112 3.2.2",
            "GET http://b:81/ HTTP/1.1\r\nHost: b\r\n\r\n",
            &["host: b:81\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.2",
            "GET https://b/ HTTP/1.1\r\nHost: b\r\n\r\n",
            &["host: b\n"],
            &[],
        ),
        forwarded(
            "9110 4.2.3",
            "GET http://b HTTP/1.1\r\nHost: b\r\n\r\n",
            &["GET /\n"],
            &[],
        ),
        forwarded(
            "9110 4.2.3",
            "GET http://b?c HTTP/1.1\r\nHost: b\r\n\r\n",
            &["GET /?c\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.4",
            "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
            &["OPTIONS *\n"],
            &[],
        ),
        forwarded(
            "9112 3.2.1",
            "OPTIONS /a HTTP/1.1\r\nHost: a\r\n\r\n",
            &["OPTIONS /a\n"],
            &[],
        ),
        // A request with an absolute target must still contain `Host`.
        refused("9112 3.2", 400, "GET http://b/ HTTP/1.1\r\n\r\n"),
        refused(
            "9112 3.2",
            400,
            "GET http://b/ HTTP/1.1\r\nHost: b\r\nHost: b\r\n\r\n",
        ),
        refused(
            "9110 4.2.4",
            400,
            "GET http://u@b/ HTTP/1.1\r\nHost: b\r\n\r\n",
        ),
        refused(
            "9110 4.2.4",
            400,
            "GET http://u:p@b/ HTTP/1.1\r\nHost: b\r\n\r\n",
        ),
        refused(
            "9110 4.2.1",
            400,
            "GET http:///a HTTP/1.1\r\nHost: a\r\n\r\n",
        ),
        refused("9110 7.1", 400, "GET ftp://b/ HTTP/1.1\r\nHost: b\r\n\r\n"),
        refused("9112 3.2.3", 400, "GET host:80 HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.2.3", 400, "GET echo HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused(
            "9112 3.2.3",
            400,
            "POST echo HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
        ),
        refused("9112 3.2.4", 400, "GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.2", 400, "GET ?a HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.2", 400, "GET  HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.2", 400, "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.2", 400, "GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3", 400, "GET /\r\nHost: a\r\n\r\n"),
        refused("9112 2.3", 400, "GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
        refused("9112 2.3", 400, "GET / HTTP/3.0\r\nHost: a\r\n\r\n"),
        refused("9112 2.3", 400, "GET / http/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.1", 400, "G@T / HTTP/1.1\r\nHost: a\r\n\r\n"),
        refused("9112 3.1", 400, "GE\tT / HTTP/1.1\r\nHost: a\r\n\r\n"),
        // Methods are case-sensitive, and unknown ones are forwarded.
        forwarded(
            "9110 9.1",
            "get / HTTP/1.1\r\nHost: a\r\n\r\n",
            &["get /\n"],
            &[],
        ),
        forwarded(
            "9110 9.1",
            "PURGE /a HTTP/1.1\r\nHost: a\r\n\r\n",
            &["PURGE /a\n"],
            &[],
        ),
    ])
    .await;
}

#[tokio::test]
async fn tunnels_and_upgrades_are_refused() {
    check(&[
        refused("9110 15.5.6", 405, "CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n"),
        refused("9110 15.5.6", 405, "CONNECT /a HTTP/1.1\r\nHost: a:1\r\n\r\n"),
        refused("9110 7.8", 501, "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
        refused("9110 7.8", 501, "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c, websocket\r\n\r\n"),
        forwarded(
            "9110 7.8",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: x\r\n\r\n",
            &["GET /\n"],
            &["upgrade", "http2-settings"],
        ),
    ])
    .await;
    let stage = Stage::mirror().await;
    for (_, at) in stage.both() {
        let answer = ask(at, b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n").await;
        // RFC 9110, section 15.5.6: the answer has the field `Allow`.
        assert!(answer.field("allow").is_some(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_body_has_one_length() {
    check(&[
        forwarded("9112 6.2", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy", &["body \"xy\"\n"], &[]),
        forwarded("9112 6.3", "POST / HTTP/1.1\r\nHost: a\r\n\r\n", &["body \"\"\n"], &[]),
        forwarded("9112 7.1", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n", &["body \"xy\"\n"], &[]),
        forwarded("9112 7.1.1", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n2;a=b\r\nxy\r\n0\r\n\r\n", &["body \"xy\"\n"], &["a=b"]),
        // The chunked coding overrides the length, and the length is not forwarded.
        forwarded("9112 6.3", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n", &["body \"xy\"\n"], &["content-length: 9"]),
        forwarded("9112 6.3", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n2\r\nxy\r\n0\r\n\r\n", &["body \"xy\"\n"], &["content-length: 9"]),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nxyz"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 3\r\n\r\nxyz"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\nxy"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -2\r\n\r\nxy"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\nxy"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2 2\r\n\r\nxy"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \r\n\r\nxy"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\nxy"),
        refused("9112 6.1", 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.1", 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.1", 501, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.3", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 6.1", 400, "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\n\r\n"),
    ])
    .await;
}

#[tokio::test]
async fn a_malformed_chunk_is_the_fault_of_the_client() {
    check(&[
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nxy\r\n0\r\n\r\n"),
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxyz\r\n0\r\n\r\n"),
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nxy\r\n0\r\n\r\n"),
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\nxy\r\n0\r\n\r\n"),
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nxy\r\n0\r\n\r\n"),
        refused("9112 7.1", 400, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nxy\r\n0\r\n\r\n"),
    ])
    .await;
}

#[tokio::test]
async fn fields_of_the_connection_stay_and_others_go_on() {
    check(&[
        forwarded(
            "9110 7.6.1",
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x-mine\r\nX-Mine: 1\r\nKeep-Alive: 5\r\nX-More: 2\r\n\r\n",
            &["x-more: 2\n"],
            &["x-mine", "keep-alive", "connection"],
        ),
        // `Connection` may not name fields that say where a request goes and how long it is.
        forwarded("9110 7.6.1", "GET / HTTP/1.1\r\nHost: a\r\nConnection: host\r\n\r\n", &["host: a\n"], &[]),
        forwarded(
            "9110 7.6.1",
            "POST / HTTP/1.1\r\nHost: a\r\nConnection: content-length\r\nContent-Length: 2\r\n\r\nxy",
            &["content-length: 2\n", "body \"xy\"\n"],
            &[],
        ),
        forwarded("9110 10.1.4", "GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: gzip\r\n\r\n", &[], &["te: "]),
        forwarded("9110 10.1.4", "GET / HTTP/1.1\r\nHost: a\r\nConnection: TE\r\nTE: trailers\r\n\r\n", &["te: trailers\n"], &[]),
        forwarded("9112 3.2", "GET / HTTP/1.1\r\nHost: a\r\nProxy-Connection: close\r\n\r\n", &[], &["proxy-connection"]),
        // The listener answers the expectation itself.
        forwarded("9110 10.1.1", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nxy", &["body \"xy\"\n"], &["expect"]),
        forwarded("9110 5.2", "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\nX-A: 2\r\n\r\n", &["x-a: 1\nx-a: 2\n"], &[]),
        forwarded("9112 5.1", "GET / HTTP/1.1\r\nHost: a\r\nX-A:1  \r\n\r\n", &["x-a: 1\n"], &[]),
        refused("9112 5.1", 400, "GET / HTTP/1.1\r\nHost: a\r\nX-A : 1\r\n\r\n"),
        refused("9112 5.2", 400, "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r\n 2\r\n\r\n"),
        refused("9112 2.2", 400, "GET / HTTP/1.1\r\n Host: a\r\n\r\n"),
        refused("9110 5.5", 400, "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\x002\r\n\r\n"),
        refused("9110 5.5", 400, "GET / HTTP/1.1\r\nHost: a\r\nX-A: 1\r2\r\n\r\n"),
        refused("9110 5.1", 400, "GET / HTTP/1.1\r\nHost: a\r\nX(A): 1\r\n\r\n"),
        refused("9110 5.1", 400, "GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n"),
        refused("9112 5", 400, "GET / HTTP/1.1\r\nHost: a\r\nX-A\r\n\r\n"),
        // Trailers that the field `Trailer` names are forwarded. Fields that frame or route a message are no trailers.
        forwarded("9110 6.5.1", "POST / HTTP/1.1\r\nHost: a\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\nX-Sum: 42\r\n\r\n", &["trailer x-sum: 42\n", "body \"xy\"\n"], &["content-length"]),
        forwarded("9110 6.5.1", "POST / HTTP/1.1\r\nHost: a\r\nTrailer: Host, Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nxy\r\n0\r\nHost: b\r\nContent-Length: 9\r\n\r\n", &["host: a\n", "body \"xy\"\n"], &["trailer host", "trailer content-length", "host: b"]),
        // Empty lines before a request are ignored.
        forwarded("9112 2.2", "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", &["GET /\n"], &[]),
    ])
    .await;
}
