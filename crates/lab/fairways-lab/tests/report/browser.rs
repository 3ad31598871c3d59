//! A browser, controlled with the DevTools protocol over two pipes, so that nothing listens
//! anywhere.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

/// The browser gets its commands from descriptor 3 and answers on 4.
const START: &str = "exec chromium --headless --remote-debugging-pipe --no-sandbox --disable-gpu --hide-scrollbars \
    --no-first-run --disable-extensions --disable-background-networking --disable-component-update \
    --disable-dev-shm-usage --disable-breakpad --user-data-dir=\"$1\" about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1";

/// A browser that hangs is ended after this time, and the test fails.
const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) struct Browser {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    session: Value,
    calls: u64,
    /// The events that it sent by itself.
    events: Vec<Value>,
    is_over: Arc<AtomicBool>,
    _folder: TempDir,
}

impl Browser {
    pub(crate) fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let mut command = Command::new("sh");
        // It leaves its files in the folder.
        let [home, profile] = ["home", "profile"].map(|name| folder.path().join(name));
        std::fs::create_dir(&home).unwrap();
        command.args(["-c", START, "sh"]).arg(profile).process_group(0);
        for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(name, &home);
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let from = BufReader::new(from);
        let pid = rustix::process::Pid::from_child(&child);
        let is_over = Arc::new(AtomicBool::new(false));
        let over = Arc::clone(&is_over);
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if !over.load(Ordering::Relaxed) {
                let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
            }
        });
        let (session, calls, events) = (Value::Null, 0, Vec::new());
        let mut browser =
            Self { child, to, from, session, calls, events, is_over, _folder: folder };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let params = json!({"targetId": target["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", params)["sessionId"].clone();
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn message(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let mut call = json!({"id": self.calls, "method": method, "params": params});
        if !self.session.is_null() {
            call["sessionId"] = self.session.clone();
        }
        self.to.write_all(call.to_string().as_bytes()).unwrap();
        self.to.write_all(&[0]).unwrap();
        loop {
            let message = self.message();
            if message["id"] == self.calls {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].clone();
            }
            self.events.push(message);
        }
    }

    /// Shows a page in a window of this size, and forgets earlier events.
    pub(crate) fn show(&mut self, page: &Path, [width, height]: [u32; 2], scheme: &str) {
        let is_phone = width < 600;
        self.call(
            "Emulation.setDeviceMetricsOverride",
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}),
        );
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
        self.open(&format!("file://{}", page.display()));
    }

    fn open(&mut self, url: &str) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": url}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let message = self.message();
            self.events.push(message);
        }
    }

    /// The value of an expression, once it is available.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", params);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// The network requests since the page was shown.
    pub(crate) fn requests(&self) -> Vec<String> {
        let events =
            self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        events.map(|event| event["params"]["request"]["url"].as_str().unwrap().to_owned()).collect()
    }

    /// Errors and warnings since the page was shown.
    pub(crate) fn complaints(&self) -> Vec<&Value> {
        let is_bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "info",
            _ => false,
        };
        self.events.iter().filter(is_bad).collect()
    }

    /// The window as a picture: PNG, in base 64.
    pub(crate) fn screenshot(&mut self) -> String {
        let shot = self.call("Page.captureScreenshot", json!({"format": "png"}));
        shot["data"].as_str().unwrap().to_owned()
    }

    /// The number of colours of a picture, and its lightness: 0 for black, 255 for white.
    pub(crate) fn look(&mut self, picture: &str) -> (u64, f64) {
        self.open("about:blank");
        let seen = self.evaluate(&format!(
            "(async () => {{
                const image = new Image();
                image.src = 'data:image/png;base64,{picture}';
                await image.decode();
                const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
                canvas.drawImage(image, 0, 0);
                const data = new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer);
                let light = 0;
                for (const pixel of data) light += (pixel & 255) + (pixel >> 8 & 255) + (pixel >> 16 & 255);
                return [new Set(data).size, light / 3 / data.length];
            }})()"
        ));
        (seen[0].as_u64().unwrap(), seen[1].as_f64().unwrap())
    }
}

impl Drop for Browser {
    /// Asks it to end, and ends it and its children if it does not.
    fn drop(&mut self) {
        let close = json!({"id": self.calls + 1, "method": "Browser.close"}).to_string();
        let _ = self.to.write_all(format!("{close}\0").as_bytes());
        for _ in 0..500 {
            if self.child.try_wait().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.is_over.store(true, Ordering::Relaxed);
        // Its children too: the group has its number, and is gone if all of them are.
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process_group(pid, rustix::process::Signal::KILL);
        let _ = self.child.wait();
    }
}
