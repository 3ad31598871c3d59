#!/bin/sh
# Cargo, as maturin runs it in the suite: builds the package as a part of the workspace, with the
# features that everything is built with (crates/proof/xtask/suites.toml). So what is built already is not
# built again. Of the messages, maturin gets those about the package: it would take any shared library for it.
if [ "$1" = rustc ]; then
    messages=$(cargo build --workspace --features fairways-doors/sched-ext --lib --test wheel --locked \
        --message-format json-render-diagnostics) || exit
    printf '%s\n' "$messages" | grep -e '"name":"_fairways"' -e '"reason":"build-finished"'
else
    exec cargo "$@"
fi
