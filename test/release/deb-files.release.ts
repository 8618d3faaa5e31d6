/** The Debian package's files beside the program, checked with the tools that read them. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { allCommands } from '../../src/cli/commands.ts';
import { isOnPath } from '../../src/lib/executable.ts';
import { root } from '../support/run-svc.ts';
import { made } from './made.ts';
import { debName } from './smoke.ts';

const { path: packed, skip } = made('deb', debName);
const why = skip === false ? without('dpkg-deb') : skip;

/** A reason to skip a test that needs these programs; false: it can run. */
function without(...programs: readonly string[]): string | false {
  const missing = programs.filter((program) => !isOnPath(program, process.env));
  return missing.length > 0 && `NOT TRIED: there is no ${missing.join(' and no ')}.`;
}

function tried(what: string, programs: readonly string[], act: () => Promise<void> | void): void {
  void test(what, { skip: without(...programs) }, act);
}

suite('the files of the package for Debian', { skip: why }, () => {
  let place = '';
  const at = (path: string): string => join(place, path);
  const read = (path: string): string => readFileSync(at(path), 'utf8');
  const field = (of: string): string => {
    const args = ['--field', packed, of];
    return execFileSync('dpkg-deb', args, { encoding: 'utf8' }).trim();
  };
  before(() => {
    place = mkdtempSync(join(tmpdir(), 'svc-deb-'));
    execFileSync('dpkg-deb', ['--extract', packed, place]);
  });
  after(() => rmSync(place, { recursive: true, force: true }));

  test('it is of root, needs a few libraries, and begins with no file in /etc', () => {
    const listed = execFileSync('dpkg-deb', ['--contents', packed], {
      encoding: 'utf8',
      maxBuffer: 64 << 20,
    });
    const lines = listed.trim().split('\n');
    for (const line of lines) {
      assert.match(line, /^(?:d|-)rwxr-xr-x root\/root |^-rw-r--r-- root\/root |^l/, line);
      assert.doesNotMatch(line, /^\S+ \S+ +\d+ \S+ \S+ \.\/(?:etc|var|home|root)\//, line);
    }
    assert.match(field('Depends'), /^adduser, libatomic1, libc6 \(>= 2\.\d+\), libgcc-s1, /);
    assert.match(field('Suggests'), /libwebkit2gtk-4\.1-0/);
  });

  test('no line of it names where it was made, or what it was installed from', () => {
    const found = spawnSync('grep', ['-rlE', `${root}|"resolved":`, '--include=*', place]);
    assert.equal(found.stdout.toString(), '');
  });

  tried('the manual is without a warning, and has every command', ['man', 'zcat'], async () => {
    const page = at('usr/share/man/man1/svc.1.gz');
    const env = { ...process.env, MANWIDTH: '80', LC_ALL: 'C.UTF-8', MAN_KEEP_FORMATTING: '' };
    const { stdout, stderr } = spawnSync('man', ['--warnings', '-l', page], { env });
    assert.equal(stderr.toString(), '');
    const shown = stdout.toString();
    for (const command of await allCommands()) {
      assert.ok(shown.includes(`   ${command.name}\n`), command.name);
      for (const flag of Object.keys(command.flags)) assert.ok(shown.includes(`--${flag}`), flag);
    }
    const titles = /^SYNOPSIS$|^FILES$|^EXIT STATUS$/gm;
    assert.equal(shown.match(titles)?.length, 3);
  });

  tried('the entry of the desktop is valid', ['desktop-file-validate'], () => {
    const said = spawnSync('desktop-file-validate', [at('usr/share/applications/svc.desktop')]);
    assert.equal(said.stdout.toString() + said.stderr.toString(), '');
    assert.match(read('usr/share/icons/hicolor/scalable/apps/svc.svg'), /^<svg /);
  });

  tried('bash completes its commands', ['bash'], () => {
    const file = at('usr/share/bash-completion/completions/svc');
    const line = 'COMP_WORDS=(svc se); COMP_CWORD=1; _svc; echo "${COMPREPLY[*]}"';
    const said = execFileSync('bash', ['-c', `source "$0"; ${line}`, file], { encoding: 'utf8' });
    assert.equal(said.trim(), 'serve send search secrets');
  });

  tried('zsh finds its completion by itself', ['zsh'], () => {
    const line = 'fpath=("$0" $fpath); autoload -Uz compinit; compinit -D -u; echo $_comps[svc]';
    const vendor = at('usr/share/zsh/vendor-completions');
    const said = execFileSync('zsh', ['-f', '-c', line, vendor], { encoding: 'utf8' });
    assert.equal(said.trim(), '_svc');
  });

  tried('fish completes its commands', ['fish'], () => {
    const file = at('usr/share/fish/vendor_completions.d/svc.fish');
    const line = `source '${file}'; complete --do-complete='svc ser'`;
    const said = execFileSync('fish', ['--no-config', '-c', line], { encoding: 'utf8' });
    assert.match(said, /^serve\tRun the service$/m);
  });

  test('it brings the documents, and the licences of all that is in it', () => {
    const documents = 'usr/share/doc/svc';
    for (const one of ['README.md', 'docs', 'examples', 'changelog.gz', 'changelog.Debian.gz']) {
      assert.ok(existsSync(at(join(documents, one))), one);
    }
    const copyright = read(join(documents, 'copyright'));
    const folders = readdirSync(at('usr/lib/svc/node_modules')).filter((one) => one[0] !== '@');
    assert.ok(folders.length > 0);
    for (const one of [...folders, 'undici', 'react']) {
      assert.match(copyright, new RegExp(`^${RegExp.escape(one)} \\d`, 'm'));
    }
    assert.match(copyright, /^Node\.js is licensed for use as follows:/m);
  });
});
