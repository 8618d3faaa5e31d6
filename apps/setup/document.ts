/** Makes the configuration file from the draft, and lists the secrets that it names. Pure. */
import {
  channelKinds,
  channelSynonyms,
  channelTypes,
  kindOf,
  type ChannelType,
} from '../../src/channels/registry.ts';
import type { ChannelKind } from '../../src/channels/kind.ts';
import type { AccessConfig, ModelConfig } from '../../src/config/config.ts';
import type { JsonObject, Json } from '../../src/config/locate.ts';
import { credentialLine } from '../../src/app/service-place.ts';
import type {
  Draft,
  Facts,
  ModelChoice,
  ModelDraft,
  PlaceFound,
  WritePlan,
  Vendor,
} from './state.ts';
import { isLoopbackHost, parseWebAddress } from '../../src/config/address.ts';
import { isCloudTag } from '../../src/domain/model-words.ts';
import { rangeOf } from '../../src/lib/ip-address.ts';

// Vendors that run models for others, and the locality of a model.

/** Each speaks the hosted API at its `baseUrl`. The names of the variables are the vendors' own. */
export const vendors: readonly Vendor[] = [
  vendor('OpenAI', 'https://api.openai.com/v1', 'OPENAI_API_KEY', 'gpt-6-luna'),
  vendor('Anthropic', 'https://api.anthropic.com/v1', 'ANTHROPIC_API_KEY'),
  vendor('Google', 'https://generativelanguage.googleapis.com/v1beta/openai', 'GEMINI_API_KEY'),
  vendor('Mistral', 'https://api.mistral.ai/v1', 'MISTRAL_API_KEY'),
  vendor('Groq', 'https://api.groq.com/openai/v1', 'GROQ_API_KEY'),
  vendor('OpenRouter', 'https://openrouter.ai/api/v1', 'OPENROUTER_API_KEY'),
];

/** Any other address that speaks the hosted API; it may need a key, or none. */
export const otherVendor: Vendor = vendor('another address', '', 'MODEL_API_KEY');

function vendor(name: string, baseUrl: string, keyEnv: string, modelId = ''): Vendor {
  return { name, baseUrl, keyEnv, modelId };
}

/** @returns null: the text is no http or https address without a query */
export function readBaseUrl(text: string): string | null {
  const trimmed = text.trim().replace(/\/+$/, '');
  const read = parseWebAddress(trimmed);
  if (read === null || read.hasCredentials || read.hasQuery || read.hasFragment) return null;
  return trimmed;
}

/** The fields of a model that decide where it runs. */
type Where = Pick<ModelDraft, 'provider' | 'modelId' | 'baseUrl'>;

/**
 * Where a model runs, decided without asking it. It is local only if its address says so. The tag
 * of a local runtime's model can make it a cloud model.
 */
export function localityOf({ provider, modelId, baseUrl }: Where): ModelConfig['locality'] {
  if (provider === 'local_runtime' && isCloudTag(modelId)) return 'cloud';
  if (baseUrl === null) return provider === 'local_runtime' ? 'local' : 'cloud';
  const host = parseWebAddress(baseUrl)?.host ?? null;
  return host !== null && isHere(host) ? 'local' : 'cloud';
}

/**
 * True for this machine, an address of a private network, and a name that only a private network
 * knows.
 */
function isHere(host: string): boolean {
  if (isLoopbackHost(host) || /^(?:private|shared)$/.test(rangeOf(host))) return true;
  return /^[^.:]+$|\.(?:local|lan|internal|home\.arpa)$/i.test(host);
}

/** The usual variable of the key for this address. */
export function keyEnvFor(baseUrl: string | null): string {
  if (baseUrl === null) return vendors[0]!.keyEnv;
  const host = parseWebAddress(baseUrl)?.host;
  const known = vendors.find((one) => parseWebAddress(one.baseUrl)?.host === host);
  return known?.keyEnv ?? otherVendor.keyEnv;
}

/** A model as the file will have it. `keyEnv` is null for a model that needs no key. */
export function hostedModel(baseUrl: string, modelId: string, keyEnv: string | null): ModelDraft {
  const isUsual = baseUrl === vendors[0]!.baseUrl;
  const where = { provider: 'hosted_runtime', modelId, baseUrl: isUsual ? null : baseUrl } as const;
  return { kind: 'model', ...where, locality: localityOf(where), apiKeyEnv: keyEnv };
}

export const adminTokenName = 'ADMIN_TOKEN';

/** Channels that need no account come first: the person can go on at once. */
export const kindsOffered: readonly ChannelKind[] = channelKinds.toSorted(
  (a, b) => Number(a.isMessenger) - Number(b.isMessenger),
);
/** The type names that people write. */
export const channelNames = kindsOffered.map(({ type, synonyms }) => synonyms[0] ?? type);

const brainName = 'assistant';
const practiceModel = 'practice';

/** The facts before svc looked at anything. */
export const nothingFound: Facts = {
  frontend: 'terminal',
  file: null,
  models: null,
  place: null,
  written: null,
  liveView: null,
};

/** The place before svc looked at it: all addresses are the defaults. */
export const usualPlace: PlaceFound = {
  keychain: 'unavailable',
  database: 'svc.db',
  isUnit: false,
  told: null,
  set: [],
  bind: null,
  replies: 'http://127.0.0.1:8091/reply',
  admin: null,
  platform: null,
  practice: null,
};

/**
 * A secret that the file names. `set`: svc found a value. `made`: svc will generate one. `later`:
 * the person must set it before a start.
 */
export type NeededSecret = {
  readonly name: string;
  readonly is: 'set' | 'pasted' | 'made' | 'later';
};

/** The secrets that the new file names, in the file's order; without those of its kept parts. */
export function secretsOf(draft: Draft, { place }: Pick<Facts, 'place'>): readonly NeededSecret[] {
  const isSet = (name: string): boolean => place?.set.includes(name) === true;
  const isPasted = (name: string): boolean => draft.pasted.includes(name);
  const needed = (name: string, otherwise: 'made' | 'later'): NeededSecret => {
    return { name, is: isPasted(name) ? 'pasted' : isSet(name) ? 'set' : otherwise };
  };
  const found: NeededSecret[] = [];
  if (draft.channel?.kind === 'channel') {
    const { variable, ours }: ChannelKind['token'] = kindOf(draft.channel.type).token;
    found.push(needed(variable, ours === null ? 'later' : 'made'));
  }
  if (draft.model?.kind === 'model' && draft.model.apiKeyEnv !== null) {
    found.push(needed(draft.model.apiKeyEnv, 'later'));
  }
  if (isSet(adminTokenName)) found.push({ name: adminTokenName, is: 'set' });
  else if (draft.keep === 'keychain') found.push({ name: adminTokenName, is: 'made' });
  return found;
}

/** Everything that the `write` effect does: the file, and the secrets for the keychain. */
export function writePlanOf(draft: Draft, facts: Facts): WritePlan {
  const secrets = secretsOf(draft, facts);
  const make = secrets.filter(({ is }) => is === 'made').map(({ name }) => name);
  const pasted = secrets.filter(({ is }) => is === 'pasted').map(({ name }) => name);
  const store = draft.keep === 'keychain' ? [...pasted, ...make] : [];
  const open = secrets.filter(({ name, is }) => is !== 'set' && !store.includes(name));
  return {
    document: documentOf(draft, facts),
    replaces: draft.file === 'change' || draft.file === 'anew',
    make,
    store,
    unset: open.map(({ name }) => name),
  };
}

/** The whole file. */
export function documentOf(draft: Draft, facts: Facts): JsonObject {
  const place = facts.place ?? usualPlace;
  // A window gets its sign-in from the application, even without this secret.
  const hasAdmin =
    facts.frontend === 'window' ||
    secretsOf(draft, facts).some(({ name }) => name === adminTokenName);
  const admin: JsonObject = hasAdmin ? { admin: { token_env: adminTokenName } } : {};
  const before = facts.file?.kind === 'there' ? facts.file.document : null;
  if (draft.file === 'change' && before !== null) {
    const own = (before['admin'] ?? null) === null ? admin : {};
    return { ...changed(before, draft, place), ...own };
  }
  const { channel, model, access } = draft;
  if (channel?.kind !== 'channel' || model === null || model.kind === 'kept') {
    throw new Error('a new file needs a channel and a model');
  }
  const type = nameOf(channel.type);
  const storage = { path: place.database };
  return {
    channels: [channelOf(channel.type, access, place)],
    brains: [
      {
        name: brainName,
        sensitivity: sensitivityOf(model),
        policy: { kind: 'priority' },
        models: [modelOf(model, place)],
      },
    ],
    routes: [{ channel: type, brain: brainName }],
    storage,
    session: {},
    ...(place.admin !== null && { observability: { addr: place.admin } }),
    ...admin,
  };
}

/** The type name that people write. */
function nameOf(type: ChannelType): string {
  const kind: ChannelKind = kindOf(type);
  return kind.synonyms[0] ?? type;
}

function channelOf(
  type: ChannelType,
  access: AccessConfig | null,
  { bind, replies, platform }: PlaceFound,
): JsonObject {
  const { mode, token, isMessenger }: ChannelKind = kindOf(type);
  const head = { type: nameOf(type), ...(mode !== null && { mode }), token_env: token.variable };
  if (!isMessenger) {
    return { ...head, webhook: { ...(bind !== null && { bind }), outbound_url: replies } };
  }
  return {
    ...head,
    ...(platform !== null && { base_url: platform }),
    ...(access !== null && { access: accessOf(access) }),
  };
}

function accessOf({ allow, pairing }: AccessConfig): JsonObject {
  return { ...(allow !== null && { allow }), ...(pairing && { pairing }) };
}

/** A cloud model may receive only public text. */
function sensitivityOf(model: ModelDraft | { readonly kind: 'practice' }): 'private' | 'public' {
  return model.kind === 'model' && model.locality === 'cloud' ? 'public' : 'private';
}

function modelOf(
  model: Exclude<ModelChoice, { readonly kind: 'kept' }>,
  { practice }: PlaceFound,
): JsonObject {
  if (model.kind === 'practice') {
    return {
      provider: 'local_runtime',
      model_id: practiceModel,
      locality: 'local',
      ...(practice !== null && { base_url: practice }),
    };
  }
  const { provider, modelId, locality, baseUrl, apiKeyEnv } = model;
  return {
    provider,
    model_id: modelId,
    locality,
    ...(baseUrl !== null && { base_url: baseUrl }),
    ...(apiKeyEnv !== null && { api_key_env: apiKeyEnv }),
  };
}

/**
 * Changes a valid file: it replaces the first model of the brain that answers the first route, and
 * the channel of that type without a name. All else stays.
 */
function changed(before: JsonObject, draft: Draft, place: PlaceFound): JsonObject {
  const routes = objectsOf(before['routes']);
  const brains = objectsOf(before['brains']);
  const brain = brains.find(({ name }) => name === routes[0]?.['brain']) ?? brains[0]!;
  const { channel, model, access } = draft;
  const isNew = model !== null && model.kind !== 'kept';
  const newBrains = isNew
    ? brains.map((one) => (one === brain ? withModel(one, model, place) : one))
    : brains;
  const changes = { ...before, brains: newBrains };
  if (channel?.kind !== 'channel') return changes;
  const { type } = channel;
  const isOther = (name: Json | undefined): boolean => typeOf(name) !== type;
  const others = objectsOf(before['channels']).filter(
    (one) => isOther(one['type']) || isOther(one['name'] || type),
  );
  const route = { channel: nameOf(type), brain: brain['name']! };
  const isRouted = routes.some((one) => !isOther(one['channel']));
  return {
    ...changes,
    channels: [...others, channelOf(type, access, place)],
    routes: isRouted ? routes : [...routes, route],
    ...((before['storage'] ?? null) === null && { storage: { path: place.database } }),
  };
}

function withModel(
  brain: JsonObject,
  model: Exclude<ModelChoice, { readonly kind: 'kept' }>,
  place: PlaceFound,
): JsonObject {
  const [, ...others] = objectsOf(brain['models']);
  const isAway = sensitivityOf(model) === 'public';
  return {
    ...brain,
    ...(isAway && { sensitivity: 'public' }),
    models: [modelOf(model, place), ...others],
  };
}

/** @returns the type of a channel's name; undefined: no channel has this name */
export function typeOf(name: Json | undefined): ChannelType | undefined {
  if (typeof name !== 'string') return undefined;
  return channelSynonyms[name] ?? channelTypes.find((type) => type === name);
}

function objectsOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly JsonObject[]) : [];
}

/** Secrets whose values the person may invent. */
const ownNames = new Set([
  adminTokenName,
  ...channelKinds.filter(({ token }) => token.ours !== null).map(({ token }) => token.variable),
]);

/**
 * A shell line that sets a variable. It generates a value if any value will do; else the person
 * fills it in.
 * @param isKnown the person already has a value, which the line must not replace
 * @param isUnit the line is for a unit of systemd
 */
export function lineFor(name: string, isKnown: boolean, isUnit: boolean): string {
  const isMade = ownNames.has(name) && !isKnown;
  if (isUnit) return credentialLine(name, isMade);
  return isMade ? `export ${name}="$(openssl rand -hex 32)"` : `export ${name}='…'`;
}
