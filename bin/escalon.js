#!/usr/bin/env node
// Starts the command line on Node 24: on this one when it is new enough, else on the one that npm installed beside it
// (an optional dependency per platform), so that a machine whose own Node is older needs nothing else.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const NEEDED = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const main = join(root, 'dist', 'apps', 'cli', 'main.js');

if (!existsSync(main)) {
  console.error('escalon is not built yet: run `npm ci`, or `npm run build` after a change');
  process.exit(1);
}
if (Number(process.versions.node.split('.')[0]) >= NEEDED) await import(pathToFileURL(main).href);
else runOnPackagedNode();

/** The wrapper adds nothing of its own: streams, signals and the way it ended are those of the real process. */
function runOnPackagedNode() {
  const node = packagedNode();
  // The channel tells the child when this wrapper is killed, so that it does not run on alone.
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: ['inherit', 'inherit', 'inherit', 'ipc'] });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('error', (error) => {
    console.error(`cannot start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function packagedNode() {
  const name = `node-${process.platform}-${process.arch}`;
  for (let folder = root; ; folder = dirname(folder)) {
    const node = join(folder, 'node_modules', name, 'bin', 'node');
    if (existsSync(node)) return node;
    if (folder === dirname(folder)) break;
  }
  console.error(
    `escalon needs Node ${NEEDED} or later; this is ${process.version}, and the package ${name} is not installed`,
  );
  process.exit(1);
}
