/**
 * Writes an archive for `docker load`, without facts of its maker: random ids, its version, the
 * name of the machine. Format: the image specification 1.2 of
 * https://github.com/moby/docker-image-spec.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  createReadStream,
  createWriteStream,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { run } from './run.ts';

type Config = {
  readonly architecture: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly created: string;
  readonly os: string;
  readonly rootfs: { readonly diff_ids: readonly string[] };
};
type Manifest = readonly [{ readonly Config: string; readonly Layers: readonly [string] }];

export type ArchiveOptions = {
  /** An image of one layer, absolute path. */
  readonly archive: string;
  /** An empty folder of its own. */
  readonly scratch: string;
  readonly tag: string;
  readonly epochS: number;
  /** The path of the output, absolute. */
  readonly made: string;
};

export async function packPlainly(options: ArchiveOptions): Promise<void> {
  const { archive, scratch, tag, epochS, made } = options;
  const [from, to] = [join(scratch, 'from'), join(scratch, 'to')];
  mkdirSync(from);
  mkdirSync(to);
  await run('tar', ['-xf', archive, '-C', from]);
  const [{ Config: name, Layers: layers }] = readJson(join(from, 'manifest.json')) as Manifest;
  const text = JSON.stringify(plain(readJson(join(from, name)) as Config));
  const config = `${createHash('sha256').update(text).digest('hex')}.json`;
  writeFileSync(join(to, config), text);
  // Readers detect a compressed layer; buildah does not detect a compressed archive.
  const layer = `${layers[0]}.gz`;
  // The highest level takes three times as long and saves hardly anything.
  await pipeline(
    createReadStream(join(from, layers[0])),
    createGzip(),
    createWriteStream(join(to, layer)),
  );
  const manifest = [{ Config: config, RepoTags: [tag], Layers: [layer] }];
  writeFileSync(join(to, 'manifest.json'), JSON.stringify(manifest));
  const names = ['manifest.json', config, layer];
  for (const one of names) chmodSync(join(to, one), 0o644);
  const owner = ['--owner=0', '--group=0', '--numeric-owner'];
  const how = ['--format=ustar', ...owner, `--mtime=@${epochS}`];
  await run('tar', [...how, '-cf', made, '-C', to, ...names]);
  chmodSync(made, 0o644);
}

const ofMachine = new Set(['Hostname', 'Domainname', 'Image']);

function plain({ architecture, config, created, os, rootfs }: Config): object {
  if (rootfs.diff_ids.length !== 1) throw new Error('the image has more than one layer');
  const kept = Object.entries(config).filter(([name]) => !ofMachine.has(name));
  const { Labels: labels } = config as { readonly Labels: Readonly<Record<string, string>> };
  const own = Object.entries(labels).filter(([name]) => name.startsWith('org.opencontainers.'));
  const history = [{ created, created_by: 'packaging/Dockerfile' }];
  const all = { ...Object.fromEntries(kept), Labels: Object.fromEntries(own) };
  return { architecture, config: all, created, history, os, rootfs };
}

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
