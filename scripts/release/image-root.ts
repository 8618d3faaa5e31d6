/**
 * Collects all files of the image: the program, a Node, the shared libraries of this machine that
 * it needs, and the files that a program expects of a system. It leaves out the libraries for a
 * display and a keychain, since a container has neither.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { copyBelow } from './files.ts';
import { setPlainModes } from './modes.ts';
import { nodePackage } from './node.ts';

export type ImageRootOptions = {
  /** The root of the checkout. */
  readonly root: string;
  /** The result of a clean install of the tarball. */
  readonly program: string;
  /** A stripped Node of this machine, absolute. */
  readonly node: string;
  /** Created here, with `root/` and with `data/`, the future volume. */
  readonly folder: string;
};

/** The Debian packages that the machine's files come from; each states its licence. */
export const packages = ['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6', 'ca-certificates'];
export const copyrightOf = (name: string): string => `/usr/share/doc/${name}/copyright`;

const certificates = '/etc/ssl/certs/ca-certificates.crt';
const ofProgram = ['bin', 'dist', 'web', 'node_modules', 'package.json', 'LICENSE'];
const notInContainers = ['@napi-rs', '@webviewjs', '.bin', '.package-lock.json'];

export function layImageRoot(options: ImageRootOptions): void {
  const { root, program, folder } = options;
  const stage = join(folder, 'root');
  const library = join(stage, 'usr', 'lib', 'svc');
  for (const name of [...ofProgram, 'THIRD-PARTY.txt']) {
    cpSync(join(program, name), join(library, name), { recursive: true });
  }
  for (const name of notInContainers) {
    rmSync(join(library, 'node_modules', name), { recursive: true, force: true });
  }
  copyBelow(stage, '/usr/bin/node', options.node);
  for (const path of librariesOf(options.node)) copyBelow(stage, path, path);
  copyBelow(stage, certificates, certificates);
  for (const path of packages.map(copyrightOf)) copyBelow(stage, path, path);
  const licence = join(root, 'node_modules', nodePackage(), 'LICENSE');
  copyBelow(stage, '/usr/share/doc/node/LICENSE', licence);
  const packaging = join(root, 'packaging', 'image');
  copyBelow(stage, '/usr/bin/svc', join(packaging, 'svc'));
  for (const name of ['passwd', 'group']) copyBelow(stage, `/etc/${name}`, join(packaging, name));
  // Mount points of the container runtime, and the folder for temporary files.
  for (const name of ['dev', 'proc', 'sys', 'tmp']) mkdirSync(join(stage, name));
  mkdirSync(join(folder, 'data'));
  setPlainModes(folder);
  chmodSync(join(stage, 'tmp'), 0o1777);
}

/** The libraries that the loader finds, and the loader itself. */
function librariesOf(program: string): readonly string[] {
  const output = execFileSync('ldd', [program], { encoding: 'utf8' });
  return Array.from(output.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm), ([, path]) => path!);
}
