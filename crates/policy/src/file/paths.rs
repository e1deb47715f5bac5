//! How paths are read.

use schemars::JsonSchema;

use super::super::schema::Only;

/// How paths are read. A path has several readings, as common servers read it: with and without `;x=1`, with `%2F`, `\` and `%5C` between segments or in one, with dots and doubled slashes resolved or not. What limits or denies is for a path if one reading matches; what exempts or selects (`allow`, `overrides`, `missing: skip`), only if all of them match. A path with more than 32 readings is refused, one of more than 24 KiB in all spellings of its characters (4,096 bytes with `;` and one other such character, 1,024 bytes with four), and one that names different subjects of an enforced rule, depending on who reads it. So is one for which an override holds by some readings only, unless the limits that it has otherwise are as tight: for each of the override's limits one of the same algorithm and window that is no larger.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, JsonSchema)]
#[schemars(deny_unknown_fields, transform = Only(""))]
pub struct Paths {
    /// Whether `/LOGIN` is `/login`, as it is for Express, ASP.NET and IIS. Parameters in keys are then in lower case, too.
    #[schemars(extend("default" = false))]
    pub ignore_case: bool,
}
