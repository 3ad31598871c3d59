#!/bin/sh
# Cargo, as maturin runs it in the suite: builds the package as a part of the workspace, with the
# features that its dependencies have there. So what is built already is not built again.
if [ "$1" = rustc ]; then
    exec cargo build --workspace --lib --test wheel --locked \
        --message-format json-render-diagnostics
fi
exec cargo "$@"
