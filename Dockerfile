# One image for every process; the command says which. Node 24 is the base, so nothing is re-executed.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc .swcrc tsconfig.json ./
COPY bin bin
COPY tools tools
COPY apps apps
COPY libs libs
COPY test test
RUN npm ci --no-audit --no-fund && npm prune --omit=dev --omit=optional --ignore-scripts

FROM node:24-bookworm-slim
ENV NODE_ENV=production ESCALON_DATA=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/bin bin
COPY examples examples
# Named volumes take over the owner of the folder that they cover.
RUN mkdir /data /agent && chown node:node /data /agent
USER node
EXPOSE 8080
CMD ["node", "--disable-warning=ExperimentalWarning", "dist/apps/orchestrator/main.js"]
