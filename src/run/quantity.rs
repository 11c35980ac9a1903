//! Numbers, amounts and times as text. The errors are shown after what was given; an empty one means that what is allowed says
//! it all.

use std::time::Duration;

/// A whole number without sign.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("\"{text}\" is no whole number"));
    }
    text.parse().map_err(|_| format!("{text} is too large"))
}

/// A count.
pub(super) fn size(text: &str) -> Result<usize, String> {
    usize::try_from(whole(text)?).map_err(|_| format!("{text} is too large"))
}

/// Refuses zero where it would mean something else in the configuration.
pub(super) fn above_zero<T: PartialEq + Default>(number: T) -> Result<T, String> {
    if number == T::default() {
        return Err(String::new());
    }
    Ok(number)
}

/// Bytes, in powers of 1024 with a K, M or G.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1_u64),
    };
    whole(digits.trim())?
        .checked_mul(unit)
        .ok_or_else(|| format!("{text} is too large"))
}

/// A time with its unit; a bare number would leave the unit to guessing.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match text[digits.len()..].trim() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "" => return Err(format!("{text} lacks its unit (ns, us, ms, s, min)")),
        other => return Err(format!("\"{other}\" is no unit (ns, us, ms, s, min)")),
    };
    whole(digits)?
        .checked_mul(unit)
        .map(Duration::from_nanos)
        .ok_or_else(|| format!("{text} is too large"))
}
