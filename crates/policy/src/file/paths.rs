//! Normalization of paths.

crate::section! {
    /// Normalization of paths. Servers differ in how they read a path, so one path may have several
    /// readings: with and without `;x=1`, with `%2F`, `\` and `%5C` as separators or as part of a
    /// segment, with dots and double slashes resolved or not. `match` and `deny` apply if any
    /// reading matches; `allow`, `overrides` and `missing: skip` only if all readings match. A
    /// request is refused if its path has more than 32 readings, or more than 24 KiB in all
    /// spellings of its characters (4,096 bytes with `;` and one other such character, 1,024 bytes
    /// with four), or if its readings give different subjects of an enforced rule. It is also
    /// refused if an override matches by some readings only, unless the limits that apply otherwise
    /// are as tight: for each limit of the override one with the same algorithm and window that is
    /// not larger.
    pub struct Paths: "paths" as "Paths" {
        /// Ignore case: `/LOGIN` matches `/login`, as in Express, ASP.NET and IIS. Path parameters
        /// in keys are lowercased.
        ignore_case: bool = false;
    }
}
