# The recipes, as a list
default:
    @just --list --unsorted

# Format and lints, as CI wants them
check:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

# Everything that needs no cluster
test:
    cargo test

# Write the generated files again
crds:
    cargo run -- schema scenario > target/scenario.json
    cp target/scenario.json schemas/scenario.json
    cargo run -- crd > target/crd.yaml
    cp target/crd.yaml crds/probepolicies.yaml
    cp target/crd.yaml deploy/01-crd.yaml
    BLESS=1 cargo test --test deploy

# Both images as archives, without a container engine
image:
    deploy/image

# A real Kubernetes of two nodes on this machine (root), with the images
cluster-up: image
    tests/cluster/cluster up 2
    tests/cluster/cluster load target/images/probe-policy.tar
    tests/cluster/cluster load target/images/fake-app.tar

# Take it down again
cluster-down:
    tests/cluster/cluster down

# The tests that need the cluster
e2e:
    eval "$(tests/cluster/cluster env)" && cargo test -- --ignored --test-threads=6

# What CI runs
ci:
    .ci/run
