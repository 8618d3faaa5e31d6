/** Whose token it is: the platform is asked before the token is kept anywhere. */
import { isMessenger, kindOf, type ChannelType } from '../../src/channels/registry.ts';
import type { EnvName } from '../../src/config/config.ts';
import type { SecretSource } from '../../src/config/found-secret.ts';
import { textOf } from '../../src/config/templates/templates.ts';
import { validateText } from '../../src/config/validate.ts';
import type { SecretLookup } from '../../src/secrets/secrets.ts';
import { createMessenger } from '../../src/app/service.ts';
import { documentOf, nothingFound, usualPlace } from './document.ts';
import { createSilentDeps } from './model-question.ts';
import type { Pouch } from './session.ts';
import type { TokenFound } from './state.ts';

const identifyMs = 10_000;

export type IdentifyOptions = {
  readonly pouch: Pouch;
  readonly lookup: SecretLookup;
  readonly version: string;
  readonly platform: string | null;
};

/** What was pasted is asked about; else what stands somewhere. */
export async function identify(
  type: ChannelType,
  { pouch, lookup, version, platform }: IdentifyOptions,
  signal: AbortSignal,
): Promise<TokenFound> {
  const { variable } = kindOf(type).token;
  const found = await tokenOf(variable, pouch, lookup, signal);
  if (found === null) return { kind: 'none' };
  const { token, source } = found;
  const config = configOf(type, platform);
  const deps = createSilentDeps(version);
  try {
    const secrets = new Map([[variable as EnvName, token]]);
    await using channel = createMessenger(config, secrets, deps);
    const end = AbortSignal.any([signal, AbortSignal.timeout(identifyMs)]);
    const identity = await channel.identify(end);
    if (identity.kind === 'refused') pouch.delete(variable);
    return { ...identity, source };
  } finally {
    await deps.http.close();
  }
}

async function tokenOf(
  name: string,
  pouch: Pouch,
  lookup: SecretLookup,
  signal: AbortSignal,
): Promise<{ readonly token: string; readonly source: SecretSource | 'pasted' } | null> {
  const pasted = pouch.get(name);
  if (pasted !== undefined) return { token: pasted, source: 'pasted' };
  const found = (await lookup.find([name], signal)).get(name);
  return found?.kind === 'value' ? { token: found.value.trim(), source: found.source } : null;
}

function configOf(type: ChannelType, platform: string | null) {
  const channel = { kind: 'channel', type, bot: null } as const;
  const draft = { file: 'new', channel, access: null, pasted: [], keep: null } as const;
  const facts = { ...nothingFound, place: { ...usualPlace, platform } };
  const document = documentOf({ ...draft, model: { kind: 'practice' } }, facts);
  const validation = validateText(textOf(document));
  const config = validation.kind === 'valid' ? validation.config.channels[0] : undefined;
  if (config === undefined || !isMessenger(config)) throw new Error(`${type} has no token to ask`);
  return config;
}
