//! Headless Chromium, driven over the DevTools protocol through a pipe.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Running browser. The browser ends when this value is dropped.
pub struct Chromium {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
    last: u64,
    _profile: tempfile::TempDir,
}

/// Returns the path of the browser: `CHROMIUM`, or a browser in `PATH`. Returns `None` without a browser.
///
/// # Panics
/// CI (`CI=true`) has no browser. The checks must not be skipped there.
fn program() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = || {
        std::env::split_paths(&path)
            .flat_map(|dir| names.map(|name| dir.join(name)))
            .find(|file| file.is_file())
    };
    let found = std::env::var_os("CHROMIUM")
        .map(PathBuf::from)
        .or_else(on_path);
    let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    assert!(
        found.is_some() || !ci,
        "no Chromium for the report's browser tests: install one (apt-get install chromium) or set \
         CHROMIUM to its path"
    );
    found
}

impl Chromium {
    /// Starts a browser with a separate profile. Returns `None` if there is no browser.
    pub fn start() -> Option<Self> {
        let program = program()?;
        let profile = tempfile::tempdir().expect("a temporary directory");
        // The protocol uses file descriptors 3 and 4. The shell connects them to our ends of the pipe.
        let mut child = Command::new("sh")
            .arg("-c")
            .arg("exec \"$0\" \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null")
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--no-first-run",
                "--remote-debugging-pipe",
            ])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let requests = child.stdin.take().expect("a pipe");
        let replies = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Self {
            child,
            requests,
            replies,
            last: 0,
            _profile: profile,
        })
    }

    /// Opens `file` in a window of `width`, with the preference for dark or light colours.
    pub fn open(&mut self, file: &Path, width: u32, dark: bool) -> Tab<'_> {
        let target = self.call(None, "Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].as_str().expect("a target").to_owned();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", attach);
        let session = session["sessionId"].as_str().expect("a session").to_owned();
        let mut tab = Tab {
            browser: self,
            session,
        };
        tab.call(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
        );
        let scheme = if dark { "dark" } else { "light" };
        tab.call(
            "Emulation.setEmulatedMedia",
            json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] }),
        );
        tab.call("Page.enable", json!({}));
        let url = format!("file://{}", file.display());
        tab.call("Page.navigate", json!({ "url": url }));
        let session = tab.session.clone();
        tab.browser.wait_for(|message| {
            message["method"] == "Page.loadEventFired" && message["sessionId"] == session.as_str()
        });
        tab
    }

    fn call(&mut self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let id = self.last;
        let mut request = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            request["sessionId"] = session.into();
        }
        write!(self.requests, "{request}\0").expect("the browser listens");
        let mut reply = self.wait_for(|message| message["id"] == id);
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }

    fn wait_for(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut bytes = Vec::new();
            self.replies
                .read_until(0, &mut bytes)
                .expect("the browser's pipe");
            assert_eq!(bytes.pop(), Some(0), "the browser ended");
            let message: Value = serde_json::from_slice(&bytes).expect("the browser speaks JSON");
            if is_it(&message) {
                return message;
            }
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The browser may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Open page.
pub struct Tab<'a> {
    browser: &'a mut Chromium,
    session: String,
}

impl Tab<'_> {
    /// Returns the value of a JavaScript expression. If the value is a promise, waits for the promise.
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut reply = self.call("Runtime.evaluate", parameters);
        assert!(reply.get("exceptionDetails").is_none(), "{reply}");
        reply["result"]["value"].take()
    }

    /// Returns a picture of the whole page.
    pub fn screenshot(&mut self, file: &Path) {
        let parameters = json!({ "format": "png", "captureBeyondViewport": true });
        let reply = self.call("Page.captureScreenshot", parameters);
        let picture = decoded(reply["data"].as_str().expect("a picture"));
        std::fs::write(file, picture).expect("the file can be written");
    }

    /// Returns the page as a PDF file on sheets of A4.
    pub fn print(&mut self) -> Vec<u8> {
        let reply = self.call("Page.printToPDF", json!({ "preferCSSPageSize": true }));
        decoded(reply["data"].as_str().expect("a file"))
    }

    /// Applies the styles for printing, without sheets of paper.
    pub fn emulate_print(&mut self) {
        self.call("Emulation.setEmulatedMedia", json!({ "media": "print" }));
    }

    /// Presses and releases a key, such as `Tab`.
    pub fn press(&mut self, key: &str) {
        let code = if key == "Tab" { 9 } else { 0 };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let session = self.session.clone();
        self.browser.call(Some(&session), method, parameters)
    }
}

/// Decodes base64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for c in text.bytes().filter(|c| *c != b'=') {
        bits = (bits << 6) | u32::from(digit(c));
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
