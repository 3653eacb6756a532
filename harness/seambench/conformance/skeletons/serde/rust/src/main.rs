//! A serde to begin with: it reads the request and refuses. See docs/doors.md of Seambench.

use std::io::{self, BufRead};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut request = String::new();
    if io::stdin().lock().read_line(&mut request).unwrap_or(0) == 0 {
        eprintln!("no request came");
        return ExitCode::from(1);
    }
    match answer(&request) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            // The last line of a refusal; the exit code goes with it.
            eprintln!("refused: {reason}");
            ExitCode::from(2)
        }
    }
}

/// Turn what follows the request on standard input into its other form on standard output.
fn answer(_request: &str) -> Result<(), String> {
    Err("NAME turns nothing yet".to_string())
}
