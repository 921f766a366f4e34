# Builds the operator's bundle, then ships it alone. `docker build -t karpenter-ts .`
#
# Both bases are pinned by the digest of their multi-platform index: what was tested is what is built. To renew one:
#   docker buildx imagetools inspect node:24.21.0-bookworm-slim --format '{{.Manifest.Digest}}'
#   docker buildx imagetools inspect gcr.io/distroless/nodejs24-debian12:nonroot --format '{{.Manifest.Digest}}'
# and write it here, or try it by `--build-arg RUNTIME_IMAGE=…@sha256:…`. A Node.js that does not know one of the options
# below fails in the build, at `--help`.
ARG BUILD_IMAGE=node:24.21.0-bookworm-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot@sha256:14d42e2511532589a7c7e01a753667a74fcc96266e137e8125006b87b0c32d0a

# The bundle is the same for every platform, so the stage never runs under emulation.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
# Logs and the metric `karpenter_build_info` tell it; git's own files are not in the build. The list of packages is made from the
# source maps, which the image does not contain.
ARG SOURCE_REVISION=
RUN npm run build && node scripts/sbom.ts dist/operator && rm dist/operator/*.map && mkdir /compiled

# Node.js and what it links to: no shell, no package manager. Its user `nonroot` is 65532.
FROM ${RUNTIME_IMAGE}
# Threads that exchange messages would else keep a pool of freed memory each, and the pools what was freed at their ends.
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/compiled MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=65536
COPY --from=build /src/dist/operator /app
COPY --from=build --chown=65532:65532 /compiled /app/compiled
USER 65532:65532
# Compiled ahead by the user that runs it, with the same flags: it starts a quarter sooner.
RUN ["/nodejs/bin/node", "--max-old-space-size-percentage=26", "--max-semi-space-size=4", "/app/main.js", "--help"]
# The root file system may be read-only: nothing is written at run time.
# The main thread's heap may take 26 % of the container's memory limit; the operator divides the rest between its
# workers and what is not on a heap (src/process/memory-budget.ts). Source maps would cost 80 MB of memory.
ENTRYPOINT ["/nodejs/bin/node", "--max-old-space-size-percentage=26", "--max-semi-space-size=4", "/app/main.js"]
