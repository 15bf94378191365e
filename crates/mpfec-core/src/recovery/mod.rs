//! Which packets arrived and which did not (RFC 9002).

mod token;

pub(crate) use self::token::Token;
