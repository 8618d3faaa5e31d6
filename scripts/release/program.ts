/** svc as an install of the package makes it, which the packages for a system are made of. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/** As npm has it. */
export type Platform = { readonly os: string; readonly cpu: string; readonly libc?: string };

const usual: Platform = { os: 'linux', cpu: 'x64', libc: 'glibc' };

/**
 * Unpacks the tarball and installs what its lock names, for a platform and without any install
 * script.
 * @param scratch a folder of its own
 * @param platform Linux x64 with glibc when left out
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
