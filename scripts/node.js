/**
 * Runs Node with the arguments given: this Node when it is new enough, else the Node that npm
 * installed beside svc. npm 11 puts the installed one first on the path of its scripts, npm 10 does
 * not. The files of a test run share much code, so they find it compiled.
 */
import { spawn } from 'child_process';
import { existsSync } from 'fs';
import { delimiter, dirname, join } from 'path';
import { fileURLToPath } from 'url';
import { bundledNode, checkoutAdvice, isInstalled, isNewEnough } from '../bin/bundled-node.js';

const modules = join(dirname(fileURLToPath(import.meta.url)), '..', 'node_modules');
const node = isNewEnough() ? process.execPath : bundledNode();
// Of the packages for development: all scripts need them.
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
