/** Reads the secrets that a config names, each once, from the environment it is given. */
import type { ChannelKind, OwnSecret, SecretFault } from '../channel/kind.ts';
import { kindOf } from '../channel/kinds.ts';
import type { Config, ConfigProblem, EnvName, Secrets } from './config.ts';
import { problemWithoutPlace } from './problems.ts';

export type NamedSecret = { readonly name: EnvName; readonly usedAt: readonly string[] };
/** `empty`: it is set, to nothing but white space. */
export type MissingSecret = NamedSecret & { readonly empty: boolean };

export type ResolvedSecrets = {
  readonly secrets: Secrets;
  /** By name, in the order of the config; each names every place that wants it. */
  readonly missing: readonly MissingSecret[];
  /** Values that cannot be what they are named for: errors that say nothing of the value. */
  readonly unfit: readonly ConfigProblem[];
  /** Without line and column: they are about the environment, not about the file. */
  readonly warnings: readonly ConfigProblem[];
};

type Env = Readonly<Record<string, string | undefined>>;

type Use = {
  readonly name: EnvName;
  readonly path: string;
  readonly kind: 'token' | 'key' | 'admin';
  readonly fault?: OwnSecret['fault'];
};

const tokenLengthMin = 16;

/**
 * Looks up every `_env` name. Not set, empty, and nothing but white space are all missing; line
 * ends around a value are left out (files and `$(cat …)` put them there), and other white space
 * around it too, with a warning. The administrator's token is the one that may be missing: the
 * service is read-only then, and a warning says so.
 * @param env usually `process.env`; nothing of it is printed
 */
export function resolveSecrets(config: Config, env: Env): ResolvedSecrets {
  const secrets = new Map<EnvName, string>();
  const missing = new Map<EnvName, string[]>();
  const unfit: ConfigProblem[] = [];
  const warnings: ConfigProblem[] = [];
  const trimmed = new Set<EnvName>();
  for (const { name, path, kind, fault } of usesOf(config)) {
    const given = givenOf(name, env);
    const value = given.trim();
    if (value === '') {
      if (kind === 'admin') warnings.push(tokenUnset(name, path));
      else missing.set(name, [...(missing.get(name) ?? []), path]);
      continue;
    }
    secrets.set(name, value);
    const wrong = fault?.(value) ?? null;
    if (wrong !== null) unfit.push(cannotBeUsed(name, path, wrong));
    if (value !== given && !trimmed.has(name)) warnings.push(trimmedAway(name, path));
    trimmed.add(name);
    if (kind !== 'key' && value.length < tokenLengthMin) warnings.push(tooShort(name, path));
  }
  return {
    secrets,
    missing: [...missing].map(([name, usedAt]) => {
      return { name, usedAt, empty: Object.hasOwn(env, name) && env[name] !== undefined };
    }),
    unfit,
    warnings,
  };
}

/** The value without line ends around it; empty: not set. Inherited names are not variables. */
function givenOf(name: string, env: Env): string {
  const given = Object.hasOwn(env, name) ? (env[name] ?? '') : '';
  return given.replace(/^[\r\n]+|[\r\n]+$/g, '');
}

/** Whether a variable has a value that could be a secret. */
export function isSet(name: string, env: Env): boolean {
  return givenOf(name, env).trim() !== '';
}

/** The variables that a config names, in its order, each with every place that wants it. */
export function namedSecrets(config: Config): readonly NamedSecret[] {
  const places = Map.groupBy(usesOf(config), ({ name }) => name);
  return [...places].map(([name, uses]) => ({ name, usedAt: uses.map(({ path }) => path) }));
}

/** The line that a person can type. */
export function howToSet(name: string): string {
  return `Set it in the environment: export ${name}=…`;
}

/** `is not set`, or that it is set to nothing. */
export function sayUnset({ empty }: MissingSecret): string {
  return empty ? 'is set, but empty,' : 'is not set';
}

/** What is missing, as problems: one for each place that wants it. */
export function problemsOf(missing: readonly MissingSecret[]): readonly ConfigProblem[] {
  return missing.flatMap((one) =>
    one.usedAt.map((path) => {
      const message = `${one.name} ${sayUnset(one)} in the environment of svc`;
      const remedy = 'Set it and restart svc, or name a variable that is set.';
      return problemWithoutPlace('secret_missing', path, message, remedy);
    }),
  );
}

/** Every place of a config that names a variable; `token` guards something of ours. */
function* usesOf(config: Config): Generator<Use> {
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
  const urlEnv = config.storage?.urlEnv ?? null;
  if (urlEnv !== null) yield { name: urlEnv, path: 'storage.url_env', kind: 'key' };
  if (config.admin !== null) {
    yield { name: config.admin.tokenEnv, path: 'admin.token_env', kind: 'admin' };
  }
}

function tokenUnset(name: EnvName, path: string): ConfigProblem {
  const message = `${name} is not set, so the service is read-only`;
  return problemWithoutPlace(
    'admin_token_unset',
    path,
    message,
    `Set ${name} to switch writing on.`,
  );
}

function cannotBeUsed(name: EnvName, path: string, wrong: SecretFault): ConfigProblem {
  const message = `the value of ${name} ${wrong.message}`;
  return problemWithoutPlace('secret_unfit', path, message, wrong.remedy);
}

function trimmedAway(name: EnvName, path: string): ConfigProblem {
  const message = `white space around the value of ${name} was left out`;
  return problemWithoutPlace('secret_trimmed', path, message, `Set ${name} without it.`);
}

function tooShort(name: EnvName, path: string): ConfigProblem {
  const message = `the value of ${name} has less than ${tokenLengthMin} characters`;
  const remedy = 'Use a long random one, such as `openssl rand -hex 32` makes.';
  return problemWithoutPlace('short_token', path, message, remedy);
}
