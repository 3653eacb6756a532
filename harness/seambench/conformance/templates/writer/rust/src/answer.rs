use std::fs;

use serde_json::Value;

/// Do one step, and return when it is committed; docs/writers.md says where its members are told.
/// An error is a refusal, with the table as it was; any other mistake ends the program.
pub fn answer(step: &Value) -> Result<(), String> {
    let (what, table) = (text(step, "do"), text(step, "table"));
    if what != "create" {
        return Err(format!("NAME does no {what} yet"));
    }
    // No table so far: one with the columns of the file `rows`, without rows, is to lie there.
    fs::create_dir(table).unwrap_or_else(|reason| panic!("{table}: {reason}"));
    Ok(())
}

fn text<'a>(step: &'a Value, member: &str) -> &'a str {
    step[member].as_str().unwrap_or_else(|| panic!("the step has no text `{member}`"))
}
