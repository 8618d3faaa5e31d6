/**
 * Runs examples/many as processes: its files with addresses of this machine. The containers of
 * compose.yaml and the instances of svc@.service are each a set.
 */
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
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

type Ports = { readonly webhook: number; readonly admin: number };

/** How an instance is started. */
type Launch = { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** What differs between the sets. Places are texts of the files that become addresses here. */
type Kind = {
  /** The text of the configuration, and its places. */
  readonly config: string;
  readonly model: string;
  readonly receiver: string;
  readonly balancer: string;
  readonly bind: string;
  /** The address of an instance in the balancer's file. */
  readonly server: (name: string) => string;
  readonly launch: (name: string, ports: Ports, file: string, where: Where) => Promise<Launch>;
};

/** Starts the containers' programs. The database server and the model run already. */
export function startMany(where: Where): Promise<ManySet> {
  return start(where, {
    config: exampleText('svc.json'),
    model: 'http://host.docker.internal:11434',
    receiver: 'http://host.docker.internal:9000/replies',
    balancer: exampleText('haproxy.cfg'),
    bind: 'bind :8090',
    server: (name) => `${name}:8090 check port 2112`,
    launch: (...all) => Promise.resolve(launchContainer(...all)),
  });
}

/**
 * Starts the instances of the unit, as systemd would.
 * @param config the text of the configuration
 */
export function startUnits(where: Where, config: string): Promise<ManySet> {
  return start(where, {
    config,
    model: 'http://127.0.0.1:11434',
    receiver: 'http://127.0.0.1:9000/replies',
    // HAProxy runs as the user of the test, and without a log.
    balancer: mapped(exampleText('haproxy-systemd.cfg'), {
      '  log /dev/log local0\n  user haproxy\n  group haproxy\n  chroot /var/lib/haproxy\n': '',
    }),
    bind: 'bind 127.0.0.1:8090',
    server: (name) => `127.0.0.1:809${numberOf(name)} check port 211${numberOf(name)}`,
    launch: launchUnit,
  });
}

/** Starts everything and waits until it listens. */
async function start(where: Where, kind: Kind): Promise<ManySet> {
  await using parts = new AsyncDisposableStack();
  const config = mapped(kind.config, {
    [kind.model]: where.modelUrl,
    [kind.receiver]: where.receiverUrl,
  });
  const file = await writeConfig(where.folder, JSON.parse(config) as Record<string, unknown>);
  const own: OwnInstance[] = [];
  for (const name of instanceNames) {
    const ports = { webhook: await freePort(), admin: await freePort() };
    const launch = await kind.launch(name, ports, file, where);
    own.push(parts.use(new OwnInstance(name, ports, launch)));
  }
  await Promise.all(own.map((one) => one.start()));
  const port = await freePort();
  const places = own.map(({ name, ports }) => [
    kind.server(name),
    `127.0.0.1:${ports.webhook} check port ${ports.admin}`,
  ]);
  const balancer = mapped(kind.balancer, {
    [kind.bind]: `bind 127.0.0.1:${port}`,
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

function launchContainer(name: string, ports: Ports, file: string, where: Where): Launch {
  const { command = [], environment = {}, volumes = [] } = services[name]!;
  const places = {
    '0.0.0.0:8090': `127.0.0.1:${ports.webhook}`,
    '0.0.0.0:2112': `127.0.0.1:${ports.admin}`,
  };
  const said = Object.entries(environment).map(([key, text]) => {
    return [key, filledIn(text, where.values)] as const;
  });
  const database = new URL(where.databaseUrl);
  database.search = new URL(Object.fromEntries(said)['DATABASE_URL']!).search;
  const isThere = volumes.includes('./svc.json:/etc/svc/svc.json:ro');
  return {
    args: JSON.parse(mapped(JSON.stringify(command), places)) as string[],
    env: {
      ...Object.fromEntries(said),
      DATABASE_URL: database.href,
      HOME: where.folder,
      // In its container, this is the default place of the file.
      SVC_CONFIG: isThere ? file : '/etc/svc/svc.json',
    },
  };
}

/** The unit's settings, by name; a later line of the same name wins. */
export function unitSettings(): Readonly<Record<string, string>> {
  const lines = exampleText('svc@.service').replaceAll('\\\n', '').split('\n');
  return Object.fromEntries(
    lines.flatMap((line) => {
      const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, value!]];
    }),
  );
}

const numberOf = (name: string): string => name.replace('svc-', '');

/** The secrets lie in files of the folder that systemd makes, and in no variable. */
async function launchUnit(name: string, ports: Ports, file: string, where: Where): Promise<Launch> {
  const { ExecStart = '', LoadCredential = '' } = unitSettings();
  const number = numberOf(name);
  const line = mapped(ExecStart.replaceAll('%i', number), {
    [`127.0.0.1:809${number}`]: `127.0.0.1:${ports.webhook}`,
    [`127.0.0.1:211${number}`]: `127.0.0.1:${ports.admin}`,
    '/etc/svc/svc.json': file,
  });
  const [program, ...args] = line.split(/ +/);
  if (program !== `/opt/svc/${number}`) throw new Error(`an instance runs ${program}`);
  const [prefix] = LoadCredential.split(':');
  const credentials = join(where.folder, `credentials-${number}`);
  await mkdir(credentials);
  const { WEBHOOK_SECRET = '', ADMIN_TOKEN = '' } = where.values;
  const secrets = { WEBHOOK_SECRET, ADMIN_TOKEN, DATABASE_URL: where.databaseUrl };
  for (const [key, value] of Object.entries(secrets)) {
    await writeFile(join(credentials, `${prefix}_${key}`), `${value}\n`, { mode: 0o400 });
  }
  return { args, env: { HOME: where.folder, CREDENTIALS_DIRECTORY: credentials } };
}

class OwnInstance implements Instance, AsyncDisposable {
  readonly name: string;
  readonly ports: Ports;
  readonly #launch: Launch;
  #program: Program | null = null;

  constructor(name: string, ports: Ports, launch: Launch) {
    this.name = name;
    this.ports = ports;
    this.#launch = launch;
  }

  get adminPort(): number {
    return this.ports.admin;
  }

  async start(): Promise<void> {
    this.#program = startProgram(this.#launch.args, { ...this.#launch.env });
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
