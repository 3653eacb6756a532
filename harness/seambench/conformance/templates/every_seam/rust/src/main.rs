//! HEAD to begin with: the request is read, and answered in answer.rs. See docs/doors.md of Seambench.

mod answer;

use std::io::{self, BufRead};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut request = String::new();
    if io::stdin().lock().read_line(&mut request).unwrap_or(0) == 0 {
        eprintln!("no request came");
        return ExitCode::from(1);
    }
    match answer::answer(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // The last line of a refusal; the exit code goes with it.
            eprintln!("refused: {reason}");
            ExitCode::from(2)
        }
    }
}
