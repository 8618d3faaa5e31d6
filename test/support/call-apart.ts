/** Calls a function in a new process. For example node:test runs no files inside of a test. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { scratch } from './program.ts';

/**
 * @param module the URL of the module that exports the function
 * @param args passed as JSON, like the function's result
 * @throws with the output of the process, when the function has thrown
 */
export async function callApart(
  module: string,
  name: string,
  ...args: readonly unknown[]
): Promise<unknown> {
  const text = `
    import { ${name} } from ${JSON.stringify(module)};
    const returned = await ${name}(...${JSON.stringify(args)});
    process.stdout.write(JSON.stringify(returned));`;
  await using folder = await scratch();
  const program = join(folder.path, 'program.mjs');
  await writeFile(program, text);
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined };
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [program], { env, maxBuffer: 2 ** 24 });
  return JSON.parse(stdout);
}
