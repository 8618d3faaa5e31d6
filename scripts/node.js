/**
 * Runs Node with the arguments given: this one when it is new enough, else the one that npm
 * installed beside svc. npm 11 puts that one first on the path of its scripts, npm 10 does not.
 */
import { spawn } from 'child_process';
import { delimiter, dirname } from 'path';
import { bundledNode, isNewEnough, nodeMajorMin } from '../bin/bundled-node.js';

const node = isNewEnough() ? process.execPath : bundledNode();
if (node === null) {
  process.stderr.write(`This needs Node ${nodeMajorMin} or newer; see README.md.\n`);
  process.exitCode = 78;
} else {
  const PATH = [dirname(node), process.env.PATH].join(delimiter);
  const env = Object.assign({}, process.env, { PATH });
  const child = spawn(node, process.argv.slice(2), { stdio: 'inherit', env });
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code : 1;
  });
}
