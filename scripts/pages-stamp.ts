/** Whether web/dist/ is what the sources of the pages make: it keeps a hash of its inputs. */
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const stamp = join(root, 'web', 'dist', '.inputs');

/** test/tidy.test.ts holds that the pages take nothing else from src/. */
const inputs = [
  'web/{live,builder,setup,kit}/**/*.{ts,tsx,css,html,svg}',
  'src/{config,domain}/**/*.ts',
  'src/setup/setup.ts',
  'scripts/pages{,-stamp}.ts',
  '{,web/}tsconfig.json',
  'package-lock.json',
];

export function arePagesFresh(): boolean {
  try {
    return readFileSync(stamp, 'utf8') === inputsHash();
  } catch {
    return false;
  }
}

/** While a build is under way, or only one page was built, nothing is known. */
export function forgetPages(): void {
  rmSync(stamp, { force: true });
}

/** @param hash of the inputs as they were when the build began */
export function rememberPages(hash: string): void {
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, hash);
}

export function inputsHash(): string {
  const files = globSync(inputs, { cwd: root }).filter((file) => !file.endsWith('.test.ts'));
  const hash = createHash('sha256');
  for (const file of files.sort()) hash.update(`${file}\0`).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}
