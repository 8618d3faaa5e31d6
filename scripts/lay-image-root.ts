/**
 * `npm run lay-image-root -- <folder>`: writes the files of the image into the folder, from the
 * tarball in `release/`. `packaging/Dockerfile` runs it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { layImageRoot } from './release/image-root.ts';
import { stripNode } from './release/node.ts';
import { makeProgram } from './release/program.ts';

const root = join(import.meta.dirname, '..');
const [folder] = process.argv.slice(2);
if (folder === undefined) {
  console.error('Name the folder: npm run lay-image-root -- /image');
  process.exitCode = 2;
} else {
  const scratch = mkdtempSync(join(tmpdir(), 'svc-lay-image-root-'));
  try {
    const text = readFileSync(join(root, 'package.json'), 'utf8');
    const { version } = JSON.parse(text) as { readonly version: string };
    const tarball = join(root, 'release', `svc-router-svc-${version}.tgz`);
    const platform = { os: 'linux', cpu: process.arch, libc: 'glibc' };
    const program = await makeProgram(tarball, scratch, platform);
    const node = join(scratch, 'node');
    await stripNode(root, node);
    layImageRoot({ root, program, node, folder: resolve(folder) });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}
