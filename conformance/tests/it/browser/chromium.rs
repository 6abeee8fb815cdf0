//! Pages in headless Chromium, where there is one. The tests of both products use this file.
//!
//! No driver is needed: a copy of the page gets one more script, which clicks and looks, and writes what it found into the
//! page; headless Chromium prints the page that results. axe is asked too, where `AXE_CORE` names its `axe.min.js`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every page is looked at for.
const LOOK: &str = include_str!("look.js");

/// The widths and colours that a page is opened with: its name, the width, and whether it is dark.
const VIEWS: [(&str, u32, bool); 4] =
    [("phone-light", 390, false), ("phone-dark", 390, true), ("wide-light", 1400, false), ("wide-dark", 1400, true)];

/// Chromium gives no window fewer pixels than this. A narrower page stands in a frame, which page-wide rules of axe pass over.
const NARROWEST: u32 = 500;

/// A browser, and what the tests look at with it.
pub(crate) struct Browser {
    program: PathBuf,
    axe: String,
}

impl Browser {
    /// The first Chromium on the path, or the one that `CHROMIUM` names. Without one, a line says what nobody looked at.
    pub(crate) fn find(what: &str) -> Option<Browser> {
        let named = std::env::var_os("CHROMIUM").map(PathBuf::from);
        let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
        let on_path = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let Some(program) = named.or_else(|| on_path.into_iter().find(|file| file.is_file())) else {
            say(&format!("skipped: no Chromium found on the path, so nobody looked at {what} (CHROMIUM=… names one)"));
            return None;
        };
        let Some(axe) = std::env::var_os("AXE_CORE") else {
            say(&format!("not asked: axe, about {what} (AXE_CORE=… names an axe.min.js)"));
            return Some(Browser { program, axe: String::new() });
        };
        let axe = std::fs::read_to_string(&axe).unwrap_or_else(|error| panic!("{}: {error}", axe.display()));
        Some(Browser { program, axe })
    }

    /// Opens a page in each view, lets a script and the common one look at it, and asserts that they found nothing wrong.
    pub(crate) fn look(&self, name: &str, page: &str, script: &str) {
        // The policy lets no further script run; this copy admits one more, by a nonce.
        let policy = if page.contains("script-src ") { "script-src " } else { "default-src 'none';" };
        let admitted = if policy == "script-src " {
            "script-src 'nonce-test' "
        } else {
            "default-src 'none'; script-src 'nonce-test';"
        };
        let page = page.replacen(policy, admitted, 1);
        let axe = &self.axe;
        // An error in a script is one more thing that is wrong.
        let script = format!("try {{\n{script}\n}} catch (error) {{ is('no error', error.stack, ''); }}");
        let script = format!(
            "<script nonce=\"test\">{axe}\n(async () => {{\n{LOOK}\n{script}\nawait finish();\n}})();</script></body>"
        );
        let page = page.replacen("</body>", &script, 1);
        for (view, width, dark) in VIEWS {
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("browser-{name}-{view}"));
            let dump = self.open(&folder, &page, width, dark);
            let found = dump.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
            let (found, _) = found.unwrap_or_else(|| panic!("{name} {view}: the script did not finish"));
            let wrong: Vec<&str> = found.lines().filter(|line| !line.starts_with("ok ")).collect();
            assert!(wrong.is_empty(), "{name} {view}: {wrong:#?}");
            assert!(found.contains(&format!("ok {width} pixels wide")), "{name} {view}:\n{found}");
            assert_eq!(found.contains("ok axe"), !axe.is_empty(), "{name} {view}:\n{found}");
        }
    }

    /// Opens a page in a window of this width and these colours, and returns what the browser prints of it.
    fn open(&self, folder: &Path, page: &str, width: u32, dark: bool) -> String {
        let _not_there = std::fs::remove_dir_all(folder);
        std::fs::create_dir_all(folder).expect("a folder");
        let mut file = folder.join("page.html");
        std::fs::write(&file, page).expect("a file");
        if width < NARROWEST {
            file = folder.join("frame.html");
            std::fs::write(&file, include_str!("frame.html").replace("WIDTH", &width.to_string())).expect("a file");
        }
        let output = Command::new(&self.program)
            // As root, Chromium runs without its sandbox only; it opens nothing but this file.
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=20000",
                "--dump-dom",
            ])
            .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!dark)))
            .arg(format!("--window-size={},900", width.max(NARROWEST)))
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg(format!("file://{}", file.display()))
            .output()
            .expect("the browser starts");
        // Megabytes that say nothing; the page stays, to be looked at.
        let _in_use = std::fs::remove_dir_all(folder.join("profile"));
        let dump = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!dump.is_empty(), "the browser printed nothing: {}", String::from_utf8_lossy(&output.stderr));
        dump
    }
}

/// Not `eprintln!`, which nobody sees when the test passes.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").expect("standard error");
}
