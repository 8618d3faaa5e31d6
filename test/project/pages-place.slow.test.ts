/** The build of the pages: web/dist/ is complete, or is known to be stale. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
  arePagesFresh,
  beginFolder,
  inputFiles,
  pageNames,
  pagesFolder,
  putPages,
} from '../../scripts/pages-stamp.ts';
import type * as stamp from '../../scripts/pages-stamp.ts';
import { scratch } from '../support/program.ts';
import { root, runProgram } from '../support/run-svc.ts';

function fill(folder: string, mark: string): void {
  for (const name of pageNames) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'index.html'), mark);
  }
}

test('pages are fresh when they are whole, and made of what lies there now', async () => {
  await using place = await scratch();
  const dist = join(place.path, 'dist');
  assert.equal(arePagesFresh(dist, 'one'), false);
  const made = beginFolder(dist);
  fill(made, 'first');
  assert.equal(arePagesFresh(dist, 'one'), false, 'a build that goes on is none');
  putPages(made, 'one', dist);
  assert.equal(arePagesFresh(dist, 'one'), true);
  assert.equal(arePagesFresh(dist, 'two'), false);
  assert.deepEqual(readdirSync(place.path), ['dist']);

  const next = beginFolder(dist);
  mkdirSync(join(next, 'live'));
  assert.equal(arePagesFresh(dist, 'one'), true, 'what was there stays until the next is whole');
  putPages(next, 'two', dist);
  assert.equal(arePagesFresh(dist, 'two'), false, 'a page is missing');
});

const stampModule = JSON.stringify(pathToFileURL(join(root, 'scripts/pages-stamp.ts')).href);
const builder = `
import { beginFolder, pageNames, putPages } from ${stampModule};
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
const [dist, mark, times] = process.argv.slice(2);
for (let done = 0; done < Number(times); done++) {
  const made = beginFolder(dist);
  for (const name of pageNames) {
    mkdirSync(join(made, name));
    writeFileSync(join(made, name, 'index.html'), mark);
  }
  if (times === '1') process.kill(process.pid, 'SIGKILL');
  putPages(made, mark, dist);
}
`;

test('builds at once do not break each other, and one that is killed leaves nothing', async () => {
  await using place = await scratch();
  const [dist, file] = [join(place.path, 'dist'), join(place.path, 'builder.ts')];
  writeFileSync(file, builder);
  const run = (...args: string[]) => runProgram(process.execPath, [file, dist, ...args]);
  const killed = run('killed', '1');
  assert.equal((await killed.ended).signal, 'SIGKILL', killed.err());
  assert.equal(existsSync(dist), false);

  const marks = ['a', 'b', 'c'];
  const runs = marks.map((mark) => run(mark, '200'));
  for (const one of runs) assert.deepEqual(await one.ended, { code: 0, signal: null }, one.err());
  const mark = readFileSync(join(dist, '.inputs'), 'utf8');
  assert.ok(marks.includes(mark));
  for (const name of pageNames) {
    assert.equal(readFileSync(join(dist, name, 'index.html'), 'utf8'), mark);
  }
  assert.deepEqual(readdirSync(place.path).sort(), ['builder.ts', 'dist']);
});

test('npm ci builds no pages that are there already', async () => {
  await using place = await scratch();
  for (const name of ['scripts', 'bin', 'web', 'src/config', 'src/domain', 'apps/setup']) {
    const filter = (path: string): boolean => path !== pagesFolder;
    cpSync(join(root, name), join(place.path, name), { recursive: true, filter });
  }
  for (const name of ['package.json', 'package-lock.json', 'tsconfig.json']) {
    cpSync(join(root, name), join(place.path, name));
  }
  // The check for build tools only looks for these.
  for (const name of ['vite', 'typescript']) {
    mkdirSync(join(place.path, 'node_modules', name), { recursive: true });
    writeFileSync(join(place.path, 'node_modules', name, 'package.json'), '{}');
  }
  writeFileSync(join(place.path, 'node_modules', '.package-lock.json'), '{}');
  const copied = pathToFileURL(join(place.path, 'scripts', 'pages-stamp.ts')).href;
  const own = (await import(copied)) as typeof stamp;
  const made = own.beginFolder(own.pagesFolder);
  fill(made, 'built');
  own.putPages(made, own.inputsHash());
  const prepare = () => runProgram(process.execPath, [join(place.path, 'scripts', 'prepare.js')]);
  const fresh = prepare();
  assert.deepEqual(await fresh.ended, { code: 0, signal: null }, fresh.err());
  assert.equal(fresh.out(), 'The pages are fresh: nothing is built.\n');

  writeFileSync(join(place.path, 'src', 'domain', 'plural.ts'), '// edited');
  const stale = prepare();
  // The tools are not really there, so the build fails and says so.
  assert.equal((await stale.ended).code, 1);
  assert.doesNotMatch(stale.out(), /fresh/);
});

test('whatever the pages are made of makes them stale when it is edited', () => {
  const inputs = inputFiles();
  const reached = new Set(inputs.filter((file) => file.startsWith('web/')));
  for (const file of reached) {
    const text = readFileSync(join(root, file), 'utf8');
    const imported = text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.tsx?)'/g);
    for (const [whole, path] of imported) {
      const types = new RegExp(`(?:im|ex)port type [^;]*${RegExp.escape(whole)}`).test(text);
      if (!types) reached.add(relative(root, join(root, dirname(file), path!)));
    }
  }
  assert.ok(
    reached.has('src/channels/registry.ts') && reached.size > 100,
    'the imports are followed',
  );
  assert.deepEqual(
    [...reached].filter((file) => !inputs.includes(file)),
    [],
  );
});
