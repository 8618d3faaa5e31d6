#!/usr/bin/env node
/*
 * The launcher. It runs the program in this process when this Node is new enough, else it runs
 * itself again under the Node that came with the package. Written in the JavaScript that Node 12
 * can read, so that an old Node gets a sentence and not a syntax error.
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
 * Else Node opens a debugger at this signal, by which every program of the same user could read
 * the secrets.
 */
process.on('SIGUSR1', () => {});

const flushAfterMs = 1000;
const self = fileURLToPath(import.meta.url);
const root = join(self, '..', '..');
const built = join(root, 'dist', 'main.js');
const entry = join(root, 'src', 'main.ts');
// A published package has no sources.
const isCheckout = existsSync(entry);

// What is built needs no packages to start.
if (isCheckout && !existsSync(built) && !isInstalled()) {
  refuse(checkoutAdvice());
} else if (isNewEnough()) {
  run();
} else {
  const node = bundledNode();
  // Few need it, and it takes 2 ms of every start.
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
 * The published program is in dist/. A checkout runs its sources as they are, unless dist/ was
 * built from them: an edit or a pull after the build is never hidden by it.
 */
function mainModule() {
  if (process.env.SVC_FROM_SOURCES === '1' || !existsSync(built)) return entry;
  const builtAt = statSync(built).mtimeMs;
  const folders = [join(root, 'src'), join(root, 'apps')];
  const stale = isCheckout && folders.some((folder) => changedSince(folder, builtAt));
  return stale ? entry : built;
}

/** Whether a file below was written, or a folder gained or lost one, after that time. */
function changedSince(path, timeMs) {
  const facts = statSync(path, { throwIfNoEntry: false });
  if (facts === undefined) return false;
  if (facts.mtimeMs > timeMs) return true;
  if (!facts.isDirectory()) return false;
  return readdirSync(path).some((name) => changedSince(join(path, name), timeMs));
}

/**
 * The next start finds its code compiled. Node writes the cache when it ends, but not when a
 * signal ends it, so it is written soon after the start as well.
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
 * A signal may come to this process alone (kill, a container's stop) or to the child as well (a
 * terminal's Ctrl-C, a service manager). So it is passed on as a message, and the child counts
 * what came both ways as one. The same channel, when it breaks, tells the child that this process
 * is gone.
 */
function relaunch(node, spawn) {
  // Until the program listens to the signal itself, no debugger is there to open.
  const args = ['--disable-sigusr1', self].concat(process.argv.slice(2));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  const pass = (signal) => {
    if (child.connected) child.send({ signal }, () => {});
  };
  // Before the program begins: it may be up before this process goes on.
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
      // At once, with the listeners above: a signal that comes late was for the program.
      process.exit(code);
    } else {
      process.removeListener(signal, pass);
      process.kill(process.pid, signal);
    }
  });
}

/**
 * At its end a Node before 24 gives each terminal its settings back, and aborts where one has been
 * closed from the other side. What is not open here any more is left alone.
 */
function letGo(terminals) {
  for (const fd of terminals.filter((one) => !isatty(one))) closeSync(fd);
}
