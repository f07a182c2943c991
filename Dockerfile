# Two images from one build, both from scratch with one static program:
#   docker build --target probe-policy -t localhost/probe-policy:0.1.0 .
#   docker build --target fake-app -t localhost/fake-app:0.1.0 .
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# Naming the target keeps the flags of the programs away from build scripts and procedural macros, which cannot be static.
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/src/target \
    host=$(rustc -vV | sed -n 's/^host: //p') \
 && RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --release --target "$host" --bins \
 && mkdir /out && cp "target/$host/release/probe-policy" "target/$host/release/fake-app" /out/

FROM scratch AS fake-app
COPY --from=build /out/fake-app /fake-app
USER 65532:65532
ENTRYPOINT ["/fake-app"]

FROM scratch AS probe-policy
COPY --from=build /out/probe-policy /probe-policy
USER 65532:65532
ENTRYPOINT ["/probe-policy"]
