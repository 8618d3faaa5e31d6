/** `svc init --yes`: from flags to a file, and to what starts it; nothing is started or reached. */
import { lstat } from 'node:fs/promises';
import { kindOf, type ChannelType } from '../../channels/registry.ts';
import type { ModelConfig } from '../../config/config.ts';
import { inspectText } from '../../config/inspect.ts';
import { providerSynonyms } from '../../config/schema-brain.ts';
import { textOf } from '../../config/templates/templates.ts';
import { adminTokenName, documentOf, lineFor, secretsOf } from '../../../apps/setup/document.ts';
import { channelNames, nothingFound, typeOf, usualPlace } from '../../../apps/setup/document.ts';
import { databaseFor, isOfUnit } from '../../app/service-place.ts';
import type { Draft, ModelDraft } from '../../../apps/setup/state.ts';
import { keyEnvFor, localityOf, readBaseUrl } from '../../../apps/setup/vendors.ts';
import { commandFor, writeFirst } from '../../../apps/setup/writing.ts';
import { exitCode, type Io } from '../cli.ts';
import { wrongUsage } from '../frame/flags.ts';
import { isColoured, report } from '../frame/report.ts';
import type { InitFlags } from './init.ts';

type Place = { readonly file: string; readonly shown: string };

export async function writeUnasked(
  flags: InitFlags,
  { file, shown }: Place,
  io: Io,
): Promise<number> {
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
  const told = report(shown, inspection, [], isColoured(stream, io.env));
  if (kind === 'invalid') {
    io.stderr.write(`${told}Nothing was written.\n`);
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
  io.stdout.write(`${told}It is written. This starts it:\n\n`);
  io.stdout.write(lines.map((line) => `  ${line}\n`).join(''));
  io.stdout.write(`\n${aboutSecrets(draft, set)}`);
  return exitCode.fine;
}

function exists(shown: string, io: Io): number {
  io.stderr.write(`svc init: ${shown} already exists; nothing was written.\n`);
  return exitCode.failed;
}

/** A sentence: what is missing or wrong. */
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

/** On a messenger nobody may talk before the operator let them in. */
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
