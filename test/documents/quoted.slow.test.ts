/** Gives files of other programs that the pages show to those programs. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { canRun } from '../../src/lib/executable.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { quoted } from './blocks.ts';

const analyze = '/usr/bin/systemd-analyze';
const noAnalyze = !canRun(analyze) && `there is no ${analyze}: apt install systemd`;

test('the unit of the page is that of the package', () => {
  const told = quoted('docs/how-to/run-as-a-service.md', 'ini', 'Description=');
  const shipped = readFileSync(join(root, 'packaging/debian/svc.service'), 'utf8');
  const lines = (unit: string): readonly string[] => {
    return unit
      .split('\n')
      .filter((line) => /^[^#]/.test(line) && !line.startsWith('Documentation='));
  };
  const own = told.replace('/usr/local/bin/svc', '/usr/bin/svc');
  assert.deepEqual(lines(own), lines(shipped));
});

const unitName = /\b(?:svc@?1?|litestream)\.service/;

/** systemd has nothing to say about the unit. With `exposureMax`, the unit exposes little. */
async function assertSound(
  name: string,
  text: string,
  { instance = name, exposureMax = Infinity } = {},
): Promise<void> {
  await using folder = await scratch();
  await writeFile(join(folder.path, name), text);
  const file = join(folder.path, instance);
  const args = ['-c', 'exec "$0" verify --man=no "$1" 2>&1', analyze, file];
  const told = execFileSync('sh', args, { encoding: 'utf8' });
  assert.doesNotMatch(told, unitName);
  const said = execFileSync(analyze, ['security', '--offline=true', file], { encoding: 'utf8' });
  const [, exposure] = /exposure level for [\w@.]+: ([\d.]+)/.exec(said) ?? [];
  assert.ok(Number(exposure) <= exposureMax, said);
}

test('systemd knows all that the unit of the page says', { skip: noAnalyze }, async () => {
  const unit = quoted('docs/how-to/run-as-a-service.md', 'ini', 'Description=');
  const here = unit.replace('/usr/local/bin/svc', join(root, 'svc'));
  await assertSound('svc.service', here, { exposureMax: 1.5 });
});

test('systemd knows all that the unit of instances says', { skip: noAnalyze }, async () => {
  const unit = readFileSync(join(root, 'examples/many/svc@.service'), 'utf8');
  assert.ok(unit.includes('=/opt/svc/%i serve '));
  const here = unit.replace('/opt/svc/%i', join(root, 'svc'));
  await assertSound('svc@.service', here, { instance: 'svc@1.service', exposureMax: 1.5 });
});

test('systemd knows all that the unit of Litestream says', { skip: noAnalyze }, async () => {
  const unit = quoted('docs/recipes/litestream.md', 'ini', 'ExecStart');
  assert.ok(unit.includes('=/usr/local/bin/litestream replicate '));
  const here = unit.replace('/usr/local/bin/litestream', join(root, 'svc'));
  await assertSound('litestream.service', here);
});
