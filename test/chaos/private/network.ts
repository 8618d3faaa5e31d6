/**
 * Two network namespaces with one cable between them, made from inside the near one. The near one
 * has this machine's programs, the far one all the rest of the world.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCapture, type Left } from './packets.ts';

export const near = { four: '10.7.0.2', six: 'fd07::2' };
export const far = { four: '10.7.0.1', six: 'fd07::1' };

/** Requests to the far side. */
export type Asked =
  | { readonly kind: 'begin' | 'end' }
  /** The addresses of a name for the first query, for the second, and so on. */
  | {
      readonly kind: 'name';
      readonly name: string;
      readonly addresses: readonly (readonly string[])[];
    }
  | { readonly kind: 'listen'; readonly port: number };

/** Its answers. `heard`: requests, each with its target address. */
export type Told =
  | { readonly kind: 'up' | 'done' }
  | { readonly kind: 'failed'; readonly why: string }
  | {
      readonly kind: 'ended';
      readonly names: readonly string[];
      readonly heard: readonly string[];
      readonly dropped: number;
    };

export type Seen = Left & {
  /** The names in queries. */
  readonly names: ReadonlySet<string>;
  readonly heard: readonly string[];
  /** Frames that the kernel dropped before they were recorded. */
  readonly dropped: number;
};

export class Network implements AsyncDisposable {
  readonly #far: ChildProcess;
  readonly #gone: Promise<never>;
  readonly #file: string;

  private constructor(child: ChildProcess, file: string) {
    this.#far = child;
    this.#gone = goneOf(child);
    // Each waiting call gets this error; at the end none waits.
    this.#gone.catch(() => {});
    this.#file = file;
  }

  /**
   * Makes it in a user, network and mount namespace of its own.
   * @param capture the program built from capture.c
   */
  static async make(folder: string, capture: string): Promise<Network> {
    const file = join(folder, 'captured');
    const program = join(import.meta.dirname, 'far.ts');
    const child = spawn('unshare', ['-n', process.execPath, program, capture, file], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const network = new Network(child, file);
    await network.#heard();
    const ip = (args: string): void => void execFileSync('ip', args.split(' '));
    ip(`link add near type veth peer name far netns ${child.pid}`);
    ip('link set lo up');
    ip(`addr add ${near.four}/24 dev near`);
    ifSix(() => ip(`-6 addr add ${near.six}/64 dev near nodad`));
    await network.ask({ kind: 'begin' });
    ip('link set near up');
    ip(`route add default via ${far.four}`);
    ifSix(() => ip(`-6 route add default via ${far.six}`));
    const resolver = join(folder, 'resolv.conf');
    writeFileSync(resolver, `nameserver ${far.four}\nsearch .\n`);
    execFileSync('mount', ['--bind', resolver, '/etc/resolv.conf']);
    return network;
  }

  /** From now on a name has these addresses; with several lists, one after the other. */
  async name(name: string, ...addresses: readonly (readonly string[])[]): Promise<void> {
    await this.ask({ kind: 'name', name, addresses });
  }

  async listen(port: number): Promise<void> {
    await this.ask({ kind: 'listen', port });
  }

  /** Returns everything that has left by now, and ends the capture. */
  async end(): Promise<Seen> {
    const answer = await this.ask({ kind: 'end' });
    if (answer.kind !== 'ended') throw new Error('the far side does not end');
    const { heard, dropped } = answer;
    return { ...readCapture(this.#file), heard, dropped, names: new Set(answer.names) };
  }

  async ask(asked: Asked): Promise<Told> {
    this.#far.send(asked);
    return this.#heard();
  }

  async #heard(): Promise<Told> {
    const message = new Promise<Told>((resolve) => this.#far.once('message', resolve));
    const answer = await Promise.race([message, this.#gone]);
    if (answer.kind === 'failed') throw new Error(`the far side: ${answer.why}`);
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#far, 'exit');
    this.#far.disconnect();
    await ended;
  }
}

async function goneOf(child: ChildProcess): Promise<never> {
  await once(child, 'exit');
  throw new Error('the far side has ended');
}

/** A machine may be without IPv6: then nothing leaves by it. */
export function ifSix(act: () => void): void {
  if (existsSync('/proc/net/if_inet6')) act();
}
