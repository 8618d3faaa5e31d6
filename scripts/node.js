/**
 * Runs Node with the given arguments: this Node if it is new enough, otherwise the one that npm
 * installed beside svc. npm 11 puts that one first on the PATH of its scripts; npm 10 does not. The
 * files of a test run share much code, so they get a compile cache.
 */
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import { delimiter, dirname, join } from 'path';
import { fileURLToPath } from 'url';
import { bundledNode, checkoutAdvice, isInstalled, isNewEnough } from '../bin/bundled-node.js';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
const node = isNewEnough() ? process.execPath : bundledNode();
// A development package, which all scripts need.
const isReady = isInstalled() && existsSync(join(modules, 'typescript'));
if (node === null || !isReady) {
  process.stderr.write(`${checkoutAdvice()}\n`);
  process.exitCode = 78;
} else {
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const compiled = join(modules, '.cache', 'compiled');
  const kept = process.argv.includes('--test') ? { NODE_COMPILE_CACHE: compiled } : {};
  const env = Object.assign(kept, process.env, { PATH });
  const child = spawn(node, process.argv.slice(2), { stdio: 'inherit', env });
  child.on('error', (error) => {
    process.stderr.write(`${node} could not be run: ${error.message}\n`);
    process.exitCode = 78;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
