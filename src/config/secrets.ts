/**
 * Decides what the look-up results of secrets mean for a config: missing, unusable, or a warning.
 * `src/secrets/lookup.ts` looks the secrets up.
 */
import type { ChannelKind, OwnSecret } from '../channels/kind.ts';
import { isMessenger, kindOf } from '../channels/registry.ts';
import { faultOfDatabaseUrl } from './storage-place.ts';
import type { Config, Secrets } from './config.ts';
import { problemWithoutPlace, type ConfigProblem } from './problems.ts';
import type { EnvName, SecretFault } from './secret-value.ts';
import type { SecretLookupResult, SecretLookupResults, SecretSource } from './found-secret.ts';

export type NamedSecret = { readonly name: EnvName; readonly usedAt: readonly string[] };
/** `found` says why there is no value. */
export type MissingSecret = NamedSecret & { readonly found: Unfound };
type Unfound = Exclude<SecretLookupResult, { readonly kind: 'value' }>;
type Missing = Extract<SecretLookupResult, { readonly kind: 'missing' }>;

export type ResolvedSecrets = {
  readonly secrets: Secrets;
  /** One for each name, in the order of the config, with every field that names it. */
  readonly missing: readonly MissingSecret[];
  /** Errors about values that cannot be used. They show nothing of a value. */
  readonly unfit: readonly ConfigProblem[];
  /** Without line and column, since they are about the environment and not about the file. */
  readonly warnings: readonly ConfigProblem[];
};

type SecretUse = {
  readonly name: EnvName;
  readonly path: string;
  readonly kind: 'token' | 'key' | 'admin';
  readonly fault?: OwnSecret['fault'];
};

const tokenLengthMin = 16;

/** No HTTP header carries one of these, so a value with one cannot work. The tab is allowed. */
const controls = /[\p{Cc}--[\t]]/v;
const controlCharacterFault: SecretFault = {
  message: 'has more than one line, or a control character',
  remedy: 'Set the value alone: one line.',
};

/**
 * Checks the value of every `_env` name that is in `found`, and leaves out other names. It removes
 * line ends around a value, since files and `$(cat …)` add them. It removes other white space
 * around a value with a warning. Only the administrator's token may be missing, or have more than
 * one line. Then the service is read-only, and a warning says so.
 * @param tokenWanted false: the service does not need the administrator's token, and nothing warns
 */
export function resolveSecrets(
  config: Config,
  found: SecretLookupResults,
  tokenWanted = true,
): ResolvedSecrets {
  const secrets = new Map<EnvName, string>();
  const missing = new Map<EnvName, { usedAt: string[]; found: Unfound }>();
  const unfit: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const seen = new Set<EnvName>();
  for (const { name, path, kind, fault } of usesOf(config)) {
    const result = found.get(name);
    if (result === undefined) continue;
    if (result.kind !== 'value') {
      if (kind === 'admin' && tokenWanted) warnings.push(tokenUnsetWarning(name, path, result));
      else if (kind === 'admin') continue;
      else if (missing.has(name)) missing.get(name)!.usedAt.push(path);
      else missing.set(name, { usedAt: [path], found: result });
      continue;
    }
    const stripped = result.value.replace(/^[\r\n]+|[\r\n]+$/g, '');
    const value = stripped.trim();
    const controlFault = controls.test(value) ? controlCharacterFault : null;
    if (controlFault !== null && kind === 'admin') {
      if (tokenWanted) warnings.push(tokenUnfitWarning(name, path, controlFault));
      continue;
    }
    secrets.set(name, value);
    const valueFault = controlFault ?? fault?.(value) ?? null;
    if (valueFault !== null) unfit.push(unfitProblem(name, path, valueFault));
    if (!seen.has(name)) {
      if (value !== stripped) warnings.push(trimmedWarning(name, path));
      if (result.unused.includes('file')) warnings.push(fileUnusedWarning(name, path));
    }
    seen.add(name);
    if (kind !== 'key' && value.length < tokenLengthMin) warnings.push(tooShortWarning(name, path));
  }
  unfit.push(...sharedTokens(config, secrets));
  return {
    secrets,
    missing: [...missing].map(([name, result]) => ({ name, ...result })),
    unfit,
    warnings,
  };
}

/** A platform gives each message of a bot to one connection only. The values are never shown. */
function sharedTokens({ channels }: Config, secrets: Secrets): readonly ConfigProblem[] {
  const firsts = new Map<string, EnvName>();
  return channels.flatMap((channel, index) => {
    const { tokenEnv } = channel;
    const value = isMessenger(channel) ? secrets.get(tokenEnv) : undefined;
    if (value === undefined || value === '') return [];
    const first = firsts.get(value);
    if (first === undefined) firsts.set(value, tokenEnv);
    if (first === undefined || first === tokenEnv) return [];
    const message = `${first} and ${tokenEnv} have one token, and each bot needs its own`;
    const remedy = 'Set one of them to the token of another bot.';
    return [problemWithoutPlace('token_shared', `channels[${index}].token_env`, message, remedy)];
  });
}

/** The variables that a config names, in its order, each with every field that names it. */
export function namedSecrets(config: Config): readonly NamedSecret[] {
  const places = Map.groupBy(usesOf(config), ({ name }) => name);
  return [...places].map(([name, uses]) => ({ name, usedAt: uses.map(({ path }) => path) }));
}

/** Why a name has no value: a sentence without its full stop. */
export function describeMissing({ name, found }: Pick<MissingSecret, 'name' | 'found'>): string {
  return found.kind === 'unreadable' ? found.message : `${name} ${describeWhy({ name, found })}`;
}

/** The same without the name, for a line that begins with it. */
export function describeWhy({ name, found }: Pick<MissingSecret, 'name' | 'found'>): string {
  if (found.kind === 'unreadable') return found.message.replace(`${name} `, '');
  return found.looked.some(({ empty }) => empty) ? 'is set, but empty' : 'is not set';
}

/** Where svc looked for a name, and the lines that a person can type: one sentence each. */
export function howToSet({ name, found }: Pick<MissingSecret, 'name' | 'found'>): string[] {
  if (found.kind === 'unreadable') return [found.remedy];
  const ways = isOfUnit(found)
    ? [credentialHint(name)]
    : [`Set it in the environment: export ${name}=…`, ...keychainHint(name, found)];
  return [...describePlaces(found), ...ways];
}

const isOfUnit = ({ looked }: Missing) => looked.some(({ source }) => source === 'credential');
/** A service of the system has no shell and no keychain. */
const credentialHint = (name: string): string =>
  `Write it into the folder of LoadCredential= (/etc/credstore/svc/${name}), and restart svc.`;

function describePlaces({ looked }: Missing): string[] {
  const places = looked.map(({ text, empty }) => (empty ? `${text} (empty)` : text));
  const last = places.pop();
  if (last === undefined) return [];
  return [`svc looked for ${places.length === 0 ? last : `${places.join(', ')} and ${last}`}.`];
}

function keychainHint(name: string, { looked }: Missing): string[] {
  if (!looked.some(({ source }) => source === 'keychain')) return [];
  return [`Or store it in the keychain: svc secrets set ${name}`];
}

/** One problem for each field that names a missing secret. */
export function problemsOf(missing: readonly MissingSecret[]): readonly ConfigProblem[] {
  return missing.flatMap((one) =>
    one.usedAt.map((path) => {
      const { name, found } = one;
      const message = describeMissing(one);
      if (found.kind === 'unreadable') {
        return problemWithoutPlace('secret_unreadable', path, message, found.remedy);
      }
      const set = 'Set it and restart svc, or name a variable that is set.';
      const store = keychainHint(name, found).map((line) => `${line}.`);
      const ways = isOfUnit(found) ? [credentialHint(name)] : [set, ...store];
      const remedy = [...describePlaces(found), ...ways].join(' ');
      return problemWithoutPlace('secret_missing', path, `${message} where svc runs`, remedy);
    }),
  );
}

/** The end of a sentence that begins with the name of a secret. */
export function describeSource(source: SecretSource, name: string): string {
  switch (source) {
    case 'environment':
      return 'is set in the environment';
    case 'file':
      return `is in the file that ${name}_FILE names`;
    case 'credential':
      return 'is a credential, in $CREDENTIALS_DIRECTORY';
    case 'keychain':
      return 'is in the keychain';
    default:
      return source satisfies never;
  }
}

/** Every field of a config that names a variable. A `token` protects svc itself. */
function* usesOf(config: Config): Generator<SecretUse> {
  for (const [index, channel] of config.channels.entries()) {
    const path = `channels[${index}]`;
    const kind: ChannelKind = kindOf(channel.type);
    const isOurs = kind.token.ours !== null;
    yield { name: channel.tokenEnv, path: `${path}.token_env`, kind: isOurs ? 'token' : 'key' };
    for (const own of kind.secrets?.(channel as never) ?? []) {
      yield { ...own, path: `${path}.${own.path}`, kind: 'key' };
    }
  }
  for (const [index, brain] of config.brains.entries()) {
    for (const [at, { apiKeyEnv }] of brain.models.entries()) {
      if (apiKeyEnv === null) continue;
      yield { name: apiKeyEnv, path: `brains[${index}].models[${at}].api_key_env`, kind: 'key' };
    }
  }
  yield* usesOfServers(config);
  const urlEnv = config.storage?.urlEnv ?? null;
  if (urlEnv !== null) {
    const fault = faultOfDatabaseUrl;
    yield { name: urlEnv, path: 'storage.url_env', kind: 'key', fault };
  }
  if (config.completions !== null) {
    yield { name: config.completions.tokenEnv, path: 'completions.token_env', kind: 'token' };
  }
  if (config.admin !== null) {
    yield { name: config.admin.tokenEnv, path: 'admin.token_env', kind: 'admin' };
  }
}

/**
 * Whether a secret is for an MCP server. A trial of a brain without its servers does not need it.
 * @param path the field that names the secret
 */
export const isOfMcpServer = (path: string): boolean => /\.agent\.mcp\[/.test(path);

function* usesOfServers({ brains }: Config): Generator<SecretUse> {
  for (const [index, { agent }] of brains.entries()) {
    for (const [at, { reach }] of (agent?.mcp ?? []).entries()) {
      const path = `brains[${index}].agent.mcp[${at}]`;
      if (reach.kind === 'command') {
        for (const [key, name] of Object.entries(reach.env)) {
          yield { name, path: `${path}.env.${key}`, kind: 'key' };
        }
      } else if (reach.tokenEnv !== null) {
        yield { name: reach.tokenEnv, path: `${path}.token_env`, kind: 'key' };
      }
    }
  }
}

function tokenUnsetWarning(name: EnvName, path: string, found: Unfound): ConfigProblem {
  const message = `${describeMissing({ name, found })}, so the service is read-only`;
  const remedy = found.kind === 'unreadable' ? found.remedy : `Set ${name} to switch writing on.`;
  return problemWithoutPlace('admin_token_unset', path, message, remedy);
}

function tokenUnfitWarning(name: EnvName, path: string, fault: SecretFault): ConfigProblem {
  const message = `the value of ${name} ${fault.message}, so the service is read-only`;
  return problemWithoutPlace('admin_token_unset', path, message, fault.remedy);
}

function fileUnusedWarning(name: EnvName, path: string): ConfigProblem {
  const message = `${name} is set, and so ${name}_FILE beside it is not used`;
  return problemWithoutPlace('secret_file_unused', path, message, 'Unset one of the two.');
}

function unfitProblem(name: EnvName, path: string, fault: SecretFault): ConfigProblem {
  const message = `the value of ${name} ${fault.message}`;
  return problemWithoutPlace('secret_unfit', path, message, fault.remedy);
}

function trimmedWarning(name: EnvName, path: string): ConfigProblem {
  const message = `white space around the value of ${name} was left out`;
  return problemWithoutPlace('secret_trimmed', path, message, `Set ${name} without it.`);
}

function tooShortWarning(name: EnvName, path: string): ConfigProblem {
  const message = `the value of ${name} has less than ${tokenLengthMin} characters`;
  const remedy = 'Use a long random one, such as `openssl rand -hex 32` makes.';
  return problemWithoutPlace('short_token', path, message, remedy);
}
