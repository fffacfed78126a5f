//! Tests of downloads in ranges from two replicas, one of which has a fault.
//! Either the bytes are correct, or an error contains the reason.

mod origin;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use origin::{Origin, Trouble};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sha2::{Digest, Sha256};
use std::io::Cursor;
use std::time::Duration;
use tailcut_rans::client::{Client, ClientConfig, Purges, Replica};
use tailcut_rans::ranges::{Fault, Ranges, RangesConfig, RangesError, Verify};
use tower_service::Service;

const PIECE: usize = 5_000;
const OBJECT: usize = 200_123;

const CONFIG: RangesConfig = RangesConfig {
    copies: 2,
    piece: PIECE as u64,
    window: 40_000,
    low_priority: true,
    verify: Verify::Offered,
    stall: Duration::from_secs(2),
    retries: 2,
    pause: Duration::from_millis(10),
    longest: None,
};

fn bytes(length: usize) -> Bytes {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    let mut bytes = vec![0; length];
    random.fill_bytes(&mut bytes);
    bytes.into()
}

fn ranges(origins: &[Origin], config: RangesConfig, seed: u64) -> Ranges<Origin> {
    let replica = |origin: &Origin| Replica {
        primary: origin.clone(),
        copy: origin.clone(),
        purges: Purges::Yes,
    };
    let replicas = origins.iter().map(replica).collect();
    let client = Client::new(replicas, ClientConfig::default(), seed).expect("a client");
    Ranges::new(client, config).expect("a configuration")
}

fn get() -> Request<Empty<Bytes>> {
    let request = Request::get("http://service/object").header("host", "service");
    request.body(Empty::new()).expect("a request")
}

/// Reads the object in order through a body.
async fn read(ranges: &mut Ranges<Origin>) -> Result<Bytes, RangesError> {
    let answer = ranges.call(get()).await?;
    if answer.status() != StatusCode::OK {
        return Err(RangesError::Status(answer.status()));
    }
    let length = answer.headers().get("content-length").cloned();
    let bytes = answer.into_body().collect().await?.to_bytes();
    if let Some(length) = length {
        assert_eq!(length, bytes.len().to_string());
    }
    Ok(bytes)
}

/// Downloads the object to a sink, which may receive parts out of order.
async fn download(ranges: &Ranges<Origin>) -> Result<Bytes, RangesError> {
    let mut place = Cursor::new(Vec::new());
    ranges.download(get(), &mut place).await?;
    Ok(place.into_inner().into())
}

fn same(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one) == Sha256::digest(other)
}

#[tokio::test(start_paused = true)]
async fn an_object_comes_from_both_ends_each_byte_once() {
    let object = bytes(OBJECT);
    for is_http2 in [false, true] {
        let origins = [(); 2].map(|()| Origin::new(&object, is_http2, Trouble::None));
        let mut ranges = ranges(&origins, CONFIG, 1);
        assert!(same(&read(&mut ranges).await.expect("an object"), &object));
        assert!(same(&download(&ranges).await.expect("an object"), &object));
        let counts = ranges.counts();
        assert_eq!((counts.objects, counts.whole, counts.given_up), (2, 0, 0));
        assert_eq!((counts.bytes, counts.extra), (2 * OBJECT as u64, 0));
        let [one, other] = origins.each_ref().map(Origin::sent);
        assert!(one > OBJECT / 2 && other > OBJECT / 2, "{one} {other}");
        for received in origins.iter().flat_map(Origin::requests) {
            let is_opening = received.range.expect("one") == "bytes=0-4999";
            assert!(received.if_match || is_opening);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_copy_has_a_lower_class_until_it_is_alone() {
    let object = bytes(OBJECT);
    let origins = [Trouble::Replaced(3), Trouble::None];
    let origins = origins.map(|trouble| Origin::new(&object, true, trouble));
    for seed in 0..6 {
        origins
            .iter()
            .for_each(|origin| origin.requests.lock().expect("a lock").clear());
        let mut ranges = ranges(&origins, CONFIG, seed);
        assert!(same(&read(&mut ranges).await.expect("an object"), &object));
        let last = origins[1].requests().last().cloned().expect("was asked");
        assert_eq!(last.priority, None, "{seed}");
        let low = origins.iter().flat_map(Origin::requests);
        assert!(low.filter(|received| received.priority.is_some()).count() > 0);
    }
}

#[tokio::test(start_paused = true)]
async fn objects_of_any_size_come_whole() {
    let sizes = [
        0,
        1,
        PIECE - 1,
        PIECE,
        PIECE + 1,
        2 * PIECE,
        2 * PIECE + 1,
        40_001,
    ];
    for length in sizes {
        let object = bytes(length);
        for is_http2 in [false, true] {
            let origins = [(); 2].map(|()| Origin::new(&object, is_http2, Trouble::None));
            let mut ranges = ranges(&origins, CONFIG, 3);
            let read = read(&mut ranges).await.expect("an object");
            assert!(same(&read, &object), "{length}");
            let download = download(&ranges).await.expect("an object");
            assert!(same(&download, &object), "{length}");
        }
    }
}

/// Returns all faults. In a test, one of two replicas has a fault, and the other one works.
fn troubles() -> Vec<Trouble> {
    use Trouble as T;
    let twice = b"HTTP/1.1 206 Partial Content\r\netag: \"one\"\r\ncontent-range: bytes 0-4/200123\r\n\
        content-length: 5\r\n\r\nhelloHTTP/1.1 206 Partial Content\r\ncontent-length: 5\r\n\r\nhello";
    let many_fields = [
        "HTTP/1.1 206 Partial Content\r\n",
        &"a: b\r\n".repeat(1_000),
        "\r\n",
    ];
    let long_field = ["HTTP/1.1 200 OK\r\nx: ", &"y".repeat(1 << 20), "\r\n\r\n"];
    vec![
        T::None,
        T::Late(Duration::from_millis(50)),
        T::Late(Duration::from_secs(60)),
        T::NeverAnswers,
        T::Resets(0),
        T::Resets(1_500),
        T::Stalls(0),
        T::Stalls(1_500),
        T::Short(0),
        T::Short(1_500),
        T::Long(1),
        T::Long(10_000),
        T::Compresses,
        T::Says("bytes 0-4999/*"),
        T::Says("bytes 100-5099/200123"),
        T::Says("bytes 0-4999/300000"),
        T::Says("pages 1-2/3"),
        T::Status(403),
        T::Status(404),
        T::Status(500),
        T::Status(503),
        T::Replaced(2),
        T::Replaced(5),
        T::Flips,
        T::Raw(twice.to_vec()),
        T::Raw(many_fields.concat().into_bytes()),
        T::Raw(long_field.concat().into_bytes()),
        T::Raw(b"what?\r\n\r\n".to_vec()),
        T::Raw(vec![]),
    ]
}

#[tokio::test(start_paused = true)]
async fn whatever_one_replica_does_the_bytes_are_right_or_there_is_an_error() {
    let object = bytes(OBJECT);
    let replaced: Bytes = object.iter().map(|byte| byte ^ 0x55).collect();
    let (mut right, mut of) = (0, 0);
    for trouble in troubles() {
        for is_http2 in [false, true] {
            for seed in 0..4 {
                let mut origins = [trouble.clone(), Trouble::None]
                    .map(|trouble| Origin::new(&object, is_http2, trouble));
                origins.iter_mut().for_each(|origin| origin.digests = true);
                let mut ranges = ranges(&origins, CONFIG, seed);
                for got in [read(&mut ranges).await, download(&ranges).await] {
                    of += 1;
                    match got {
                        Ok(got) => {
                            let is_one = same(&got, &object) || same(&got, &replaced);
                            assert!(is_one, "{trouble:?} {seed}");
                            right += 1;
                        }
                        Err(error) => {
                            // An error is also allowed. The first replica was trusted, as with a single server.
                            println!("{trouble:?} {seed}: {error}");
                            let text = error.to_string();
                            assert!(!text.contains('\n') && !text.is_empty());
                        }
                    }
                }
            }
        }
    }
    println!("{right} of {of}");
}

fn two(object: &Bytes, is_http2: bool, troubles: [Trouble; 2]) -> [Origin; 2] {
    troubles.map(|trouble| Origin::new(object, is_http2, trouble))
}

#[tokio::test(start_paused = true)]
async fn answers_that_cannot_be_put_together_come_from_one_replica() {
    let object = bytes(OBJECT);
    for trouble in [
        Trouble::Weak,
        Trouble::NoTag,
        Trouble::IgnoresRanges,
        Trouble::Compresses,
    ] {
        for seed in 0..4 {
            let origins = two(&object, true, [trouble.clone(), trouble.clone()]);
            let mut ranges = ranges(&origins, CONFIG, seed);
            let read = read(&mut ranges).await.expect("an object");
            assert!(same(&read, &object), "{trouble:?}");
            let counts = ranges.counts();
            assert_eq!((counts.whole, counts.objects), (1, 0));
            // The tags are weak, so the client uses only the first replica. It never mixes two different objects.
            let other = Trouble::OtherBytes;
            let origins = two(&object, true, [Trouble::Weak, other]);
            let mut ranges = self::ranges(&origins, CONFIG, seed);
            let read = self::read(&mut ranges).await.expect("an object");
            let changed: Bytes = object.iter().map(|byte| byte ^ 0x55).collect();
            assert!(same(&read, &object) || same(&read, &changed));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_objects_are_never_mixed_where_tags_or_digests_differ() {
    let object = bytes(OBJECT);
    let changed: Bytes = object.iter().map(|byte| byte ^ 0x55).collect();
    let mixed = |got: &Bytes| !same(got, &object) && !same(got, &changed);
    for seed in 0..6 {
        for (trouble, digests) in [(Trouble::OtherTag, false), (Trouble::OtherBytes, true)] {
            let mut origins = two(&object, seed % 2 == 0, [trouble, Trouble::None]);
            origins
                .iter_mut()
                .for_each(|origin| origin.digests = digests);
            let mut ranges = ranges(&origins, CONFIG, seed);
            assert!(!mixed(&read(&mut ranges).await.expect("one of them")));
            assert!(!mixed(&download(&ranges).await.expect("one of them")));
            assert_eq!(ranges.counts().given_up, 2);
        }
        // The docs describe this limit: two replicas send equal tags for different bytes, and no digests.
        let origins = two(&object, true, [Trouble::OtherBytes, Trouble::None]);
        let mut ranges = ranges(&origins, CONFIG, seed);
        assert!(mixed(&read(&mut ranges).await.expect("a mixture")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_digest_finds_bytes_that_are_wrong() {
    let object = bytes(OBJECT);
    for seed in 0..4 {
        let mut origins = two(&object, true, [Trouble::Flips, Trouble::None]);
        origins.iter_mut().for_each(|origin| origin.digests = true);
        let mut one = ranges(&origins, CONFIG, seed);
        // The digest of the part does not match.
        // The client gives up this replica, and the other replica sends the bytes.
        assert!(same(&read(&mut one).await.expect("an object"), &object));
        assert_eq!(one.counts().given_up, 1);
        // Both replicas send wrong bytes, so the download fails.
        let mut both = two(&object, true, [Trouble::Flips, Trouble::Flips]);
        both.iter_mut().for_each(|origin| origin.digests = true);
        let mut both = ranges(&both, CONFIG, seed);
        let error = read(&mut both).await.expect_err("wrong bytes");
        assert!(matches!(error, RangesError::Replicas(..)), "{error}");
        // Without the check, the client accepts wrong bytes.
        let verify = Verify::Off;
        let mut off = ranges(&origins, RangesConfig { verify, ..CONFIG }, seed);
        assert!(!same(&read(&mut off).await.expect("wrong bytes"), &object));
        // No replica sends a digest, but the client requires one.
        let origins = two(&object, true, [Trouble::None, Trouble::None]);
        let verify = Verify::Required;
        let required = ranges(&origins, RangesConfig { verify, ..CONFIG }, seed);
        let error = download(&required).await.expect_err("no digest");
        assert!(matches!(error, RangesError::NoDigest), "{error}");
    }
}

/// Downloads the object from one replica with this fault. Returns the faults in the error.
/// Without an error, the list is empty, and the second value is the number of parts.
async fn fault_of(trouble: Trouble) -> (Vec<Fault>, u64) {
    let object = bytes(OBJECT);
    let alone = [Origin::new(&object, true, trouble)];
    let ranges = ranges(&alone, CONFIG, 1);
    match download(&ranges).await {
        Ok(_) => (Vec::new(), ranges.counts().parts),
        Err(RangesError::Replicas(faults, _)) => {
            (faults.into_iter().map(|(_, fault)| fault).collect(), 0)
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_says_what_each_replica_did() {
    for (trouble, fault) in [
        (Trouble::Resets(1_500), Fault::Broken),
        (Trouble::Short(1_500), Fault::Broken),
        (Trouble::Raw(vec![]), Fault::Broken),
        (Trouble::Stalls(1_500), Fault::Stalled),
        (Trouble::Replaced(2), Fault::Replaced),
        (Trouble::Long(1), Fault::WrongRange),
        (Trouble::Says("bytes 0-4999/200123"), Fault::WrongRange),
    ] {
        let name = format!("{trouble:?}");
        let (faults, _) = fault_of(trouble).await;
        match faults[..] {
            // Each part that ends early delivers some bytes.
            // So the object may become complete before the replica is given up.
            [] => assert_eq!(fault, Fault::Broken, "{name}"),
            [found] => assert_eq!(found, fault, "{name}"),
            _ => panic!("{name}: {faults:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stalls_costs_no_more_than_its_own_parts() {
    let object = bytes(OBJECT);
    for trouble in [
        Trouble::Stalls(1_500),
        Trouble::NeverAnswers,
        Trouble::Resets(1_500),
        Trouble::Status(503),
    ] {
        for seed in 0..4 {
            let origins = two(&object, true, [trouble.clone(), Trouble::None]);
            let ranges = ranges(&origins, CONFIG, seed);
            assert!(same(&download(&ranges).await.expect("an object"), &object));
            let sent: usize = origins.iter().map(Origin::sent).sum();
            // Requests that were open when the replica was given up are sent to the other replica again.
            assert!(sent <= OBJECT + 8 * PIECE, "{trouble:?} {sent}");
            assert_eq!(ranges.counts().extra, 0);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_holds_no_more_than_its_window() {
    let object = bytes(OBJECT);
    let bound = CONFIG.window as usize + PIECE;
    for is_http2 in [false, true] {
        let origins = two(&object, is_http2, [Trouble::None, Trouble::None]);
        let mut ranges = ranges(&origins, CONFIG, 5);
        let mut body = ranges.call(get()).await.expect("an answer").into_body();
        let (mut hash, mut read) = (Sha256::new(), 0);
        while let Some(frame) = body.frame().await {
            let bytes = frame.expect("bytes").into_data().expect("bytes");
            read += bytes.len();
            hash.update(&bytes);
            // This virtual time is enough for all timers.
            tokio::time::sleep(Duration::from_secs(100)).await;
            let sent: usize = origins.iter().map(Origin::sent).sum();
            assert!(sent <= read + bound, "{sent} {read}");
        }
        assert_eq!(hash.finalize(), Sha256::digest(&object));
        // The replicas have no fault.
        assert_eq!(ranges.counts().given_up, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_leaves_purges_what_is_on_its_way() {
    let object = bytes(OBJECT);
    let origins = two(&object, true, [Trouble::None, Trouble::None]);
    let mut ranges = ranges(&origins, CONFIG, 5);
    let mut body = ranges.call(get()).await.expect("an answer").into_body();
    body.frame().await.expect("bytes").expect("bytes");
    drop(body);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let sent = || origins.iter().map(Origin::sent).sum::<usize>();
    let before = sent();
    assert!(before <= CONFIG.window as usize + PIECE);
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(sent(), before);
}

#[tokio::test(start_paused = true)]
async fn large_objects_are_refused_where_there_is_a_limit() {
    let object = bytes(OBJECT);
    let longest = Some(100_000);
    for trouble in [Trouble::None, Trouble::IgnoresRanges] {
        let origins = two(&object, true, [trouble.clone(), trouble]);
        let config = RangesConfig { longest, ..CONFIG };
        let mut ranges = ranges(&origins, config, 1);
        for error in [
            read(&mut ranges).await.expect_err("too large"),
            download(&ranges).await.expect_err("too large"),
        ] {
            assert!(
                matches!(error, RangesError::TooLarge(_, 100_000)),
                "{error}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_requests_go_to_the_client_as_they_are() {
    let object = bytes(OBJECT);
    let origins = two(&object, true, [Trouble::None, Trouble::None]);
    let mut ranges = ranges(&origins, CONFIG, 1);
    let (mut parts, body) = get().into_parts();
    parts
        .headers
        .insert("range", "bytes=10-19".parse().expect("a value"));
    let request = Request::from_parts(parts, body);
    let answer = ranges.call(request).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::PARTIAL_CONTENT);
    let got = answer
        .into_body()
        .collect()
        .await
        .expect("bytes")
        .to_bytes();
    assert_eq!(got, object[10..20]);
    let received = origins.iter().flat_map(Origin::requests);
    assert!(
        received
            .into_iter()
            .all(|received| received.range.as_deref() == Some("bytes=10-19"))
    );
}
