/** `svc init` at a terminal in this process, with fakes around it and ports of its own. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInit } from '../../src/cli/init/init.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import { fakeKeychain, keptIn } from '../fake/keychain.ts';
import { freePort, scratch } from '../support/program.ts';
import { openTerminal, type Terminal } from '../support/terminal.ts';

export type InitStage = Terminal & {
  readonly folder: string;
  /** The text of the file; null: there is no file. */
  readonly file: () => string | null;
  readonly names: () => readonly string[];
  /** The values in the keychain. */
  readonly kept: () => ReadonlyMap<string, string>;
  /** Waits for the text, then types the keys and Enter. */
  answer(sees: RegExp, keys?: string): Promise<void>;
};

export type InitAround = {
  /** OLLAMA_HOST. */
  readonly ollama: string;
  readonly platform?: string;
  readonly keychain?: KeychainState;
  readonly env?: Readonly<Record<string, string>>;
  readonly prepare?: (folder: string) => Promise<void>;
};

/** Leaving the scope ends it and removes its folder. */
export async function startInit(around: InitAround): Promise<InitStage> {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  await around.prepare?.(folder);
  const keychain = fakeKeychain(around.keychain ?? 'no_bus');
  const ports = { webhook: await freePort(), replies: await freePort(), admin: await freePort() };
  const command = createInit({
    keychain,
    // Nobody listens there, and a probe has all the time that a busy machine may need.
    places: { hostedHere: 'http://127.0.0.1:9/v1', requestMs: 60_000, ports },
  });
  const platform = around.platform === undefined ? [] : ['--channel-url', around.platform];
  const env = { HOME: folder, NO_COLOR: '1', OLLAMA_HOST: around.ollama, ...around.env };
  const terminal = own.use(openTerminal(['init', ...platform], { cwd: folder, env, command }));
  const file = join(folder, 'svc.json');
  return {
    ...terminal,
    folder,
    kept: () => keptIn(keychain),
    file: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    names: () => readdirSync(folder).toSorted(),
    async answer(sees, keys = '') {
      await terminal.sees(sees);
      await terminal.sees(/\[\w\] > /);
      terminal.type(`${keys}\r`);
    },
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}
