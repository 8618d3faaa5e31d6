/**
 * Starts the application with the person's session, without a window. It is off until the person
 * switches it on. The entry belongs to this user, and holds only the command that starts svc.
 *
 * Formats: specifications.freedesktop.org/autostart-spec, launchd.plist(5), the key `Run` of HKCU.
 */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeFolder } from '../../../src/lib/make-folder.ts';
import type { OwnProgram } from '../../../src/lib/program.ts';

type Env = Readonly<Record<string, string | undefined>>;

export interface Autostart {
  isOn(): Promise<boolean>;
  /** @returns null, or a sentence on why not */
  set(on: boolean): Promise<string | null>;
}

export type AutostartOptions = {
  readonly env: Env;
  readonly platform?: NodeJS.Platform;
  /** The program to start and its arguments, with absolute paths. */
  readonly program: OwnProgram;
};

/** @returns null: svc knows no way to start with the session on this system */
export function autostartOf(options: AutostartOptions): Autostart | null {
  const { env, platform = process.platform, program } = options;
  const home = env['HOME'] || homedir();
  if (platform === 'win32') return new RunKey(program);
  if (platform === 'darwin') {
    const file = join(home, 'Library', 'LaunchAgents', `${launchLabel}.plist`);
    return new AutostartFile(file, launchAgent(program));
  }
  if (platform !== 'linux') return null;
  const xdg = env['XDG_CONFIG_HOME'] ?? '';
  const folder = join(xdg.startsWith('/') ? xdg : join(home, '.config'), 'autostart');
  return new AutostartFile(join(folder, 'svc.desktop'), desktopEntry(program));
}

class AutostartFile implements Autostart {
  readonly #file: string;
  readonly #text: string;

  constructor(file: string, text: string) {
    this.#file = file;
    this.#text = text;
  }

  /** The settings of a desktop can switch the entry off by a line in it. */
  async isOn(): Promise<boolean> {
    const text = await readFile(this.#file, 'utf8').catch(() => null);
    return text !== null && !/^(?:Hidden=true|X-GNOME-Autostart-enabled=false)\s*$/m.test(text);
  }

  async set(on: boolean): Promise<string | null> {
    try {
      if (!on) await rm(this.#file, { force: true });
      else {
        await makeFolder(dirname(this.#file));
        await writeFile(this.#file, this.#text, { mode: 0o644 });
      }
      return null;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      return `${this.#file} cannot be ${on ? 'written' : 'removed'} (${code}).`;
    }
  }
}

/** In the value of an entry, a backslash is written twice. */
export function desktopEntry({ file, args }: OwnProgram): string {
  const command = [file, ...args].map(quoteForEntry).join(' ');
  return `[Desktop Entry]
Type=Application
Name=svc
Comment=Answers in the background
Exec=${command.replaceAll('\\', '\\\\')}
Terminal=false
X-GNOME-Autostart-enabled=true
`;
}

/** Quotes a word by the rules for the key `Exec`; a single percent sign would be a field code. */
function quoteForEntry(word: string): string {
  const plain = word.replaceAll('%', '%%');
  if (/^[\w./:=@+%-]+$/.test(plain)) return plain;
  return `"${plain.replaceAll(/[\\"`$]/g, String.raw`\$&`)}"`;
}

const launchLabel = 'org.svc-router.svc';

export function launchAgent({ file, args }: OwnProgram): string {
  const words = [file, ...args].map((word) => `    <string>${forXml(word)}</string>\n`).join('');
  return `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN"
  "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>${launchLabel}</string>
  <key>ProgramArguments</key>
  <array>
${words}  </array>
  <key>RunAtLoad</key>
  <true/>
  <key>ProcessType</key>
  <string>Interactive</string>
</dict>
</plist>
`;
}

function forXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

const runKey = String.raw`HKCU\Software\Microsoft\Windows\CurrentVersion\Run`;

class RunKey implements Autostart {
  readonly #command: string;

  constructor({ file, args }: OwnProgram) {
    this.#command = [file, ...args].map(quoteForWindows).join(' ');
  }

  async isOn(): Promise<boolean> {
    return (await reg(['query', runKey, '/v', 'svc'])) === null;
  }

  async set(on: boolean): Promise<string | null> {
    if (!on && !(await this.isOn())) return null;
    const fault = on
      ? await reg(['add', runKey, '/v', 'svc', '/t', 'REG_SZ', '/d', this.#command, '/f'])
      : await reg(['delete', runKey, '/v', 'svc', '/f']);
    return fault === null ? null : `Windows did not change its list of what it starts: ${fault}.`;
  }
}

/** Quotes a word for CommandLineToArgvW: a backslash has a meaning only before a quotation mark. */
export function quoteForWindows(word: string): string {
  if (/^[^\s"]+$/.test(word)) return word;
  const escaped = word.replaceAll(/(\\*)"/g, String.raw`$1$1\"`).replace(/(\\+)$/, '$1$1');
  return `"${escaped}"`;
}

/** @returns null, or how it failed */
function reg(args: readonly string[]): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const options = { windowsHide: true, timeout: 10_000 };
  execFile('reg.exe', [...args], options, (error) => resolve(error === null ? null : 'reg failed'));
  return promise;
}
