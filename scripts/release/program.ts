/** svc as an install of the package makes it, which the packages for a system are made of. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.ts';

/**
 * Unpacks the tarball and installs what its lock names, for Linux x64 with glibc and without any
 * install script.
 * @param scratch a folder of its own
 * @returns the folder of the program
 */
export async function makeProgram(tarball: string, scratch: string): Promise<string> {
  const program = join(scratch, 'program');
  mkdirSync(program, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', program]);
  const platform = ['--os=linux', '--cpu=x64', '--libc=glibc'];
  const args = ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', ...platform];
  await run('npm', args, { cwd: program });
  return program;
}
