//! Tests with services and clients in other languages.
//! The tests use Node with HTTP/1.1 and HTTP/2, and an S3 store with Python's client.
//! The signatures of the S3 client must stay valid.

use super::programs::{node, python, run, store};
use super::running::Running;
use serde_json::json;
use std::process::Command;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn services_on_node_answer_clients_on_node() {
    const CLIENT: &str = r#"
        const http2 = require('node:http2');
        const [origin] = process.argv.slice(1);
        const ask = async (method, body) => {
            const answer = await fetch(`${origin}/x`, { method, body });
            if (answer.status !== 200) throw new Error(`${method}: ${answer.status}`);
            return await answer.text();
        };
        const stream = (session, path) => new Promise((resolve, reject) => {
            const request = session.request({ ':path': path });
            let text = '';
            request.setEncoding('utf8');
            request.on('data', (data) => { text += data; });
            request.on('end', () => resolve(text));
            request.on('error', reject);
        });
        (async () => {
            for (let turn = 0; turn < 20; turn += 1) {
                const all = await Promise.all([
                    ask('GET'), ask('POST', 'four'), ask('PUT', 'y'.repeat(300000)),
                ]);
                for (const [index, start] of ['GET 0 ', 'POST 4 ', 'PUT 300000 '].entries()) {
                    if (!all[index].startsWith(start)) throw new Error(all[index]);
                }
            }
            const session = http2.connect(origin);
            const all = await Promise.all(Array.from({ length: 100 }, () => stream(session, '/y')));
            if (!all.every((text) => text.startsWith('GET 0 '))) throw new Error(all.join());
            session.close();
            console.log('all answered');
        })();
    "#;
    for (module, protocol) in [("http", "http1"), ("http2", "http2")] {
        let services = [node(module), node(module)];
        let replicas = services.each_ref().map(|(_, address)| *address);
        // The services have no guards, so the test removes the bound of their copies.
        let keys = json!({
            "protocol": protocol,
            "purges": "yes",
            "budget": 100,
            "do_no_harm": false,
        });
        let gateway = Running::start(&replicas, keys).await;
        let origin = format!("http://{}", gateway.address);
        let said = run(Command::new("node").args(["-e", CLIENT, &origin]));
        assert_eq!(said, "all answered\n", "{module}");
        assert!(gateway.metric("tailcut_gateway_copies_total{route=\"test\"}") >= 120.0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signed_requests_to_a_store_hold_and_what_comes_back_is_what_was_put() {
    const CLIENT: &str = r#"
import hashlib, json, sys
import boto3
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import ClientError

store, gateway, in_parts = sys.argv[1:]
iam = boto3.client("iam", region_name="us-east-1", endpoint_url=store,
                   aws_access_key_id="first", aws_secret_access_key="first")
iam.create_user(UserName="tester")
iam.put_user_policy(UserName="tester", PolicyName="all", PolicyDocument=json.dumps({
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}))
key = iam.create_access_key(UserName="tester")["AccessKey"]

def s3(secret, origin=gateway):
    return boto3.client("s3", region_name="us-east-1", endpoint_url=origin,
                        aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=secret,
                        config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 1}))

client = s3(key["SecretAccessKey"])
client.create_bucket(Bucket="bucket")
digest = lambda data: hashlib.sha256(data).hexdigest()
for size in (0, 1000, 200000, 3000000):
    data = bytes((at * 7) % 251 for at in range(size))
    client.put_object(Bucket="bucket", Key=f"a b/{size}", Body=data)
    found = client.get_object(Bucket="bucket", Key=f"a b/{size}")["Body"].read()
    assert digest(found) == digest(data), size
    assert client.head_object(Bucket="bucket", Key=f"a b/{size}")["ContentLength"] == size
part = client.get_object(Bucket="bucket", Key="a b/200000", Range="bytes=1000-1999")
assert part["ContentRange"] == "bytes 1000-1999/200000", part
assert part["Body"].read() == bytes((at * 7) % 251 for at in range(1000, 2000))
whole = bytes((at * 11) % 253 for at in range(6 << 20))
import io
client.upload_fileobj(io.BytesIO(whole), "bucket", "parts",
                      Config=TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
assert digest(client.get_object(Bucket="bucket", Key="parts")["Body"].read()) == digest(whole)
assert len(client.list_objects_v2(Bucket="bucket")["Contents"]) == 5
# The gateway now requests the same objects in parts, from both replicas at once.
ranged = s3(key["SecretAccessKey"], in_parts)
for name, data in (("a b/0", b""), ("a b/1000", None), ("a b/3000000", None), ("parts", whole)):
    found = ranged.get_object(Bucket="bucket", Key=name)
    data = client.get_object(Bucket="bucket", Key=name)["Body"].read() if data is None else data
    assert found["ContentLength"] == len(data), name
    assert digest(found["Body"].read()) == digest(data), name
part = ranged.get_object(Bucket="bucket", Key="a b/200000", Range="bytes=1000-1999")
assert part["Body"].read() == bytes((at * 7) % 251 for at in range(1000, 2000))
client.delete_object(Bucket="bucket", Key="parts")
for origin in (gateway, in_parts):
    try:
        s3("wrong", origin).get_object(Bucket="bucket", Key="a b/1000")
        raise SystemExit("a wrong signature was taken")
    except ClientError as error:
        assert error.response["Error"]["Code"] == "SignatureDoesNotMatch", error
print("all held")
"#;
    let (_store, port) = store();
    // Both addresses lead to one store, so an object that is written through one address is also at the other one.
    let replicas = [[127, 0, 0, 1], [127, 0, 0, 2]].map(|host| (host, port).into());
    let gateway = Running::start(&replicas, json!({ "purges": "yes" })).await;
    let keys = json!({ "purges": "yes", "ranges": "64KiB" });
    let in_parts = Running::start(&replicas, keys).await;
    let origins = [
        format!("http://127.0.0.1:{port}"),
        format!("http://{}", gateway.address),
        format!("http://{}", in_parts.address),
    ];
    let said = run(Command::new(python()).args(["-c", CLIENT]).args(&origins));
    assert_eq!(said, "all held\n");
    assert!(gateway.metric("tailcut_gateway_copies_total{route=\"test\"}") >= 8.0);
    // The objects have 3 MB and 6 MiB, in parts of 64 KiB.
    let parts = in_parts.metric("tailcut_gateway_range_parts_total{route=\"test\"}");
    assert!(parts >= 46.0 + 96.0, "{parts}");
}
