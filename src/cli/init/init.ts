/** `svc init`: makes a configuration step by step and starts it, or writes one from flags alone. */
import { join, resolve } from 'node:path';
import { endsWithin } from '../../lib/lifetime.ts';
import {
  channelNames,
  readBaseUrl,
  adminTokenName,
  documentOf,
  lineFor,
  secretsOf,
  nothingFound,
  typeOf,
  usualPlace,
  keyEnvFor,
  localityOf,
} from '../../../apps/setup/document.ts';
import { openSetup } from '../../../apps/setup/session.ts';
import type { SetupEnd } from '../../../apps/setup/setup.ts';
import { createSetupWorld, type WorldOptions } from '../../../apps/setup/world.ts';
import { exitCode, type Command, type Io } from '../cli.ts';
import { createCommandLog } from '../frame/boot.ts';
import { becomeServiceUser } from '../frame/service-user.ts';
import { parseFlags, wrongUsage, type Flags } from '../frame/flags.ts';
import { packageRoot, programVersion } from '../../lib/program.ts';
import { openTurnLines } from '../frame/turn-lines.ts';
import { showInBrowser } from './browser.ts';
import { TerminalFrontend } from './terminal-frontend.ts';
import { lstat } from 'node:fs/promises';
import { kindOf, type ChannelType } from '../../channels/registry.ts';
import type { ModelConfig } from '../../config/config.ts';
import { inspectText } from '../../config/inspect.ts';
import { providerSynonyms } from '../../config/schema.ts';
import { textOf } from '../../config/templates/templates.ts';
import { databaseFor, isOfUnit } from '../../app/service-place.ts';
import type { Draft, ModelDraft } from '../../../apps/setup/state.ts';
import { commandFor, writeFirst } from '../../../apps/setup/writing.ts';
import { isColoured, report } from '../frame/report.ts';

const table = {
  yes: { type: 'boolean' },
  browser: { type: 'boolean' },
  dir: { type: 'string', values: 'file' },
  channel: { type: 'string', values: channelNames },
  provider: { type: 'string', values: ['ollama', 'openai'] },
  model: { type: 'string' },
  'base-url': { type: 'string' },
  'channel-url': { type: 'string' },
} as const;

export type OwnWorld = Partial<Pick<WorldOptions, 'keychain' | 'places'>>;

export type InitFlags = Flags<typeof table>;

/** @param own replaces parts of the setup world */
export function createInit(own: OwnWorld = {}): Command {
  return {
    name: 'init',
    summary: 'Make a configuration, step by step, and start it',
    usage: `Usage: svc init [--browser] [--dir <folder>] [--channel-url <url>]
       svc init --yes --channel <type> --provider <provider> --model <id> [--base-url <url>]
                [--channel-url <url>] [--dir <folder>]

Asks a few questions and writes svc.json: a model first, a real answer from it, then where messages
come from, the secrets for it, and who may talk. It writes nothing before the last step, and never
overwrites an existing file. At the end svc runs, until Ctrl-C.

With --browser it asks on a page of this machine, which it opens in your browser. With --yes it asks
nothing: it writes the file, checks it, and prints what starts it.

  --yes                 ask nothing, and make the file from the flags below
  --browser             ask on a page; the link to it is good for one minute, and for one page
  --dir <folder>        the folder of svc.json (default: the current one)
  --channel <type>      ${channelNames.join(', ')}
  --provider <name>     ollama: a local runtime; openai: every server that speaks that API
  --model <id>          the provider's name of the model
  --base-url <url>      the address of the provider, if it is not the usual one
  --channel-url <url>   the address of a messenger's API, if it is not the platform's own

Exit codes: 0 written, or started and stopped; 1 left, failed, or with --yes the file is there
already; 2 wrong usage; 78 the configuration would have a problem.
`,
    flags: table,
    run: (args, io) => run(args, io, own),
  };
}

async function run(args: readonly string[], io: Io, own: OwnWorld): Promise<number> {
  const parsed = parseFlags(args, table);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'init', parsed.message);
  const { flags } = parsed;
  const fault = faultOf(flags);
  if (fault !== null) return wrongUsage(io, 'init', fault);
  const shown = flags.dir === null ? 'svc.json' : join(flags.dir, 'svc.json');
  const place = { file: resolve(io.cwd, shown), shown };
  becomeServiceUser(place.file, io.secrets);
  if (flags.yes) return writeUnasked(flags, place, io);
  const atTerminal = io.stdin.isTTY === true && io.stdout.isTTY === true;
  if (!atTerminal && !flags.browser) {
    const remedy = 'say --browser, or --yes and what is wanted';
    return wrongUsage(io, 'init', `There is no terminal to ask at: ${remedy}.`);
  }
  return runSetup(flags, place, io, own);
}

/** @returns null: the flags can be used together */
function faultOf(flags: InitFlags): string | null {
  for (const name of ['base-url', 'channel-url'] as const) {
    const url = flags[name];
    if (url === null || readBaseUrl(url) !== null) continue;
    // The fault may be a password in the URL, so the message does not repeat it.
    return `--${name} takes an http or https address without a password or a query.`;
  }
  if (flags.yes)
    return flags.browser ? 'With --yes nothing is asked, so --browser is for nothing.' : null;
  const given = (['channel', 'provider', 'model', 'base-url'] as const).find(
    (name) => flags[name] !== null,
  );
  return given === undefined ? null : `--${given} goes with --yes; without it svc init asks.`;
}

/** How long unfinished work may take to end after the session. */
const closeMs = 15_000;

async function runSetup(
  flags: InitFlags,
  place: { readonly file: string; readonly shown: string },
  io: Io,
  own: OwnWorld,
): Promise<number> {
  const { env, abandon } = io;
  const leaving = new AbortController();
  const log = createCommandLog(io, 'warn');
  const { openKeychain } = await import('../../app/keychain.ts');
  using lines = io.stdout.isTTY === true ? openTurnLines(io) : null;
  const world = createSetupWorld({
    ...place,
    env,
    lookup: io.secrets,
    keychain: openKeychain({ env, atTerminal: true }),
    version: programVersion(),
    webRoot: new URL('web/dist/', packageRoot()),
    log,
    stop: AbortSignal.any([io.stop, leaving.signal]),
    abandon,
    // Before the last page, a line would stand between a question and its answer.
    onTurn: (turn) => void (session.page.step === 'last' && lines?.show(turn)),
    platform: flags['channel-url'] && readBaseUrl(flags['channel-url']),
    ...own,
  });
  const session = openSetup(world);
  try {
    const frontend = flags.browser
      ? showInBrowser(session, io)
      : new TerminalFrontend(session, io, () => leaving.abort()).run();
    return codeOf(await frontend, io);
  } finally {
    await endsWithin(Promise.resolve(session[Symbol.asyncDispose]()), closeMs);
    await world[Symbol.asyncDispose]();
    await log.flush();
  }
}

function codeOf(end: SetupEnd, io: Io): number {
  switch (end.kind) {
    case 'written':
    case 'served':
      return exitCode.fine;
    case 'left':
      return exitCode.failed;
    case 'failed':
      io.stderr.write(`svc init: ${end.message}\n`);
      return exitCode.failed;
    default:
      return end satisfies never;
  }
}

type Place = { readonly file: string; readonly shown: string };

/**
 * `svc init --yes`: writes the file from the flags, and prints the command that starts it. It
 * starts nothing and contacts nothing.
 */
async function writeUnasked(flags: InitFlags, { file, shown }: Place, io: Io): Promise<number> {
  const draft = draftOf(flags);
  if (typeof draft === 'string') return wrongUsage(io, 'init', draft);
  if ((await lstat(file).catch(() => null)) !== null) return exists(shown, io);
  const names = [...secretsOf(draft, { place: null }).map(({ name }) => name), adminTokenName];
  const found = await io.secrets.find(names, io.stop);
  const set = names.filter((name) => found.get(name)?.kind === 'value');
  const platform = flags['channel-url'] && readBaseUrl(flags['channel-url']);
  const service = { database: databaseFor(file), isUnit: isOfUnit(file) };
  const facts = { ...nothingFound, place: { ...usualPlace, set, platform, ...service } };
  const text = textOf(documentOf(draft, facts));
  const inspection = await inspectText(text, file, io.env);
  const { kind } = inspection.validation;
  const stream = kind === 'valid' ? io.stdout : io.stderr;
  const checked = report(shown, inspection, [], isColoured(stream, io.env));
  if (kind === 'invalid') {
    io.stderr.write(`${checked}Nothing was written.\n`);
    return exitCode.config;
  }
  const saved = await writeFirst(file, shown, text);
  if ('problem' in saved) {
    io.stderr.write(`svc init: ${saved.problem}\n`);
    return exitCode.failed;
  }
  const unset = secretsOf(draft, facts).filter(({ is }) => is !== 'set');
  const lines = [
    ...unset.map(({ name }) => lineFor(name, false, service.isUnit)),
    commandFor({ file, shown, env: io.env }),
  ];
  io.stdout.write(`${checked}It is written. This starts it:\n\n`);
  io.stdout.write(lines.map((line) => `  ${line}\n`).join(''));
  io.stdout.write(`\n${aboutSecrets(draft, set)}`);
  return exitCode.fine;
}

function exists(shown: string, io: Io): number {
  io.stderr.write(`svc init: ${shown} already exists; nothing was written.\n`);
  return exitCode.failed;
}

/** @returns the draft, or a sentence about what is missing or wrong */
function draftOf(flags: InitFlags): Draft | string {
  const { channel, provider, model } = flags;
  if (channel === null || provider === null || model === null) {
    const missing = (['channel', 'provider', 'model'] as const).filter(
      (name) => flags[name] === null,
    );
    return `with --yes say ${missing.map((name) => `--${name}`).join(', ')} too.`;
  }
  if (model.trim() === '') return '--model is the name of a model, and not blank.';
  const type = typeOf(channel);
  if (type === undefined)
    return `--channel is one of ${channelNames.join(', ')}; "${channel}" is none.`;
  const known = providerOf(provider);
  if (known === null) return `--provider is ollama or openai; "${provider}" is neither.`;
  return {
    file: 'new',
    model: modelOf(known, model, flags['base-url']),
    channel: { kind: 'channel', type, bot: null },
    access: accessFor(type),
    pasted: [],
    keep: null,
  };
}

function providerOf(name: string): ModelConfig['provider'] | null {
  const known: Readonly<Record<string, ModelConfig['provider']>> = providerSynonyms;
  if (Object.hasOwn(known, name)) return known[name]!;
  return Object.values(known).find((provider) => provider === name) ?? null;
}

function modelOf(
  provider: ModelConfig['provider'],
  modelId: string,
  written: string | null,
): ModelDraft {
  const baseUrl = written === null ? null : readBaseUrl(written);
  const locality = localityOf({ provider, modelId, baseUrl });
  const needsKey = provider === 'hosted_runtime' && locality === 'cloud';
  const apiKeyEnv = needsKey ? keyEnvFor(baseUrl) : null;
  return { kind: 'model', provider, modelId, baseUrl, locality, apiKeyEnv };
}

/** On a messenger nobody may write before the operator lets them in. */
function accessFor(type: ChannelType): Draft['access'] {
  if (!kindOf(type).isMessenger) return null;
  return { allow: null, groups: 'mention', pairing: true };
}

function aboutSecrets({ channel }: Draft, set: readonly string[]): string {
  const isMessenger = channel?.kind === 'channel' && kindOf(channel.type).isMessenger;
  const pair = isMessenger
    ? 'Who writes to the bot is given a code; `svc pair` lets them in.\n'
    : '';
  if (set.includes(adminTokenName)) return pair;
  const more = isMessenger ? ', and `svc pair` while svc runs,' : '';
  return (
    `${pair}What changes svc over its admin server${more} needs a token: put\n` +
    `"admin": {"token_env": "${adminTokenName}"} into the file, and set ${adminTokenName}.\n`
  );
}
