/**
 * svc with private brains in a network of its own. The other end plays the Internet and its name
 * server, and records everything. Runtimes lie about the place of the model, names lead elsewhere,
 * and the configuration changes, also to a public brain with a vendor's model. The control is the
 * text to that vendor: it must be seen, or the proof sees nothing.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { scratch } from '../support/program.ts';
import type { Finding } from './private/inside.ts';
import type { Proof, Proved } from './proof.ts';

const apart = ['--user', '--map-root-user', '--net', '--mount'];

export const privateProof: Proof = {
  name: 'private',
  title:
    'Private texts on lying runtimes and over changes of the configuration: none of them leaves ' +
    'the machine, and nobody else is connected to or asked for; public ones (the control) do leave',
  unit: 'runtimes',
  sizes: { change: 40, nightly: 2_000 },
  run: prove,
};

async function prove(count: number, seed: number, say: (line: string) => void): Promise<Proved> {
  await using folder = await scratch();
  const capture = join(folder.path, 'capture');
  const why = whyImpossible(capture);
  if (why !== null) return { kind: 'skipped', why };
  const inside = join(import.meta.dirname, 'private', 'inside.ts');
  const args = [...apart, process.execPath, inside, String(count), String(seed), capture];
  const child = spawn('unshare', [...args, folder.path], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  let last: Finding | null = null;
  child.on('message', (finding: Finding) => {
    if (finding.kind === 'line') say(finding.line);
    else last = finding;
  });
  await ended;
  return conclude(last);
}

function conclude(finding: Finding | null): Proved {
  assert.ok(finding !== null && finding.kind !== 'line', 'the near side ended without a word');
  if (finding.kind === 'impossible') {
    return { kind: 'skipped', why: `there is no network namespace: ${finding.why}` };
  }
  assert.ok(finding.kind === 'found', finding.kind === 'failed' ? finding.why : '');
  const { texts, applied, frames, dropped, leaked, astray, open, openSeen, unlisted } = finding;
  assert.equal(dropped, 0, 'every frame was written down');
  assert.ok(open > 0 && openSeen === open, `${openSeen} of ${open} public texts were seen`);
  const kinds = (names: readonly string[]): object =>
    Object.fromEntries(names.map((name) => [name, leaked.filter((one) => one.startsWith(name))]));
  assert.deepEqual(unlisted, [], 'nobody else is connected to or asked for');
  assert.deepEqual(astray, [], 'a runtime that shows nothing is sent nothing private');
  assert.deepEqual(kinds(['lie-']), { 'lie-': [] }, 'no lie makes a private text leave');
  const none = { 'kept-': [], 'held-': [] };
  assert.deepEqual(kinds(['kept-', 'held-']), none, 'no change of the configuration does');
  return {
    kind: 'proved',
    figures: {
      'private texts': texts - open,
      'of them left': leaked.length,
      'configurations applied': applied,
      'frames captured': frames,
      'unlisted connections and names': unlisted.length,
      'public texts seen by the control': openSeen,
    },
  };
}

/** @param capture the path for the program that records the packets */
function whyImpossible(capture: string): string | null {
  if (process.platform !== 'linux') return 'only Linux has network namespaces';
  for (const [tool, flag] of [
    ['cc', '--version'],
    ['ip', '-V'],
    ['unshare', '-V'],
  ] as const) {
    try {
      execFileSync(tool, [flag], { stdio: 'ignore' });
    } catch {
      return `there is no ${tool}`;
    }
  }
  try {
    execFileSync('unshare', [...apart, 'ip', 'link', 'set', 'lo', 'up'], { stdio: 'pipe' });
  } catch {
    return 'no network namespace can be made by this user';
  }
  const source = join(import.meta.dirname, 'private', 'capture.c');
  execFileSync('cc', ['-O2', '-o', capture, source]);
  return null;
}
