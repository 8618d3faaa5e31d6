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

test('systemd knows all that the unit of the page says', { skip: noAnalyze }, async () => {
  await using folder = await scratch();
  const unit = quoted('docs/how-to/run-as-a-service.md', 'ini', 'ExecStart');
  const file = join(folder.path, 'svc.service');
  await writeFile(file, unit.replace('/usr/local/bin/svc', join(root, 'svc')));
  const args = ['-c', 'exec "$0" verify --man=no "$1" 2>&1', analyze, file];
  const told = execFileSync('sh', args, { encoding: 'utf8' });
  assert.doesNotMatch(told, /svc\.service/);
  const said = execFileSync(analyze, ['security', '--offline=true', file], { encoding: 'utf8' });
  const [, exposure] = /exposure level for svc\.service: ([\d.]+)/.exec(said) ?? [];
  assert.ok(Number(exposure) <= 1.5, said);
});
