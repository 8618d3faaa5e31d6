/** Installs the package of svc, as the base of the packages for a system. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** The names are npm's. */
export type Platform = { readonly os: string; readonly cpu: string; readonly libc?: string };

const usual: Platform = { os: 'linux', cpu: 'x64', libc: 'glibc' };

/**
 * Unpacks the tarball and installs the versions of its lock for a platform, without install
 * scripts.
 * @param scratch an empty folder of its own
 * @param platform default: Linux x64 with glibc
 * @returns the folder of the program
 */
export async function makeProgram(
  tarball: string,
  scratch: string,
  platform = usual,
): Promise<string> {
  const program = join(scratch, 'program');
  mkdirSync(program, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', program]);
  const chosen = Object.entries(platform).map(([name, value]) => `--${name}=${value}`);
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...chosen];
  await run('npm', args, { cwd: program });
  return program;
}
