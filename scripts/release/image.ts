/**
 * Builds the container image from the last stage of `packaging/Dockerfile`. It uses buildah, which
 * needs no daemon, with storage below the scratch folder, apart from this machine's. The format is
 * Docker's, since OCI's has no health check.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOnPath } from '../../src/lib/executable.ts';
import { packPlainly } from './docker-archive.ts';
import { copyrightOf, layImageRoot, packages } from './image-root.ts';
import type { Making, Part } from './part.ts';
import { run } from './run.ts';

export const image: Part = {
  name: 'image',
  async make(making) {
    const why = whyNot();
    if (why !== null) return { kind: 'not made', why };
    const scratch = join(making.scratch, 'image');
    const folder = join(scratch, 'files');
    mkdirSync(folder, { recursive: true });
    const program = await making.program();
    const node = await making.node();
    layImageRoot({ root: making.root, program, node, folder });
    const tag = `svc:${making.version}`;
    const archive = await build({ making, scratch, folder, tag });
    const name = `svc-${making.version}-image.tar`;
    const { epochS } = making;
    await packPlainly({ archive, scratch, tag, epochS, made: join(making.folder, name) });
    return { kind: 'made', names: [name] };
  },
};

function whyNot(): string | null {
  const missing = ['buildah', 'strip', 'ldd'].filter((program) => !isOnPath(program, process.env));
  if (missing.length > 0) {
    return `There is no ${missing.join(' and no ')}: install buildah, binutils and libc-bin.`;
  }
  const lacking = packages.filter((name) => !existsSync(copyrightOf(name)));
  if (lacking.length === 0) return null;
  return `It takes libraries from this machine's Debian, which has no ${lacking.join(', ')}.`;
}

type Building = {
  readonly making: Making;
  readonly scratch: string;
  /** The output folder of `layImageRoot`. */
  readonly folder: string;
  readonly tag: string;
};

/** @returns the path of the archive, absolute */
async function build({ making, scratch, folder, tag }: Building): Promise<string> {
  const file = join(scratch, 'Dockerfile');
  writeFileSync(file, lastStage(readFileSync(join(making.root, 'packaging/Dockerfile'), 'utf8')));
  const policy = join(scratch, 'policy.json');
  writeFileSync(policy, JSON.stringify({ default: [{ type: 'insecureAcceptAnything' }] }));
  const storage = ['root', 'runroot'].flatMap((name) => [`--${name}`, join(scratch, name)]);
  const buildah = (...args: readonly string[]): Promise<string> => {
    const env = {
      TMPDIR: scratch,
      BUILDAH_ISOLATION: 'chroot',
      CONTAINERS_STORAGE_CONF: undefined,
    };
    return run('buildah', [...storage, '--storage-driver', 'vfs', ...args], { env });
  };
  // The files come from another folder; the build context stays empty.
  const context = join(scratch, 'context');
  mkdirSync(context);
  const how = ['--format', 'docker', '--squash', '--timestamp', String(making.epochS)];
  const parts = ['--build-context', `build=${folder}`, '--signature-policy', policy];
  const named = ['--build-arg', `SVC_VERSION=${making.version}`, '--tag', tag, '--file', file];
  await buildah('build', ...how, ...parts, ...named, context);
  const tar = join(scratch, 'image.tar');
  const to = `docker-archive:${tar}:${tag}`;
  await buildah('push', '--signature-policy', policy, '--format', 'v2s2', tag, to);
  return tar;
}

/** Returns the last stage, with paths below the folder that already holds the image's files. */
export function lastStage(dockerfile: string): string {
  return dockerfile.slice(dockerfile.lastIndexOf('\nFROM ') + 1).replaceAll('/image/', '/');
}
