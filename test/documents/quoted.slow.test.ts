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
  const told = quoted('docs/how-to/run-as-a-service.md', 'ini', 'ExecStart');
  const shipped = readFileSync(join(root, 'packaging/debian/svc.service'), 'utf8');
  const lines = (unit: string): readonly string[] => {
    return unit
      .split('\n')
      .filter((line) => /^[^#]/.test(line) && !line.startsWith('Documentation='));
  };
  const own = told.replace('/usr/local/bin/svc', '/usr/bin/svc');
  assert.deepEqual(lines(own), lines(shipped));
});

/** systemd has nothing to say about the unit, and the unit exposes little. */
async function assertSound(name: string, instance: string, text: string): Promise<void> {
  await using folder = await scratch();
  await writeFile(join(folder.path, name), text);
  const file = join(folder.path, instance);
  const args = ['-c', 'exec "$0" verify --man=no "$1" 2>&1', analyze, file];
  const told = execFileSync('sh', args, { encoding: 'utf8' });
  assert.doesNotMatch(told, /svc@?1?\.service/);
  const said = execFileSync(analyze, ['security', '--offline=true', file], { encoding: 'utf8' });
  const [, exposure] = /exposure level for svc@?1?\.service: ([\d.]+)/.exec(said) ?? [];
  assert.ok(Number(exposure) <= 1.5, said);
}

test('systemd knows all that the unit of the page says', { skip: noAnalyze }, async () => {
  const unit = quoted('docs/how-to/run-as-a-service.md', 'ini', 'ExecStart');
  const here = unit.replace('/usr/local/bin/svc', join(root, 'svc'));
  await assertSound('svc.service', 'svc.service', here);
});

test('systemd knows all that the unit of instances says', { skip: noAnalyze }, async () => {
  const unit = readFileSync(join(root, 'examples/many/svc@.service'), 'utf8');
  assert.ok(unit.includes('=/opt/svc/%i serve '));
  const here = unit.replace('/opt/svc/%i', join(root, 'svc'));
  await assertSound('svc@.service', 'svc@1.service', here);
});
