/**
 * A process of test-run.ts: runs test files, one after the other, that no other process has begun.
 * Each is its own suite, so that its hooks end with the file.
 * Arguments: the folder whose `options.json` names the files, and the name of this process.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, suite } from 'node:test';
import { pathToFileURL } from 'node:url';
import { changesSinceNoted, noteState } from './process-state.ts';
import type { Options } from './test-run.ts';

const [folder, name] = process.argv.slice(-2) as [string, string];
const options = readFileSync(join(folder, 'options.json'), 'utf8');
const { files, env } = JSON.parse(options) as Options;
Object.assign(process.env, env);

for (const [place, file] of files.entries()) if (isClaimed(place)) await runFile(file);

/** A file belongs to the process that first writes its name to the file's place. */
function isClaimed(place: number): boolean {
  try {
    writeFileSync(join(folder, String(place)), `${name} ${process.pid}`, { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function runFile(file: string): Promise<void> {
  // node:test's events arrive later than the file's output.
  for (const stream of [process.stdout, process.stderr]) stream.write(`\n── ${file}\n`);
  return new Promise((resolve) => {
    void suite(file, () => {
      after(() => {
        resolve();
        const changed = changesSinceNoted();
        if (changed.length > 0) throw new Error(`it leaves ${changed.join(', ')} changed`);
      });
      // Inside, so that the hook above runs even when a hook of the file failed.
      void suite('the file', async () => {
        // node:test's own listeners are in place now.
        noteState();
        await import(pathToFileURL(file).href);
      });
    });
  });
}
