#!/bin/sh
# Builds the three functions in release and lays each out as target/lambda/<name>/bootstrap, where the template looks.
set -eu
cd "$(dirname "$0")/.."

built=${CARGO_TARGET_DIR:-target}/release
cargo build --release --locked -p reverie-api -p reverie-ingest -p reverie-dream-executor
for name in api ingest dream-executor; do
    binary=$built/reverie-$name
    # Amazon Linux 2023 has glibc 2.34. A binary linked against a newer one may need more and then does not start.
    if command -v objdump >/dev/null; then
        newest=$(objdump -T "$binary" | sed -n 's/.*(\{0,1\}GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1)
        if [ "$(printf '%s\n2.34\n' "$newest" | sort -V | tail -n 1)" != 2.34 ]; then
            echo "$binary needs glibc $newest, but provided.al2023 has 2.34: build it on an older system" >&2
            exit 1
        fi
    fi
    mkdir -p "target/lambda/$name"
    install -m 755 "$binary" "target/lambda/$name/bootstrap"
done
du -h target/lambda/*/bootstrap
