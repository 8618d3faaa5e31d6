/** read_file against a process that constantly swaps its files for links. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createReadFile } from '../../src/brains/tools/read-file/read-file.ts';
import { scratch } from '../support/program.ts';
import { canary } from './read-file-attacks.ts';
import { runs } from '../support/runs.ts';
import { callTool } from './tool-call.ts';

const reads = runs(3_000);
const atOnce = 16;
const controlReadsMax = 1_000_000;
const paths = ['file.txt', 'folder/file.txt', 'moving/file.txt'];

type Reader = (path: string) => Promise<string>;

/** Counts the reads, the results from inside, and the leaks, until `enough` returns true. */
async function count(read: Reader, enough: (tally: Tally) => boolean): Promise<Tally> {
  const tally: Tally = { reads: 0, inside: 0, leaks: 0 };
  const go = async (): Promise<void> => {
    while (!enough(tally)) {
      const text = await read(paths[tally.reads++ % paths.length]!);
      if (text.includes(canary)) tally.leaks++;
      if (text === 'inside') tally.inside++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, go));
  return tally;
}

type Tally = { reads: number; inside: number; leaks: number };

test('reads of what is swapped leak nothing, and a naive reader leaks', async (context) => {
  if (process.platform !== 'linux') return context.skip('the cage is strong on Linux alone');
  await using folder = await scratch();
  const [root, outside] = [join(folder.path, 'root'), join(folder.path, 'outside')];
  for (const path of [root, outside]) mkdirSync(path);
  writeFileSync(join(outside, 'file.txt'), canary);
  const program = join(import.meta.dirname, '..', 'fake', 'link-swapper.ts');
  const swapper = spawn(process.execPath, [program, root, outside], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(swapper, 'exit');
  try {
    await once(swapper.stdout, 'data');
    const naive: Reader = async (path) => {
      try {
        const real = await realpath(join(root, path));
        return real.startsWith(`${root}/`) ? await readFile(real, 'utf8') : '';
      } catch {
        return '';
      }
    };
    const control = await count(naive, (t) => t.leaks > 0 || t.reads >= controlReadsMax);
    assert.ok(control.leaks > 0, 'the test can see a leak');
    const tool = createReadFile({ root, bytesMax: 4_096 });
    const caged: Reader = async (path) => (await callTool(tool, { path })).text;
    const tally = await count(caged, (t) => t.reads >= reads);
    assert.equal(tally.leaks, 0);
    assert.ok(tally.inside > reads / 100, `only ${tally.inside} of ${reads} were read at all`);
  } finally {
    swapper.stdin.end();
    await ended;
  }
});
