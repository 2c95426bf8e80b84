//! The scripts, and calls of them.

use std::fmt::Display;
use std::sync::LazyLock;

use redis::{Arg, Cmd, RedisWrite};

use crate::keys::{Keys, Part};

/// A script: its name for messages, its text and the hash the server knows it by.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) operation: &'static str,
    code: &'static str,
    hash: String,
}

impl Script {
    fn new(operation: &'static str, code: &'static str) -> Self {
        let hash = redis::Script::new(code).get_hash().to_owned();
        Self { operation, code, hash }
    }
}

macro_rules! scripts {
    ($($name:ident: $operation:literal = $($file:literal)+;)+) => {
        $(pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new($operation, concat!($(include_str!(concat!("scripts/", $file, ".lua")), "\n"),+))
        });)+

        /// All of them.
        pub(crate) fn all() -> impl Iterator<Item = &'static Script> {
            [$(&*$name),+].into_iter()
        }
    };
}

scripts! {
    ACQUIRE: "acquire" = "_clock" "_untold" "_acquire" "acquire";
    BEGIN: "begin" = "_clock" "_untold" "_acquire" "_history" "begin";
    RENEW: "renew" = "_clock" "renew";
    RELEASE: "release" = "_clock" "_release" "release";
    FINISH: "finish" = "_clock" "_release" "_history" "finish";
    INSPECT: "inspect" = "_clock" "inspect";
    FORCE_RELEASE: "force_release" = "_clock" "force_release";
    SAVE: "save" = "_clock" "_history" "save";
    LIST: "list" = "_clock" "list";
    PROBE: "preflight" = "probe";
}

/// One call of a script, to be sent as often as need be.
pub(crate) struct Call {
    pub(crate) script: &'static Script,
    /// By the script's hash: what is sent as a rule.
    pub(crate) by_hash: Cmd,
}

impl Call {
    pub(crate) fn new(script: &'static Script, keys: &Keys, parts: &[Part]) -> Self {
        // As much as a `begin` takes, so that it is written without being moved; above a kibibyte,
        // memory costs more to get.
        let mut by_hash = Cmd::with_capacity(32, 960);
        by_hash.arg("EVALSHA").arg(&script.hash).arg(parts.len());
        let call = Self { script, by_hash };
        parts.iter().fold(call, |call, part| call.arg(keys.key(*part)))
    }

    /// A text as it is, which costs less than one that is to be made.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.by_hash.arg(text);
        self
    }

    pub(crate) fn arg(mut self, argument: impl Display) -> Self {
        self.by_hash.write_arg_fmt(argument);
        self
    }

    /// With its text, for a server that has forgotten it: this also makes it known again.
    pub(crate) fn by_text(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(self.script.code);
        for argument in self.by_hash.args_iter().skip(2) {
            if let Arg::Simple(bytes) = argument {
                command.arg(bytes);
            }
        }
        command
    }
}

/// Makes a script known to the server.
pub(crate) fn load(script: &Script) -> Cmd {
    let mut command = redis::cmd("SCRIPT");
    command.arg("LOAD").arg(script.code);
    command
}
