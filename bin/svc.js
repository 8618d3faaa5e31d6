#!/usr/bin/env node
/*
 * The launcher. It runs the program in this process if this Node is new enough. Otherwise it runs
 * itself again under the Node that came with the package. Written in JavaScript that Node 12 can
 * read, so that an old Node prints a sentence, not a syntax error.
 */
import { closeSync, existsSync, mkdirSync, readdirSync, statSync } from 'fs';
import * as nodeModule from 'module';
import { homedir } from 'os';
import { join } from 'path';
import { isatty } from 'tty';
import { fileURLToPath, pathToFileURL } from 'url';
import {
  bundledNode,
  checkoutAdvice,
  isInstalled,
  isNewEnough,
  nodeMajorMin,
} from './bundled-node.js';

/*
 * By default this signal makes Node open a debugger, from which every program of the same user
 * could read the secrets.
 */
process.on('SIGUSR1', () => {});

const flushAfterMs = 1000;
const self = fileURLToPath(import.meta.url);
const root = join(self, '..', '..');
const built = join(root, 'dist', 'main.js');
const entry = join(root, 'src', 'main.ts');
// A published package has no sources.
const isCheckout = existsSync(entry);

// A built program needs no packages to start.
if (isCheckout && !existsSync(built) && !isInstalled()) {
  refuse(checkoutAdvice());
} else if (isNewEnough()) {
  run();
} else {
  const node = bundledNode();
  // Few starts need this module, and it takes 2 ms.
  if (node !== null) void import('child_process').then(({ spawn }) => relaunch(node, spawn));
  else refuse(isCheckout ? checkoutAdvice() : packageAdvice());
}

function refuse(advice) {
  process.stderr.write(`${advice}\n`);
  process.exitCode = 78;
}

function packageAdvice() {
  return (
    `svc needs Node ${nodeMajorMin} or newer; this is ${process.version}. Install a newer Node, ` +
    'or the package of svc that brings one along.'
  );
}

function run() {
  keepCompiledCode();
  import(pathToFileURL(mainModule()).href)
    .then((program) => program.main(process.argv.slice(2)))
    .catch((error) => {
      const debug = /\bdebug\b/.test(process.argv.join(' '));
      const missing = error && error.code === 'ERR_MODULE_NOT_FOUND';
      const hint = missing ? 'Run "npm ci" (or "npm install") first.' : '';
      const what = (error && (debug ? error.stack : error.message)) || error;
      process.stderr.write(`svc could not start: ${what}\n${hint && `${hint}\n`}`);
      process.exitCode = 1;
    });
}

/**
 * A published package runs dist/. A checkout runs its sources, unless dist/ was built from them, so
 * the build never hides a later edit or pull.
 */
function mainModule() {
  if (process.env.SVC_FROM_SOURCES === '1' || !existsSync(built)) return entry;
  const builtAt = statSync(built).mtimeMs;
  const folders = [join(root, 'src'), join(root, 'apps')];
  const stale = isCheckout && folders.some((folder) => changedSince(folder, builtAt));
  return stale ? entry : built;
}

/** Whether, after that time, a file below was written, or a folder gained or lost one. */
function changedSince(path, timeMs) {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return false;
  if (facts.mtimeMs > timeMs) return true;
  if (!facts.isDirectory()) return false;
  return readdirSync(path).some((name) => changedSince(join(path, name), timeMs));
}

/**
 * Gives the next start compiled code. Node writes the cache when it ends, but not when a signal
 * ends it. So this function also writes it soon after the start.
 */
function keepCompiledCode() {
  if (process.env.NODE_COMPILE_CACHE === undefined) {
    const folder = join(cacheFolder(), 'svc', 'compiled');
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
    } catch {
      return;
    }
    nodeModule.enableCompileCache(folder);
  }
  setTimeout(() => nodeModule.flushCompileCache(), flushAfterMs).unref();
}

function cacheFolder() {
  const { LOCALAPPDATA, XDG_CACHE_HOME } = process.env;
  if (process.platform === 'win32') return LOCALAPPDATA || join(homedir(), 'AppData', 'Local');
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches');
  return XDG_CACHE_HOME || join(homedir(), '.cache');
}

/**
 * A signal may reach this process alone (kill, a container's stop) or the child as well (a
 * terminal's Ctrl-C, a service manager). So the launcher also passes it on as a message, and the
 * child counts both as one. When the channel breaks, the child knows that this process is gone.
 */
function relaunch(node, spawn) {
  // Prevents a debugger until the program listens to the signal itself.
  const args = ['--disable-sigusr1', self].concat(process.argv.slice(2));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const pass = (signal) => {
    if (child.connected) child.send({ signal }, () => {});
  };
  // Registered first, since the program may be up before this process continues.
  for (const signal of signals) process.on(signal, pass);
  const child = spawn(node, args, {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: Object.assign({}, process.env, { SVC_LAUNCHED: '1' }),
  });
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  child.on('error', (error) => {
    process.stderr.write(`svc could not run ${node}: ${error.message}\n`);
    process.exitCode = 78;
  });
  child.on('exit', (code, signal) => {
    letGo(terminals);
    if (signal === null) {
      // Exits at once, with the listeners above: a late signal was for the program.
      process.exit(code);
    } else {
      process.removeListener(signal, pass);
      process.kill(process.pid, signal);
    }
  });
}

/**
 * At its end, a Node before 24 restores the settings of each terminal, and aborts where the other
 * side has closed one. So this function closes all that are no longer terminals.
 */
function letGo(terminals) {
  for (const fd of terminals.filter((one) => !isatty(one))) closeSync(fd);
}
