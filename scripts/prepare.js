/**
 * Builds the pages after `npm ci`, where they are missing. Without the development packages (`npm
 * ci --omit=dev`, or the published package, which contains the pages) it cannot build.
 */
import { spawnSync } from 'child_process';
import { existsSync } from 'fs';
import { dirname, join } from 'path';
import { fileURLToPath } from 'url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
if (existsSync(join(root, 'node_modules', 'vite', 'package.json'))) {
  const script = join(root, 'scripts', 'node.js');
  const { status } = spawnSync(
    process.execPath,
    [script, join(root, 'scripts', 'prepare-pages.ts')],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  process.exitCode = status === null ? 1 : status;
} else {
  console.log('The pages are not built: the development packages are not installed.');
}
