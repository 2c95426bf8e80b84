//! Nothing is built here: a build dependency is what cargo unpacks `protoc` for.

fn main() {}
