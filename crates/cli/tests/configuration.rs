//! Tests of the configuration of guard, gateway and proxy: all programs have the same keys, units and errors.

use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tailcut_proxy::config::{Common, Draft, keys};
use tailcut_proxy::http::Limits as ListenerLimits;
use tailcut_proxy::log::LogConfig;
use tailcut_proxy::tls::{ClientTls, ServerTls};
use tailcut_rans::gateway::{self, GatewayConfig};
use tailcut_rans::guard::GuardConfig;
use tailcut_rans::guard::program::ProgramConfig;
use tailcut_rans::trace::TraceConfig;
use tailcut_repnet::proxy::{self, ProxyConfig};
use tailcut_repnet::{FlowSettings, Liveness, Settings};

const GUARD: &str = "listen = 1\nto = 2\nworkers = 3\n";
const GATEWAY: &str = "[[routes]]\nlisten = 1\nreplicas = [2]\n";
const PROXY: &str = "[[routes]]\nname = \"a\"\nlisten = 1\nto = 2\nreplicate = \"out\"\n";

/// Function that reads a program's configuration. The function returns the values as text, or the error.
type Read = fn(&Draft) -> Result<String>;

fn guard(draft: &Draft) -> Result<String> {
    Ok(format!("{:?}", ProgramConfig::read(draft)?))
}

fn gateway(draft: &Draft) -> Result<String> {
    Ok(format!("{:?}", GatewayConfig::read(draft)?))
}

fn proxy(draft: &Draft) -> Result<String> {
    Ok(format!("{:?}", ProxyConfig::read(draft)?))
}

const PROGRAMS: [(Read, &str); 3] = [(guard, GUARD), (gateway, GATEWAY), (proxy, PROXY)];

fn read(read: Read, text: &str) -> Result<String> {
    read(&Draft::of_text("f", Path::new("/nowhere"), text)?)
}

fn refused(program: Read, text: &str) -> String {
    read(program, text).expect_err(text).to_string()
}

#[test]
fn an_error_has_the_line_and_the_column_the_value_found_and_the_values_allowed() {
    let address = "\"host:port\", \"[ipv6]:port\", or a port of 127.0.0.1, with a port from";
    let time = "a time with a unit (ps, ns, us, ms, s, m, h, d)";
    let cases: [(Read, &str, String); 16] = [
        (guard, "listen = [", "f:1:11: not TOML: ".to_owned()),
        (guard, "{\"listen\": }", "f:1:12: not JSON: expected value".to_owned()),
        (
            guard,
            "to = 2\nworkers = 3",
            format!("f:1:1: \"listen\" is absent; allowed: {address} 0 to 65535"),
        ),
        (
            guard,
            "listne = 1\nto = 2\nworkers = 3",
            "f:1:1: \"listne\" is not a key here; did you mean \"listen\"?".to_owned(),
        ),
        (
            guard,
            "listen = 1\nto = \"x:0\"\nworkers = 3",
            format!("f:2:6: \"to\" is \"x:0\"; allowed: {address} 1 to 65535"),
        ),
        (
            guard,
            "listen = 1\nto = 2\n",
            "f:1:1: \"workers\" is absent; allowed: a whole number from 1 to 100000".to_owned(),
        ),
        (
            guard,
            "listen = 1\nto = 2\nworkers = 3\non_cancel = \"kil\"",
            "f:4:13: \"on_cancel\" is \"kil\"; allowed: \"kill\", \"hold-slot\"; did you mean \"kill\"?".to_owned(),
        ),
        (
            guard,
            "listen = 1\nto = 2\nworkers = 3\nretry_after = 5",
            format!("f:4:15: \"retry_after\" is 5; allowed: {time} from 1s to 1d"),
        ),
        (
            guard,
            "listen = 1\nto = 2\nworkers = 3\nadmin = 1",
            "f:4:9: \"admin\" is 1; allowed: an address that listen does not use".to_owned(),
        ),
        (
            gateway,
            "routes = 7",
            "f:1:10: \"routes\" is 7; allowed: a list of at least one route".to_owned(),
        ),
        (
            gateway,
            "[[routes]]\nlisten = 1\nreplicas = [2, \"ftp://a\"]",
            "f:3:16: \"routes[0].replicas[1]\" is \"ftp://a\"; allowed: http://HOST:PORT, https://HOST:PORT, \
             HOST:PORT, or a port of 127.0.0.1; no path"
                .to_owned(),
        ),
        (
            gateway,
            "[[routes]]\nlisten = 1\nreplicas = [2]\n[routes.limits]\npendign = 3",
            "f:5:1: \"routes[0].limits.pendign\" is not a key here; allowed: body, pending, connections, \
             streams, head, head_timeout, idle_timeout, stall_timeout; did you mean \"pending\"?"
                .to_owned(),
        ),
        (
            gateway,
            "[[routes]]\nlisten = 1\nreplicas = [2]\ncheck = { interval = \"1s\" }",
            "f:4:9: \"routes[0].check.path\" is absent; allowed: a path such as \"/healthz\"".to_owned(),
        ),
        (
            gateway,
            "[[routes]]\nlisten = 1\nreplicas = [2]\ntls = 5",
            "f:4:7: \"routes[0].tls\" is 5; allowed: a table".to_owned(),
        ),
        (
            gateway,
            "[[routes]]\nlisten = 1\nreplicas = [2]\n[[routes]]\nname = \"b\"\nlisten = 1\nreplicas = [2]",
            "f:6:10: \"routes[1].listen\" is 1; allowed: an address that routes[0].listen does not use".to_owned(),
        ),
        (
            proxy,
            "{\"routes\": [\n {\"name\": \"a\", \"listen\": 1, \"to\": 2, \"replicate\": \"up\"}\n]}",
            "f:2:51: \"routes[0].replicate\" is \"up\"; allowed: \"in\", \"out\"".to_owned(),
        ),
    ];
    for (program, text, message) in cases {
        let found = refused(program, text);
        assert!(found.starts_with(&message), "{found}\n{message}");
    }
}

#[test]
fn the_same_key_has_the_same_errors_in_all_three() {
    for (key, value, message) in [
        ("listen", "\"a\"", "is \"a\"; allowed: \"host:port\", "),
        ("drain_timeout", "10", "is 10; allowed: a time with a unit "),
        (
            "drain_timeout",
            "\"2h\"",
            "is \"2h\"; allowed: a time with a unit ",
        ),
        ("admin", "true", "is true; allowed: \"host:port\", "),
        (
            "tls.certificate",
            "\"c.pem\"",
            "is \"c.pem\"; allowed: the path of a file in PEM (/nowhere/c.pem: ",
        ),
        (
            "limits.connections",
            "0",
            "is 0; allowed: a whole number from 1 to 1000000",
        ),
    ] {
        for (program, text) in PROGRAMS {
            let is_of_top = key.starts_with("drain") || key == "admin";
            let text = match (is_of_top, key) {
                (true, _) => format!("{key} = {value}\n{text}"),
                (_, "listen") => text.replace("listen = 1", &format!("listen = {value}")),
                _ => format!("{text}{key} = {value}\n"),
            };
            let found = refused(program, &text);
            let message = format!("{key}\" {message}");
            assert!(found.contains(&message), "{found}\n{message}");
        }
    }
}

/// Returns the keys of a program that have a single value, each with a value that differs from the default.
fn scalars(program: &str) -> Vec<(&'static str, &'static str)> {
    let common = [("admin", "false"), ("drain_timeout", "1m"), ("listen", "7")];
    let front = [
        ("limits.connections", "6"),
        ("limits.streams", "6"),
        ("limits.head", "9KiB"),
        ("limits.head_timeout", "6s"),
        ("limits.idle_timeout", "6s"),
        ("limits.stall_timeout", "6s"),
        ("log.access", "stdout"),
        ("log.errors", "false"),
        ("log.format", "json"),
        ("log.level", "warn"),
        ("request_id", "false"),
        ("listen_mode", "660"),
        ("traceparent", "make"),
    ];
    let own = match program {
        "guard" => &[
            ("to", "6"),
            ("workers", "6"),
            ("queue", "6"),
            ("queue_timeout", "6s"),
            ("yield_timeout", "6s"),
            ("proxy_protocol", "true"),
            ("answer_timeout", "6s"),
            ("buffer", "6"),
            ("on_cancel", "hold-slot"),
            ("hold_timeout", "6s"),
            ("retry_after", "6s"),
            ("dscp", "0,1,1"),
        ][..],
        "gateway" => &[
            ("name", "true"),
            ("match.host", "shop.example"),
            ("grpc_non_fatal", "ABORTED"),
            ("match.path", "/a"),
            ("match.method", "GET"),
            ("match.header", "x-tenant"),
            ("protocol", "http2"),
            ("proxy_protocol", "true"),
            ("purges", "yes"),
            ("duplicates", "off"),
            ("elsewhere", "off"),
            ("percentile", "99.5"),
            ("budget", "2.5"),
            ("do_no_harm", "false"),
            ("trial_slot", "6s"),
            ("methods", "all"),
            ("ranges", "1MiB"),
            ("forwarded", "forwarded"),
            ("via", "false"),
            ("tell_copies", "false"),
            ("replay", "6"),
            ("whole", "6"),
            ("connect_timeout", "6s"),
            ("answer_timeout", "6s"),
            ("idle_timeout", "6s"),
            ("linger", "6ms"),
            ("resolve", "6s"),
            ("limits.body", "6"),
            ("limits.pending", "6"),
            ("check.path", "/well"),
        ],
        _ => &[
            ("name", "7"),
            ("to", "6"),
            ("replicate", "in"),
            ("limits.connections", "6"),
            ("mode", "off"),
            ("pairing", "port"),
            ("replica_port", "6"),
            ("max_bytes", "Infinity"),
            ("archive_cap", "6"),
            ("lag_cap", "1MiB"),
            ("leg_deadline", "6s"),
            ("confirm_timeout", "6s"),
            ("assume_capable", "true"),
            ("fallback_delay", "Infinity"),
            ("idle_time", "6s"),
            ("adaptive", "false"),
            ("second_leg_from", "anywhere"),
            ("waiting_list_timeout", "6s"),
            ("hello_timeout", "6s"),
            ("tombstone_time", "6s"),
            ("tombstone_limit", "6"),
            ("pending_hellos", "6"),
            ("accept_backlog", "6"),
            ("capability_ttl", "6s"),
            ("budget", "0.5"),
            ("incast_limit", "6"),
            ("keepalive_idle", "6s"),
            ("keepalive_interval", "6s"),
            ("keepalive_probes", "7"),
            ("user_timeout", "6s"),
            ("idle_timeout", "6s"),
        ],
    };
    let mut all: Vec<_> = common.into_iter().chain(own.iter().copied()).collect();
    if program != "proxy" {
        all.extend(front);
    }
    all
}

/// Returns all keys of a program, and the keys that [`scalars`] does not contain.
/// Keys outside of [`scalars`] are lists, tables, paths of files, and keys that require another key.
fn all_keys(program: &str) -> (Vec<String>, Vec<&'static str>) {
    fn of<T: serde::de::DeserializeOwned>(table: &str) -> Vec<String> {
        let keys = keys::<T>().into_iter();
        keys.map(|key| format!("{table}{key}")).collect()
    }
    let shared = [of::<Common>(""), of::<ServerTls>("tls.")];
    let own = match program {
        "guard" => vec![
            of::<ProgramConfig>(""),
            of::<GuardConfig>(""),
            of::<ListenerLimits>("limits."),
            of::<LogConfig>("log."),
            of::<TraceConfig>(""),
        ],
        "gateway" => vec![
            of::<gateway::RouteConfig>(""),
            of::<gateway::Times>(""),
            of::<gateway::StoredBodyLimits>(""),
            of::<gateway::Limits>("limits."),
            of::<ListenerLimits>("limits."),
            of::<LogConfig>("log."),
            of::<TraceConfig>(""),
            of::<gateway::Check>("check."),
            of::<gateway::Match>("match."),
            of::<ClientTls>("replica_tls."),
        ],
        _ => vec![
            of::<proxy::RouteConfig>(""),
            of::<proxy::Limits>("limits."),
            of::<Settings>(""),
            of::<FlowSettings>(""),
            of::<Liveness>(""),
        ],
    };
    let others = vec![
        "tls",
        "tls.certificate",
        "tls.key",
        "tls.client_ca",
        "tls.certificates",
        "replicas",
        "replica_tls",
        "replica_tls.ca",
        "replica_tls.server_name",
        "replica_tls.certificate",
        "replica_tls.key",
        "match",
        "check",
        "check.interval",
        "check.timeout",
        "check.fall",
        "check.rise",
        "verify",
    ];
    (shared.into_iter().chain(own).flatten().collect(), others)
}

#[test]
fn every_key_with_one_value_can_be_set_on_the_command_line() {
    for ((program, text), name) in PROGRAMS.into_iter().zip(["guard", "gateway", "proxy"]) {
        let before = read(program, text).expect("a configuration");
        let scalars = scalars(name);
        for (key, value) in &scalars {
            let mut draft = Draft::of_text("f", Path::new(""), text).expect("TOML");
            draft.set(&format!("{key}={value}")).expect(key);
            let after = program(&draft).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_ne!(before, after, "{name}: {key} changes nothing");
        }
        let (all, others) = all_keys(name);
        for key in all {
            let is_known = scalars.iter().any(|(known, _)| *known == key);
            assert!(is_known || others.contains(&key.as_str()), "{name}: {key}");
        }
    }
}

#[test]
fn every_flag_has_its_key() {
    let definition = tailcut::definition();
    for (path, name) in [
        (&["guard"][..], "guard"),
        (&["gateway"], "gateway"),
        (&["proxy", "repnet"], "proxy"),
    ] {
        let start = &definition;
        let found = path
            .iter()
            .try_fold(start, |command, name| command.find_subcommand(name));
        let flags = found.expect("a command").get_arguments();
        let flags = flags.filter_map(|flag| flag.get_long());
        let (all, _) = all_keys(name);
        for flag in flags {
            let key = match flag {
                // The flags in this list set no key.
                "config" | "set" | "route" | "check" | "help" => continue,
                "no-admin" => "admin".to_owned(),
                "replica" => "replicas".to_owned(),
                "connections" => "limits.connections".to_owned(),
                flag => flag.replace('-', "_"),
            };
            assert!(all.contains(&key), "{name}: --{flag}");
        }
    }
}

#[test]
fn json_has_the_names_and_the_milliseconds_of_the_npm_package() {
    let json = "{\"routes\": [{\"name\": \"a\", \"listen\": \"127.0.0.1:1\", \"to\": \"127.0.0.1:2\", \
                \"replicate\": \"out\", \"maxBytes\": 20000, \"legDeadline\": 1500, \"idleTime\": \"Infinity\", \
                \"lagCap\": 1048576}], \"drainTimeout\": 5000}";
    let toml = format!(
        "drain_timeout = \"5s\"\n{PROXY}max_bytes = \"20000B\"\nleg_deadline = \"1500ms\"\n\
         idle_time = \"Infinity\"\nlag_cap = \"1MiB\"\n"
    );
    let [json, toml] = [json, &toml].map(|text| read(proxy, text).expect("a configuration"));
    assert_eq!(json, toml);
}

#[test]
fn a_key_of_the_command_line_names_its_route_where_there_are_several() {
    let text =
        format!("{GATEWAY}name = \"a\"\n[[routes]]\nname = \"b\"\nlisten = 3\nreplicas = [4]\n");
    let mut draft = Draft::of_text("f", Path::new(""), &text).expect("TOML");
    let error = draft.set("purges=yes").expect_err("two routes");
    assert_eq!(
        error.to_string(),
        "command line: \"--set purges=yes\" does not name its route; allowed: routes[0].purges to \
         routes[1].purges"
    );
    let error = draft.set("routes[2].purges=yes").expect_err("two routes");
    assert_eq!(
        error.to_string(),
        "command line: \"routes[2].purges\": \"2\" is not in the list; allowed: 0 to 1"
    );
    draft.set("routes[1].purges=no").expect("the second route");
    draft.set("drain_timeout=1s").expect("a key of the top");
    let config = GatewayConfig::read(&draft).expect("a configuration");
    let purges = config.routes.iter().map(|route| route.purges);
    assert_eq!(
        purges
            .map(|purges| format!("{purges:?}"))
            .collect::<Vec<_>>(),
        ["Learn", "No"]
    );
    assert_eq!(config.drain.as_secs(), 1);
}

/// Returns configurations with TLS keys, each with its reader and the name of the key.
/// Each program has a listener with a key, and a gateway also has a client's key.
fn with_tls() -> [(Read, String, &'static str); 4] {
    let tls = "tls = { certificate = \"cert.pem\", key = \"key.pem\" }\n";
    let replica = GATEWAY.replace("[2]", "[\"https://a\"]");
    let client =
        "replica_tls = { ca = \"cert.pem\", certificate = \"cert.pem\", key = \"key.pem\" }\n";
    [
        (guard, format!("{GUARD}{tls}"), "tls.key"),
        (gateway, format!("{GATEWAY}{tls}"), "routes[0].tls.key"),
        (proxy, format!("{PROXY}{tls}"), "routes[0].tls.key"),
        (
            gateway,
            format!("{replica}{client}"),
            "routes[0].replica_tls.key",
        ),
    ]
}

#[test]
fn a_private_key_that_other_users_can_use_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let certified = rcgen::generate_simple_self_signed(vec!["here.example".to_owned()]);
    let certified = certified.expect("a certificate");
    fs::write(folder.path().join("cert.pem"), certified.cert.pem()).expect("a file");
    let key = folder.path().join("key.pem");
    fs::write(&key, certified.signing_key.serialize_pem()).expect("a file");
    for (program, text, name) in with_tls() {
        let read = |mode| {
            fs::set_permissions(&key, fs::Permissions::from_mode(mode)).expect("our file");
            program(&Draft::of_text("f", folder.path(), &text).expect("TOML"))
        };
        // The group of the key's file may read the key.
        for mode in [0o400, 0o600, 0o440, 0o640] {
            read(mode).unwrap_or_else(|error| panic!("{mode:o}: {error}"));
        }
        for mode in [0o604, 0o644, 0o660, 0o601, 0o602] {
            let error = read(mode).expect_err(name).to_string();
            let (start, end) = (
                format!("\"{name}\" is \"key.pem\""),
                format!("its mode is {mode:o}"),
            );
            assert!(error.contains(&start) && error.contains(&end), "{error}");
            assert!(
                error.contains("chmod 600") && !error.contains("BEGIN"),
                "{error}"
            );
        }
    }
}

#[test]
fn text_of_a_configuration_cannot_control_the_terminal() {
    let hostile = "a\\u001b[2J\\n\\\"";
    let texts = [
        format!("\"{hostile}\" = 1\n"),
        format!("{{\"{hostile}\": 1}}"),
        format!("tls = {{ certificate = \"{hostile}\", key = \"{hostile}\" }}\n"),
        format!("tls = {{ \"{hostile}\" = 1 }}\n"),
        format!("to = \"{hostile}\"\n"),
        format!("\"{hostile}\" = 1\n\"{hostile}\" = 2\n"),
    ];
    for (program, base) in PROGRAMS {
        for text in &texts {
            for text in [
                text.clone(),
                format!("{text}{base}"),
                format!("{base}{text}"),
            ] {
                let error = refused(program, &text);
                assert!(!error.contains(char::is_control), "{error:?}");
            }
        }
    }
}
