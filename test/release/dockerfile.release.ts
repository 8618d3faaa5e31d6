/** packaging/Dockerfile makes the released image: the test executes its instructions. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { run } from '../../scripts/release/run.ts';
import { scratch } from '../support/program.ts';
import { root } from '../support/run-svc.ts';
import { openImage, type Image, type ImageConfig } from './container.ts';
import { made } from './made.ts';
import { version } from './smoke.ts';

type Instruction = { readonly name: string; readonly words: string };
type Stage = { readonly from: string; readonly instructions: readonly Instruction[] };

/** Format: https://docs.docker.com/reference/dockerfile/, without continued lines. */
function stagesOf(dockerfile: string): readonly Stage[] {
  const lines = dockerfile.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const stages: { from: string; instructions: Instruction[] }[] = [];
  for (const line of lines) {
    assert.ok(!line.endsWith('\\'), `${line} goes on`);
    const [, name = '', words = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push({ from: words, instructions: [] });
    else stages.at(-1)!.instructions.push({ name, words });
  }
  return stages;
}

const nanoseconds = (words: string, name: string): number => {
  const [, seconds] = new RegExp(`--${name}=(\\d+)s`).exec(words)!;
  return Number(seconds) * 1e9;
};

/** The configuration of an image with these instructions. */
function configOf({ instructions }: Stage): ImageConfig {
  const all = (name: string): readonly string[] => {
    return instructions.filter((one) => one.name === name).map(({ words }) => words);
  };
  const one = (name: string): string => {
    const [words, ...others] = all(name);
    assert.ok(words !== undefined && others.length === 0, `${name} stands there once`);
    return words;
  };
  const list = (text: string): string[] => JSON.parse(text) as string[];
  const given = Object.fromEntries(all('ARG').map((words) => words.split('=') as [string, string]));
  const labels = all('LABEL').map((words) => {
    const [, name, text] = /^(\S+)="(.*)"$/.exec(words)!;
    return [name!, text!.replaceAll(/\$(\w+)/g, (_, arg: string) => given[arg]!)] as const;
  });
  const health = one('HEALTHCHECK');
  const Healthcheck = {
    Test: ['CMD', ...list(health.slice(health.indexOf(' CMD ') + 5))],
    Interval: nanoseconds(health, 'interval'),
    Timeout: nanoseconds(health, 'timeout'),
    StartPeriod: nanoseconds(health, 'start-period'),
    Retries: Number(/--retries=(\d+)/.exec(health)![1]),
  };
  const ports = one('EXPOSE')
    .split(' ')
    .map((port) => [`${port}/tcp`, {}] as const);
  return {
    Cmd: list(one('CMD')),
    Entrypoint: list(one('ENTRYPOINT')),
    Env: one('ENV').split(' '),
    ExposedPorts: Object.fromEntries(ports),
    Healthcheck,
    Labels: Object.fromEntries(labels),
    StopSignal: one('STOPSIGNAL'),
    User: one('USER'),
    Volumes: { [one('VOLUME')]: {} },
    WorkingDir: one('WORKDIR'),
  };
}

/** Path, kind, mode and digest of all files, except those of a running container. */
function listed(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => {
      const facts = lstatSync(join(folder, name));
      const mode = (facts.mode & 0o7777).toString(8);
      if (facts.isDirectory()) return `${name}/ ${mode}`;
      const digest = createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex');
      return `${name} ${mode} ${digest}`;
    })
    .sort();
}

const { path: archive, skip } = made('image', `svc-${version}-image.tar`);
const stages = stagesOf(readFileSync(join(root, 'packaging', 'Dockerfile'), 'utf8'));

test('it says of the image what the release says, and gathers all of it', { skip }, async (t) => {
  await using place = await scratch();
  const image = await openImage(archive, place.path);
  await t.test('its last stage begins with nothing, and says the same', () => assertSaid(image));
  await t.test('what it gathers is every file', () => assertGathered(image, place.path));
});

function assertSaid({ config }: Image): void {
  const { OnBuild: _, Tty: __, ...told } = config as ImageConfig & Record<string, unknown>;
  const isSaid = ([, value]: readonly [string, unknown]): boolean => value !== false;
  assert.equal(stages.at(-1)!.from, 'scratch');
  assert.deepEqual(
    Object.fromEntries(Object.entries(told).filter(isSaid)),
    configOf(stages.at(-1)!),
  );
}

/** @param place an empty folder */
async function assertGathered({ root: shipped }: Image, place: string): Promise<void> {
  const [gathers, last] = stages as [Stage, Stage];
  const lines = gathers.instructions.filter(({ name }) => name === 'RUN').map(({ words }) => words);
  // Runs only the last line; the results of the lines before exist already.
  const [system, packages, release, files] = lines;
  assert.equal(lines.length, 4);
  assert.match(system!, /^apt-get update && apt-get install -y --no-install-recommends [-\w ]+$/);
  assert.deepEqual([packages, release], ['npm ci', 'npm run release -- npm']);
  const [, folder] = /^npm run lay-image-root -- (\/\S+)$/.exec(files!)!;
  const own = join(place, 'gathered');
  const args = [join(root, 'scripts', 'lay-image-root.ts'), own];
  await run(process.execPath, args, { cwd: root });
  const laid = join(place, 'laid');
  const copies = last.instructions.filter(({ name }) => name === 'COPY');
  for (const { words } of copies) {
    const [, chown, from, to] = /^--from=build (?:--chown=(\S+) )?(\S+) (\S+)$/.exec(words)!;
    assert.ok(from!.startsWith(`${folder!}/`));
    const source = join(own, from!.slice(folder!.length));
    execFileSync('mkdir', ['-p', join(laid, to!)]);
    execFileSync('cp', ['-al', `${source}/.`, join(laid, to!)]);
    if (chown !== undefined) execFileSync('chown', ['-R', chown, join(laid, to!)]);
  }
  assert.deepEqual(listed(laid), listed(shipped));
  const owner = lstatSync(join(laid, 'data'));
  assert.equal(`${owner.uid}:${owner.gid}`, configOf(last).User, 'who owns the volume');
}

test('it takes nothing of the checkout that is made there', () => {
  const ignored = readFileSync(join(root, 'packaging', 'Dockerfile.dockerignore'), 'utf8');
  for (const name of ['.git', '**/dist', '**/node_modules', 'release']) {
    assert.ok(ignored.split('\n').includes(name), name);
  }
  assert.ok(existsSync(join(root, 'packaging', 'image', 'svc')));
});
