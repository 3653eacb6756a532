//! A writer to begin with: steps are read one by one, and done in answer.rs. See docs/writers.md of Seambench.

mod answer;

use std::error::Error;
use std::io::{self, BufRead, Write};

use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut answers = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let said = match answer::answer(&serde_json::from_str(&line?)?) {
            Ok(()) => json!({"done": true}),
            Err(reason) => json!({"refused": reason}),
        };
        writeln!(answers, "{said}")?;
        answers.flush()?;
    }
    Ok(())
}
