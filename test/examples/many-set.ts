/** Runs examples/many as processes: its files with addresses of this machine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { startHaproxy } from '../fake/haproxy.ts';
import { freePort, startProgram, writeConfig, type Program } from '../support/program.ts';
import { root } from '../support/run-svc.ts';

const folder = join(root, 'examples', 'many');
export const exampleText = (name: string): string => readFileSync(join(folder, name), 'utf8');

type ComposeService = {
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly volumes?: readonly string[];
  readonly ports?: readonly string[];
};

/** The services of compose.yaml, by name. */
export const services = (
  parse(exampleText('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>;
  }
).services;

export const instanceNames = Object.keys(services).filter(
  (name) => services[name]?.command?.[0] === 'serve',
);

/** Replaces variables of `.env` in a text of compose.yaml. */
export function filledIn(text: string, values: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\$\{(\w+):\?[^}]*\}/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new Error(`.env has no ${name}`);
    return value;
  });
}

/** Replaces each key of `places` by its value. @throws where a key is not in the text */
export function mapped(text: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`${from} stands nowhere in ${all}`);
    return all.replaceAll(from, to);
  }, text);
}

export type Where = {
  /** The folder of the configuration and of all files of the instances. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly modelUrl: string;
  readonly receiverUrl: string;
  readonly values: Readonly<Record<string, string>>;
};

export type Instance = {
  readonly name: string;
  readonly adminPort: number;
  /** Resolves when the instance listens. */
  start(): Promise<void>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | string>;
  log(): string;
};

export type ManySet = AsyncDisposable & {
  readonly instances: readonly Instance[];
  /** The address of the webhook behind the balancer. */
  readonly url: string;
};

/** Starts everything and waits until it listens. The database server and the model run already. */
export async function startMany(where: Where): Promise<ManySet> {
  await using parts = new AsyncDisposableStack();
  const config = mapped(exampleText('svc.json'), {
    'http://host.docker.internal:11434': where.modelUrl,
    'http://host.docker.internal:9000/replies': where.receiverUrl,
  });
  const file = await writeConfig(where.folder, JSON.parse(config) as Record<string, unknown>);
  const own: OwnInstance[] = [];
  for (const name of instanceNames) {
    const ports = { webhook: await freePort(), admin: await freePort() };
    own.push(parts.use(new OwnInstance(name, ports, file, where)));
  }
  await Promise.all(own.map((one) => one.start()));
  const port = await freePort();
  const places = own.map(({ name, ports }) => [
    `${name}:8090 check port 2112`,
    `127.0.0.1:${ports.webhook} check port ${ports.admin}`,
  ]);
  const balancer = mapped(exampleText('haproxy.cfg'), {
    'bind :8090': `bind 127.0.0.1:${port}`,
    ...Object.fromEntries(places),
  });
  parts.use(await startHaproxy(balancer, port));
  const all = parts.move();
  const [channel] = (JSON.parse(config) as { channels: { webhook: { path?: string } }[] }).channels;
  return {
    instances: own,
    url: `http://127.0.0.1:${port}${channel?.webhook.path ?? '/webhook'}`,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

class OwnInstance implements Instance, AsyncDisposable {
  readonly name: string;
  readonly ports: { readonly webhook: number; readonly admin: number };
  readonly #args: readonly string[];
  readonly #env: Record<string, string>;
  #program: Program | null = null;

  constructor(name: string, ports: OwnInstance['ports'], file: string, where: Where) {
    this.name = name;
    this.ports = ports;
    const { command = [], environment = {}, volumes = [] } = services[name]!;
    const places = {
      '0.0.0.0:8090': `127.0.0.1:${ports.webhook}`,
      '0.0.0.0:2112': `127.0.0.1:${ports.admin}`,
    };
    this.#args = JSON.parse(mapped(JSON.stringify(command), places)) as string[];
    const said = Object.entries(environment).map(([key, text]) => {
      return [key, filledIn(text, where.values)] as const;
    });
    const database = new URL(where.databaseUrl);
    database.search = new URL(Object.fromEntries(said)['DATABASE_URL']!).search;
    const isThere = volumes.includes('./svc.json:/etc/svc/svc.json:ro');
    this.#env = {
      ...Object.fromEntries(said),
      DATABASE_URL: database.href,
      HOME: where.folder,
      // In its container, this is the default place of the file.
      SVC_CONFIG: isThere ? file : '/etc/svc/svc.json',
    };
  }

  get adminPort(): number {
    return this.ports.admin;
  }

  async start(): Promise<void> {
    this.#program = startProgram(this.#args, this.#env);
    await this.#program.saw('"listening"');
  }

  async stop(): Promise<number | string> {
    this.#program!.child.kill('SIGTERM');
    return this.#program!.ended;
  }

  log(): string {
    return this.#program?.log() ?? '';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.[Symbol.asyncDispose]();
  }
}
