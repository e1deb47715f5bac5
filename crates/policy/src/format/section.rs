//! Sections: mappings with named fields.

/// Declares a mapping of a file: a struct with its [`Format`](crate::format::Format).
///
/// After the name come the words for it in errors and the name of its schema. A field has a format,
/// and
///
/// - `=> "example"`, if it is required: the mapping is invalid without it;
/// - `= default`, as it would be in the file;
/// - neither: [`Default`] applies, which is `None` for an optional field.
///
/// `as` gives a field another name in the file. Further keywords of its schema follow in braces.
/// Fields after `plus` are not in the file. `then` names a function that checks the fields
/// together, with access to their positions.
///
/// ```
/// slidegate_policy::section! {
///     /// Listener.
///     pub struct Listener: "a listener" as "Listener" {
///         /// Address.
///         address: std::net::SocketAddr => "127.0.0.1:80";
///         /// Maximum number of connections.
///         max_connections as "max": u32 = 100;
///         /// Name in logs.
///         name: Option<String>, { "examples": ["public"] };
///     }
/// }
/// ```
#[macro_export]
macro_rules! section {
    (
        $(#[doc = $doc:literal])+
        $visibility:vis struct $Name:ident: $owner:literal as $schema:literal {
            $(
                $(#[doc = $text:literal])+
                $field:ident $(as $key:literal)?: $format:ty
                    $(=> $example:literal)? $(= $default:tt)? $(, $keywords:tt)?;
            )+
        }
        $(plus { $($(#[doc = $plus_text:literal])+ $plus:ident: $plus_type:ty = $plus_value:expr;)+ })?
        $(then $check:path;)?
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, PartialEq, Eq, Debug)]
        $visibility struct $Name {
            $($(#[doc = $text])+ pub $field: <$format as $crate::format::Format>::Value,)+
            $($($(#[doc = $plus_text])+ pub $plus: $plus_type,)+)?
        }

        impl $crate::format::Format for $Name {
            type Value = Self;

            fn read(node: &$crate::yaml::Node, diagnostics: &$crate::Diagnostics) -> Option<Self> {
                let fields = $crate::format::Fields::of(node, $owner, diagnostics)?;
                $(let $field = $crate::section!(@read
                    fields, [$field $($key)?], $format, [$($example)?], [$($default)?]);)+
                fields.done();
                #[allow(unused_mut, reason = "without a check nothing changes it")]
                let mut section = Self {
                    $($field: $crate::section!(@value $field $($example)?),)+
                    $($($plus: $plus_value,)+)?
                };
                $($check(&mut section, &fields);)?
                Some(section)
            }

            fn schema(schemas: &mut $crate::format::Schemas) -> $crate::format::schema::Value {
                schemas.refer($schema, |schemas| {
                    let mut properties = $crate::format::schema::Properties::default();
                    $(
                        let name = $crate::section!(@key $field $($key)?);
                        let schema = <$format as $crate::format::Format>::schema(schemas);
                        let keywords = $crate::section!(@keywords [$($default)?] $($keywords)?);
                        properties.add(name, schema, &[$($text),+], keywords);
                        $(let _: &str = $example; properties.require(name);)?
                    )+
                    properties.into_schema($crate::format::json!({}), &[$($doc),+])
                })
            }
        }

        $crate::section! { @default $Name [$($([$plus $plus_value])+)?]
            $([$field, $format, [$($example)?], [$($default)?]])+ }
    };

    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };

    (@read $fields:ident, [$($name:tt)+], $format:ty, [$example:literal], []) => {
        $fields.required::<$format>(
            $crate::section!(@key $($name)+),
            concat!($crate::section!(@key $($name)+), ": ", $example),
        )
    };
    (@read $fields:ident, [$($name:tt)+], $format:ty, [], [$default:tt]) => {
        $fields
            .get::<$format>($crate::section!(@key $($name)+))
            .unwrap_or_else(|| $crate::section!(@default_value $format, $default))
    };
    (@read $fields:ident, [$($name:tt)+], $format:ty, [], []) => {
        $fields.get::<$format>($crate::section!(@key $($name)+)).unwrap_or_default()
    };

    (@value $field:ident) => { $field };
    (@value $field:ident $example:literal) => { $field? };

    (@default_value $format:ty, $default:tt) => {
        $crate::format::default_value::<$format>($crate::format::json!($default))
    };

    (@keywords []) => { $crate::format::json!({}) };
    (@keywords [$default:tt]) => { $crate::format::json!({ "default": $default }) };
    (@keywords [] $keywords:tt) => { $crate::format::json!($keywords) };

    // A section with a required field has no default.
    (@default $Name:ident [$([$plus:ident $plus_value:expr])*] $([$field:ident, $format:ty, [], [$($default:tt)?]])+) => {
        impl Default for $Name {
            fn default() -> Self {
                Self {
                    $($field: $crate::section!(@field_default $format, $($default)?),)+
                    $($plus: $plus_value,)*
                }
            }
        }
    };
    (@default $($other:tt)*) => {};
    (@field_default $format:ty,) => { Default::default() };
    (@field_default $format:ty, $default:tt) => { $crate::section!(@default_value $format, $default) };
}
