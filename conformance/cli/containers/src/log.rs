//! The log of a candidate.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use testcontainers::bollard::Docker;
use testcontainers::bollard::query_parameters::LogsOptionsBuilder;

/// The maximum length of the end of a log that is reported, in lines and in bytes.
const TAIL_LINES: usize = 40;
const TAIL_BYTES: usize = 16 * 1024;

/// The maximum time that an engine may take to return the end of a log.
const PATIENCE: Duration = Duration::from_secs(5);

/// The end of a container's log, with both streams as they were written, or an empty text if it is not available.
pub(crate) async fn tail(docker: &Docker, container: &str) -> String {
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).tail(&TAIL_LINES.to_string()).build();
    let mut end = Vec::new();
    let collect = async {
        let mut frames = std::pin::pin!(docker.logs(container, Some(options)));
        while let Some(Ok(frame)) = frames.next().await {
            end.extend_from_slice(frame.as_ref());
            // A line may be of any length.
            end.drain(..end.len().saturating_sub(TAIL_BYTES));
        }
    };
    // After a timeout, the bytes received until then are reported.
    let _in_time = tokio::time::timeout(PATIENCE, collect).await;
    String::from_utf8_lossy(&end).into_owned()
}

/// Waits for a text in the log, and returns false if the log ends without it.
pub(crate) async fn holds(docker: &Docker, container: &str, text: &str) -> bool {
    let options = LogsOptionsBuilder::new().stdout(true).stderr(true).follow(true).build();
    let frames = docker.logs(container, Some(options));
    contains(frames.take_while(|frame| std::future::ready(frame.is_ok())).filter_map(async |frame| frame.ok()), text)
        .await
}

/// Returns true if the frames contain the text, also across two of them. Memory is bounded.
async fn contains(frames: impl Stream<Item = impl AsRef<[u8]>>, text: &str) -> bool {
    let (mut window, mut frames) = (Vec::new(), std::pin::pin!(frames));
    while let Some(frame) = frames.next().await {
        window.extend_from_slice(frame.as_ref());
        if window.windows(text.len()).any(|part| part == text.as_bytes()) {
            return true;
        }
        window.drain(..window.len().saturating_sub(text.len()));
    }
    false
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[tokio::test]
    async fn a_text_is_found_within_a_frame_and_across_frames() {
        for (frames, expected) in [
            (&["a listening b"][..], true),
            (&["list", "en", "ing"], true),
            (&["xlisten", "ingx"], true),
            (&["listen ", "ing"], false),
            (&[], false),
        ] {
            assert_eq!(contains(stream::iter(frames), "listening").await, expected, "{frames:?}");
        }
    }
}
