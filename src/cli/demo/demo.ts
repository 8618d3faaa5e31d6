/**
 * `svc demo`: runs the whole service on this machine, with a practice model and a receiver for
 * replies.
 */
import { randomBytes } from 'node:crypto';
import type { Server } from 'node:http';
import { join, resolve } from 'node:path';
import type { ModelConfig, Config } from '../../config/config.ts';
import type { EnvName } from '../../config/secret-value.ts';
import type { SecretLookupResults } from '../../config/found-secret.ts';
import { logLevels, createLog, type LogLevel } from '../../lib/log.ts';
import type { Ending, Listening } from '../../app/run-contract.ts';
import { createCommandLog, readLogLevel } from '../frame/boot.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { parseFlags, wholeNumber, wrongUsage } from '../frame/flags.ts';
import { closeServer, findPort, listenOnLoopback } from '../../lib/loopback-port.ts';
import { plainText } from '../../lib/plain-text.ts';
import { packageRoot, programVersion } from '../../lib/program.ts';
import { practiceModelName } from '../../domain/remedy.ts';
import { createPracticeModel } from '../../app/practice-model.ts';
import { lstatSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { Writable } from 'node:stream';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock } from '../../lib/clock.ts';
import { lineOfModel } from '../../app/preflight/models.ts';
import { createServiceDeps } from '../../app/service.ts';
import { createServer } from '../../lib/node-http.ts';
import { validateText } from '../../config/validate.ts';

/** The parts of the demo's configuration that vary. */
export type DemoChoices = {
  readonly webhookPort: number;
  readonly adminPort: number;
  readonly receiverPort: number;
  readonly modelId: string;
  /** null: the runtime's own default address. */
  readonly modelPort: number | null;
  /** Absolute; null: no storage. */
  readonly storagePath: string | null;
};

export const webhookSecretName = 'SVC_DEMO_SECRET';
export const replySecretName = 'SVC_DEMO_REPLY_SECRET';
export const adminTokenName = 'SVC_DEMO_ADMIN_TOKEN';
export const demoBrainName = 'practice';

/**
 * The demo's configuration has the same fields that a person would write.
 * @returns the text of the configuration, and the result of its parsing
 */
export function demoConfig(choices: DemoChoices): {
  readonly text: string;
  readonly config: Config;
} {
  const text = JSON.stringify(documentOf(choices), null, 2);
  const validation = validateText(text);
  if (validation.kind === 'invalid') {
    const [first] = validation.problems;
    throw new Error(`the demo's own configuration is wrong: ${first?.path} ${first?.message}`);
  }
  return { text, config: validation.config };
}

function documentOf(choices: DemoChoices): object {
  const { modelPort, storagePath } = choices;
  return {
    channels: [
      {
        type: 'webhook',
        token_env: webhookSecretName,
        webhook: {
          bind: `127.0.0.1:${choices.webhookPort}`,
          outbound_url: `http://127.0.0.1:${choices.receiverPort}/replies`,
          outbound_token_env: replySecretName,
        },
      },
    ],
    brains: [
      {
        name: demoBrainName,
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [
          {
            provider: 'local_runtime',
            model_id: choices.modelId,
            locality: 'local',
            ...(modelPort !== null && { base_url: `http://127.0.0.1:${modelPort}` }),
          },
        ],
      },
    ],
    routes: [{ channel: 'webhook', brain: demoBrainName }],
    observability: { addr: `127.0.0.1:${choices.adminPort}` },
    admin: { token_env: adminTokenName },
    ...(storagePath !== null && { storage: { path: storagePath } }),
  };
}

/** A reply that arrived at the other end of the demo's webhook. */
export type Reply = { readonly conversation: string; readonly from: string; readonly text: string };

const replyBytesMax = 4 * 1024 * 1024;

/**
 * A server that receives replies and passes them to `take`.
 * @param secret the bearer that a reply must carry
 */
export function createReceiver(secret: string, take: (reply: Reply) => void): Server {
  return createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${secret}`) {
      response.writeHead(401).end();
      return;
    }
    const parts: Buffer[] = [];
    let bytes = 0;
    request.on('data', (part: Buffer) => {
      bytes += part.length;
      if (bytes <= replyBytesMax) parts.push(part);
    });
    request.on('end', () => {
      const reply = bytes > replyBytesMax ? null : readReply(Buffer.concat(parts).toString());
      response.writeHead(reply === null ? 400 : 204).end();
      if (reply !== null) take(reply);
    });
  });
}

function readReply(body: string): Reply | null {
  try {
    const reply = JSON.parse(body) as Record<string, unknown>;
    const { conversation_id: conversation, sender_name: from, text } = reply;
    return { conversation: String(conversation), from: String(from), text: String(text) };
  } catch {
    return null;
  }
}

/** A demo's folder is among the system's temporary files, and is removed at the end of the demo. */
const namePattern = /^svc-demo-(\d+)-\w{6}$/;

/**
 * Makes a folder that only this user can read, and removes the folders of demos that were killed.
 * @param env `TMPDIR` names the folder for temporary files; without it the system does
 */
export function makeDemoFolder(env: Io['env']): string {
  const parent = env['TMPDIR'] || tmpdir();
  for (const name of readdirSync(parent)) {
    const pid = namePattern.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid)) && isOurs(join(parent, name))) {
      removeDemoFolder(join(parent, name));
    }
  }
  return mkdtempSync(join(parent, `svc-demo-${process.pid}-`));
}

/** Writes the file that the builder changes. It lasts as long as the demo. @returns its path */
export function writeDemoConfig(folder: string, text: string): string {
  const file = join(folder, 'svc.json');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

export function removeDemoFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function isOurs(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}

const table = {
  model: { type: 'string' },
  port: { type: 'string' },
  db: { type: 'string', values: 'file' },
  'log-level': { type: 'string', values: logLevels },
} as const;

export const demo: Command = {
  name: 'demo',
  summary: 'Run the whole service with a practice model, to see how it works',
  usage: `Usage: svc demo [--model <name>] [--port <number>] [--db <file>] [--log-level <level>]

Runs the whole service on this machine, offline: a webhook to send messages to, a brain, and a
receiver that prints the replies here. It prints a curl line to try, and a token for the builder,
where you can change all of it while the demo runs. Ctrl-C ends it.

The brain asks a practice model: a small program with fixed answers, no language model.

  --model <name>       ask this model of the local runtime at http://127.0.0.1:11434 instead
  --port <number>      the webhook's port (default: 8090, or a free one when that is taken)
  --db <file>          keep the conversations in this file (default: a temporary one)
  --log-level <level>  debug, info, warn or error (default: warn)
`,
  flags: table,
  run,
};

const ports = { webhook: 8090, receiver: 8091, model: 8092, admin: 2112 };

type Choices = {
  readonly model: string | null;
  readonly port: number | null;
  readonly db: string | null;
  readonly level: LogLevel;
};

async function run(args: readonly string[], io: Io): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'demo', parsed.message);
  const { model, port: portText, db, 'log-level': levelText } = parsed.flags;
  const level = readLogLevel(levelText, 'warn');
  if ('fault' in level) return wrongUsage(io, 'demo', level.fault);
  const port = portText === null ? null : wholeNumber(portText, 1, 65_535);
  if (portText !== null && port === null) {
    return wrongUsage(io, 'demo', `--port is a number from 1 to 65535; "${portText}" is none.`);
  }
  const choices = { model, port, db, level: level.level };
  let ending = await runDemo(choices, io);
  for (let again = 0; again < againMax && isTaken(ending); again++) {
    ending = await runDemo(choices, io);
  }
  if (ending.kind === 'ended') return exitCode.fine;
  io.stderr.write(`svc demo: ${ending.message}\n`);
  return ending.kind === 'refused' ? exitCode.config : exitCode.failed;
}

/**
 * How often to start again when another program takes a port between the search and the listening.
 */
const againMax = 5;

/** Two demos that start at once find the same ports: one gets them, the other starts again. */
function isTaken(ending: Ending): boolean {
  return ending.kind === 'refused' && takenCodes.has(ending.code);
}

/** The codes of the webhook and of the admin server. */
const takenCodes = new Set(['bind_failed', 'EADDRINUSE']);

async function runDemo(choices: Choices, io: Io): Promise<Ending> {
  const webhookPort = await findPort(choices.port ?? ports.webhook, choices.port !== null);
  if (webhookPort === null) {
    const message = `port ${choices.port} is taken here. Without --port a free one is used.`;
    return { kind: 'refused', code: 'port_taken', message, unbound: null };
  }
  const folder = makeDemoFolder(io.env);
  const servers: Server[] = [];
  try {
    return await serveDemo(choices, io, { webhookPort, folder, servers });
  } finally {
    await Promise.all(servers.map(closeServer));
    removeDemoFolder(folder);
  }
}

type Stage = {
  readonly webhookPort: number;
  readonly folder: string;
  /** The caller closes them. */
  readonly servers: Server[];
};

async function serveDemo(choices: Choices, io: Io, stage: Stage): Promise<Ending> {
  const secrets = new Map<EnvName, string>([
    [webhookSecretName as EnvName, newSecret()],
    [replySecretName as EnvName, newSecret()],
    [adminTokenName as EnvName, newSecret()],
  ]);
  const start = async (server: Server, port: number): Promise<number> => {
    stage.servers.push(server);
    return listenOnLoopback(server, port);
  };
  const receiver = createReceiver(secrets.get(replySecretName as EnvName)!, (reply) => {
    io.stdout.write(`${plainText(`reply to ${reply.conversation}: ${reply.text}`)}\n`);
  });
  const receiverPort = await start(receiver, ports.receiver);
  const modelPort = choices.model === null ? await start(createPracticeModel(), ports.model) : null;
  const adminPort = (await findPort(ports.admin, false)) ?? 0;
  const { webhookPort, folder } = stage;
  const { db } = choices;
  const storagePath = db === null ? join(folder, 'svc.db') : resolve(io.cwd, db);
  const modelId = choices.model ?? practiceModelName;
  const picked = { webhookPort, adminPort, receiverPort, modelId, modelPort, storagePath };
  const { text, config } = demoConfig(picked);
  const { runService } = await import('../../app/run.ts');
  const log = createCommandLog(io, choices.level);
  log.scrub(secrets.values());
  io.secrets.hold(asFound(secrets));
  const modelWarning =
    choices.model === null ? null : await modelWarningOf(config.brains[0]!.models[0]!);
  const ending = await runService({
    config,
    text,
    file: writeDemoConfig(folder, text),
    env: io.env,
    lookup: io.secrets,
    onReload: () => undefined,
    storage: { kind: 'file', path: storagePath },
    secrets,
    warnings: [],
    log,
    version: programVersion(),
    webRoot: new URL('web/dist/', packageRoot()),
    stop: io.stop,
    abandon: io.abandon,
    onListening: (at) => {
      const secret = secrets.get(webhookSecretName as EnvName)!;
      const token = secrets.get(adminTokenName as EnvName)!;
      io.stdout.write(welcome(at, { ...picked, secret, token, kept: db !== null, modelWarning }));
    },
  });
  await log.flush();
  return ending;
}

/** The secrets as lookup results, so that an applied configuration finds them again. */
function asFound(secrets: ReadonlyMap<EnvName, string>): SecretLookupResults {
  return new Map(
    [...secrets].map(([name, value]) => {
      return [name, { kind: 'value', value, source: 'environment', unused: [] }];
    }),
  );
}

/** 32 characters that need no quotes in a shell. */
function newSecret(): string {
  return randomBytes(24).toString('base64url').replaceAll('-', '_');
}

type WelcomeFacts = {
  readonly webhookPort: number;
  readonly adminPort: number;
  readonly receiverPort: number;
  readonly modelId: string;
  readonly modelPort: number | null;
  readonly storagePath: string;
  readonly kept: boolean;
  readonly secret: string;
  /** The administrator's token, for this start alone. */
  readonly token: string;
  /** Why the model will not answer now, and what to do; null: it will answer. */
  readonly modelWarning: string | null;
};

function welcome(at: Listening, shown: WelcomeFacts): string {
  const webhook = `http://127.0.0.1:${shown.webhookPort}/webhook`;
  const brain =
    shown.modelPort === null
      ? `${shown.modelId} of the local runtime at http://127.0.0.1:11434`
      : `the practice model at http://127.0.0.1:${shown.modelPort} (no language model)`;
  const seconds = (performance.now() / 1000).toFixed(2);
  const pages = at.admin === null ? null : `http://127.0.0.1:${shown.adminPort}`;
  const liveView = pages === null ? 'off' : `${pages}/ui`;
  const builder = pages === null ? 'off' : `${pages}/builder, with the token ${shown.token}`;
  const curl = [
    `curl -sS -w '\\n' ${webhook}`,
    `-H 'Authorization: Bearer ${shown.secret}'`,
    `-H 'Content-Type: application/json'`,
    `-d '{"sender_id":"ada","text":"Hello"}'`,
  ].join(' ');
  const was = shown.modelWarning === null ? 'was ready' : 'runs, but its model is not ready,';
  const warningLine = shown.modelWarning === null ? '' : `\n  ! ${shown.modelWarning}\n`;
  return `svc demo ${was} ${seconds} s after its start.
${warningLine}
  webhook    ${webhook}
  brain      ${brain}
  replies    go to http://127.0.0.1:${shown.receiverPort}/replies, which prints them here
  live view  ${liveView}
  builder    ${builder}
  storage    ${shown.storagePath}${shown.kept ? '' : ' (removed at the end)'}

Send it a message from another terminal:

  ${curl}

Ctrl-C ends it.

`;
}

/**
 * @returns why a model that needs no key would not answer a private message now, and what to do
 * about it; null: it would
 */
export async function modelWarningOf(model: ModelConfig): Promise<string | null> {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  try {
    const { mark, message, remedy } = await lineOfModel(model, 'private', new Map(), deps);
    return mark === 'ok' ? null : `${model.modelId}: ${message}. ${remedy ?? ''}`.trimEnd();
  } finally {
    await deps.http.close();
  }
}
