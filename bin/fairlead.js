#!/usr/bin/env node
// Starts Fairlead on a Node that can run its source. Plain JavaScript for any Node: an older one must get far enough
// to find the Node that is installed with the package and hand over to it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { compileCacheDirectory } from './compile-cache.js';

const needed = [24, 15];
const root = dirname(dirname(fileURLToPath(import.meta.url)));

const isNewEnough = () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
};

/** The Node that npm installed with us: linked in .bin, or inside the package for this platform. */
const installedNode = () => {
  const linked = join(root, 'node_modules', '.bin', 'node');
  if (existsSync(linked)) return linked;
  const require = module.createRequire(import.meta.url);
  const platform = `${process.platform}-${process.arch}`;
  for (const name of [`node-${platform}`, `node-bin-${platform}`]) {
    try {
      return join(dirname(require.resolve(`${name}/package.json`)), 'bin', 'node');
    } catch {
      // Not installed under this name; the next one, or the message below.
    }
  }
  return undefined;
};

/** The descriptor of the pipe from an older Node; it closes when that process ends, however it ends. */
const launcherPipe = 3;

const handOver = (node) => {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: { ...process.env, FAIRLEAD_HANDED_OVER: '1' },
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`fairlead: cannot start ${node}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
};

/** Stops this process, as SIGTERM does, when the launcher that started it was killed and could not do so. */
const followLauncher = async () => {
  delete process.env.FAIRLEAD_HANDED_OVER; // not for the processes that this one starts: they have no such pipe
  const { Socket } = await import('node:net');
  const pipe = new Socket({ fd: launcherPipe, readable: true, writable: false }).unref();
  pipe.on('error', () => undefined).on('close', () => process.kill(process.pid, 'SIGTERM'));
  pipe.resume();
};

/**
 * Keeps stripped source between runs, which halves start-up. A directory in NODE_COMPILE_CACHE is the user's own choice
 * and Node has opened it by now: whoever can set the environment of this process can run code in it anyway.
 */
const enableCompileCache = () => {
  if ((process.env.NODE_COMPILE_CACHE ?? '') !== '') return;
  const directory = compileCacheDirectory();
  if (directory !== undefined) module.enableCompileCache(directory);
};

/** A clone runs its source; a published package has no source, and runs what was built from it. */
const program = existsSync(join(root, 'src')) ? '../src/main.ts' : '../dist/main.js';

const isHandedOver = process.env.FAIRLEAD_HANDED_OVER === '1';
if (isNewEnough()) {
  if (isHandedOver) await followLauncher();
  enableCompileCache();
  await import(program);
} else {
  const node = isHandedOver ? undefined : installedNode();
  if (node === undefined) {
    console.error(`fairlead: needs Node ${needed.join('.')} or newer, this is ${process.versions.node}: run npm ci`);
    process.exitCode = 1;
  } else {
    handOver(node);
  }
}
