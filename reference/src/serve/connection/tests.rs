use std::future::poll_fn;
use std::io::IoSlice;
use std::sync::atomic::AtomicUsize;
use std::task::Waker;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use super::*;

/// A stream that is never ready, nor takes several parts at once.
struct Stuck;

impl AsyncRead for Stuck {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Stuck {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Pending
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

type Refusal = fn(StatusCode, bool) -> Bytes;

fn refusal(status: StatusCode, without_content: bool) -> Bytes {
    format!("{} {without_content}", status.as_u16()).into()
}

/// What is watched, at tick `tick` in a phase that began at tick 0.
fn watched<S>(stream: S, phase: Phase, tick: u64) -> (Watched<S, Refusal>, Arc<Progress>) {
    let ticks = Arc::new(Ticks::default());
    let progress = Arc::new(Progress::new(Arc::clone(&ticks)));
    progress.enter(phase);
    (0..tick).for_each(|_| {
        ticks.advance();
    });
    (Watched::new(stream, Arc::clone(&progress), refusal), progress)
}

fn pair(phase: Phase) -> (Watched<DuplexStream, Refusal>, Arc<Progress>, DuplexStream) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (near, progress) = watched(near, phase, 3);
    (near, progress, far)
}

fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

/// What is there to be read at once.
fn read<S: AsyncRead + Unpin>(stream: &mut Watched<S, Refusal>) -> Poll<Vec<u8>> {
    let mut room = [0_u8; 64];
    let mut buffer = hyper::rt::ReadBuf::new(&mut room);
    let read = Pin::new(stream).poll_read(&mut context(), buffer.unfilled());
    read.map(|read| read.map(|()| buffer.filled().to_vec()).expect("no error"))
}

#[test]
fn a_phase_is_reported_with_the_tick_in_which_it_began() {
    let ticks = Arc::new(Ticks::default());
    let progress = Progress::new(Arc::clone(&ticks));
    assert_eq!(progress.phase(), (Phase::Head, 0));
    for tick in 1..=9 {
        assert_eq!((ticks.advance(), ticks.now()), (tick, tick));
        for phase in Phase::ALL {
            progress.enter(phase);
            assert_eq!(progress.phase(), (phase, tick));
        }
    }
    ticks.advance();
    assert_eq!(progress.phase(), (Phase::Lingering, 9));
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_asked_once_to_finish_and_only_when_that_is_asked_for() {
    let progress = Arc::new(Progress::new(Arc::default()));
    let (asked, polled) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let driven = {
        let (progress, asked, polled) = (Arc::clone(&progress), Arc::clone(&asked), Arc::clone(&polled));
        // Once asked, it takes two more turns.
        let connection = {
            let (asked, mut turns) = (Arc::clone(&asked), 0);
            poll_fn(move |context| {
                polled.fetch_add(1, Ordering::Relaxed);
                if asked.load(Ordering::Relaxed) > 0 {
                    turns += 1;
                    context.waker().wake_by_ref();
                }
                if turns > 2 { Poll::Ready("the end") } else { Poll::Pending }
            })
        };
        tokio::spawn(async move {
            let finish = |_: Pin<&mut _>| {
                asked.fetch_add(1, Ordering::Relaxed);
            };
            progress.drive(connection, finish).await
        })
    };
    tokio::task::yield_now().await;
    assert_eq!((asked.load(Ordering::Relaxed), polled.load(Ordering::Relaxed)), (0, 1));
    progress.stop();
    let end = tokio::time::timeout(Duration::from_mins(1), driven).await;
    assert_eq!(end.expect("it is woken").expect("no panic"), "the end");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_first_byte_of_a_request_ends_the_idling() {
    let (mut near, progress, mut far) = pair(Phase::Idle);
    assert_eq!(read(&mut near), Poll::Pending);
    assert_eq!(progress.phase(), (Phase::Idle, 0), "nothing was received");
    far.write_all(b"G").await.expect("sent");
    assert_eq!(read(&mut near), Poll::Ready(b"G".to_vec()));
    assert_eq!(progress.phase(), (Phase::Head, 3));
    far.write_all(b"ET").await.expect("sent");
    progress.enter(Phase::Busy);
    assert_eq!(read(&mut near), Poll::Ready(b"ET".to_vec()));
    assert_eq!(progress.phase().0, Phase::Busy, "of a body that is read while the application works");
}

#[tokio::test]
async fn bytes_that_leave_are_progress_and_the_last_one_ends_the_sending() {
    let (mut near, progress, mut far) = pair(Phase::Sending);
    let mut near = Pin::new(&mut near);
    assert!(near.is_write_vectored());
    assert!(matches!(near.as_mut().poll_write(&mut context(), b"abc"), Poll::Ready(Ok(3))));
    assert_eq!(progress.phase(), (Phase::Sending, 3));
    assert!(matches!(near.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(()))));
    assert_eq!(progress.phase(), (Phase::Sending, 3), "more of the response is to come");
    progress.enter(Phase::Flushing);
    let parts = [IoSlice::new(b"de"), IoSlice::new(b"fg")];
    assert!(matches!(near.as_mut().poll_write_vectored(&mut context(), &parts), Poll::Ready(Ok(4))));
    assert!(matches!(near.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(()))));
    assert_eq!(progress.phase(), (Phase::Idle, 3));
    let mut seen = [0; 7];
    far.read_exact(&mut seen).await.expect("all of it");
    assert_eq!(&seen, b"abcdefg");
}

#[test]
fn in_parts_bytes_are_progress_too() {
    for phase in [Phase::Sending, Phase::Flushing] {
        let (mut near, progress, _far) = pair(phase);
        let parts = [IoSlice::new(b"de"), IoSlice::new(b"fg")];
        assert!(matches!(Pin::new(&mut near).poll_write_vectored(&mut context(), &parts), Poll::Ready(Ok(4))));
        assert_eq!(progress.phase(), (phase, 3));
    }
}

/// What the client receives when, after it sent `parts`, hyper answers by itself with `status`.
async fn refused(parts: &[&str], status: &str) -> String {
    let (mut near, progress, mut far) = pair(Phase::Idle);
    for part in parts {
        far.write_all(part.as_bytes()).await.expect("sent");
        while read(&mut near).is_ready() {}
    }
    let automatic = format!("HTTP/1.1 {status} x\r\nconnection: close\r\n\r\n");
    let mut near = Pin::new(&mut near);
    let written = near.as_mut().poll_write_vectored(&mut context(), &[IoSlice::new(automatic.as_bytes())]);
    assert!(matches!(written, Poll::Ready(Ok(length)) if length == automatic.len()));
    assert_eq!(progress.phase().0, Phase::Flushing);
    assert!(matches!(near.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(()))));
    let mut seen = vec![0; 64];
    let length = far.read(&mut seen).await.expect("a refusal");
    String::from_utf8(seen[..length].to_vec()).expect("text")
}

#[tokio::test]
async fn what_hyper_answers_by_itself_is_replaced_whatever_the_method_and_the_length_of_the_target() {
    assert_eq!(refused(&["GET / x\r\n"], "400").await, "400 false");
    assert_eq!(refused(&["\r\nHEAD / x\r\n"], "400").await, "400 true");
    assert_eq!(refused(&["\r\n", "HEAD ", "/ x\r\n"], "400").await, "400 true");
    assert_eq!(refused(&["GET / HTTP/1.1\r\n", "a: b"], "431").await, "431 false");
    assert_eq!(refused(&["GET /", &"x".repeat(500)], "431").await, "414 false", "all of it is target");
    assert_eq!(refused(&[&"x".repeat(500)], "431").await, "431 false", "the rest of a pipelined request");
}

#[tokio::test]
async fn a_refusal_too_is_sent_in_the_time_that_a_response_has() {
    let (mut near, progress) = watched(Stuck, Phase::Head, 3);
    let mut near = Pin::new(&mut near);
    assert!(matches!(near.as_mut().poll_write(&mut context(), b"HTTP/1.1 400 x\r\n\r\n"), Poll::Ready(Ok(18))));
    assert!(near.as_mut().poll_flush(&mut context()).is_pending());
    assert_eq!(progress.phase(), (Phase::Flushing, 3));
}

#[test]
fn what_is_written_and_flushed_in_another_phase_changes_none() {
    let (mut near, progress, _far) = pair(Phase::Busy);
    let mut near = Pin::new(&mut near);
    assert!(matches!(near.as_mut().poll_write(&mut context(), b"HTTP/1.1 100 Continue"), Poll::Ready(Ok(21))));
    assert!(matches!(near.as_mut().poll_flush(&mut context()), Poll::Ready(Ok(()))));
    assert_eq!(progress.phase(), (Phase::Busy, 0));
}

#[test]
fn a_client_that_takes_nothing_makes_no_progress() {
    let (mut near, progress) = watched(Stuck, Phase::Sending, 3);
    let mut near = Pin::new(&mut near);
    assert!(!near.is_write_vectored());
    assert!(near.as_mut().poll_write(&mut context(), b"abc").is_pending());
    assert!(near.as_mut().poll_write_vectored(&mut context(), &[IoSlice::new(b"abc")]).is_pending());
    assert!(near.as_mut().poll_flush(&mut context()).is_pending());
    assert!(near.as_mut().poll_shutdown(&mut context()).is_pending());
    assert_eq!(progress.phase(), (Phase::Sending, 0));
}

#[tokio::test]
async fn after_the_response_what_still_comes_is_dropped_until_the_client_closes() {
    let (mut near, progress, mut far) = pair(Phase::Busy);
    far.write_all(&[b'x'; 10_000]).await.expect("sent");
    assert!(Pin::new(&mut near).poll_shutdown(&mut context()).is_pending());
    assert_eq!(progress.phase(), (Phase::Lingering, 3));
    assert_eq!(far.read(&mut [0; 1]).await.expect("the end"), 0, "the client sees the end of the response");
    progress.enter(Phase::Busy);
    far.write_all(&[b'x'; 10_000]).await.expect("sent");
    assert!(Pin::new(&mut near).poll_shutdown(&mut context()).is_pending());
    assert_eq!(progress.phase().0, Phase::Busy, "it is closed already");
    far.write_all(b"x").await.expect("sent");
    drop(far);
    assert!(matches!(Pin::new(&mut near).poll_shutdown(&mut context()), Poll::Ready(Ok(()))));
}
