/** Checks the models of the brains, and the database server. */
import type { BrainConfig, Config, ModelConfig, Secrets } from '../../config/config.ts';
import { hasCloudTag } from '../../config/rank.ts';
import { remedyOf } from '../../domain/remedy.ts';
import type { Sensitivity } from '../../domain/sensitivity.ts';
import { later } from '../../lib/clock.ts';
import type { ContextSizes, ModelCheck } from '../../brains/models/model.ts';
import { createModel, type BrainDeps, type ServiceDeps } from '../service.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';
import { databaseUrlForm } from '../../config/storage-place.ts';
import { plural } from '../../domain/plural.ts';
import type { probeServer, ServerProbe } from '../storage.ts';

const checkMs = 10_000;

/**
 * Checks each model that a brain may ask, once. It does not contact models that the privacy filter
 * drops. For a model of a local runtime the line adds how much it reads in one call.
 */
export async function providerLines(
  config: Config,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine[]> {
  const linesByModel = new Map<string, Promise<readonly PreflightLine[]>>();
  for (const brain of config.brains) {
    for (const model of brain.models) {
      const closed = brain.sensitivity === 'private';
      const { provider, locality, baseUrl, modelId, apiKeyEnv, contextTokens } = model;
      const passedOver = passesOver(brain, model);
      const where = [provider, locality, baseUrl, modelId, apiKeyEnv, contextTokens];
      const key = [closed, passedOver, ...where].join(' ');
      if (linesByModel.has(key)) continue;
      const lines = passedOver
        ? passedOverLines(brain, model)
        : modelLines(brain, model, secrets, deps);
      linesByModel.set(key, lines);
    }
  }
  return (await Promise.all(linesByModel.values())).flat();
}

/** An agent that keeps notes of the whole brain asks local models alone. */
function passesOver({ agent }: BrainConfig, model: ModelConfig): boolean {
  if (agent?.memory?.scope !== 'brain') return false;
  return model.locality === 'cloud' || hasCloudTag(model);
}

async function passedOverLines(brain: BrainConfig, model: ModelConfig): Promise<PreflightLine[]> {
  const message = `is never contacted: notes of the whole brain "${brain.name}" stay local`;
  return [ok(subjectOf(model), message)];
}

function subjectOf({ provider, modelId, baseUrl }: ModelConfig): string {
  return `${provider}/${modelId} at ${baseUrl}`;
}

async function modelLines(
  brain: BrainConfig,
  config: ModelConfig,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine[]> {
  const subject = subjectOf(config);
  const isPrivate = brain.sensitivity === 'private';
  if (isPrivate && config.locality === 'cloud') {
    return [ok(subject, `is never contacted: the brain "${brain.name}" is private`)];
  }
  if (config.apiKeyEnv !== null && !secrets.has(config.apiKeyEnv)) {
    const message = `was not contacted, since ${config.apiKeyEnv} is not set`;
    return [warning(subject, message, 'Set the key and try again.')];
  }
  const model = createModel(config, secrets, deps);
  const endsAt = later(deps.steady(), checkMs);
  const check = await model.check(brain.sensitivity, endsAt);
  const line = lineOfCheck(subject, check, config, isPrivate);
  const isHere = check.kind === 'reached' && check.hasModel === true && check.runs !== 'elsewhere';
  const seen = isHere ? ((await model.context?.(brain.sensitivity, endsAt)) ?? null) : null;
  return seen === null ? [line] : [line, lineOfContext(subject, seen, config.contextTokens)];
}

/** Asks a provider whether it has this model. */
export async function lineOfModel(
  config: ModelConfig,
  sensitivity: Sensitivity,
  secrets: Secrets,
  deps: ServiceDeps,
): Promise<PreflightLine> {
  const model = createModel(config, secrets, deps);
  const check = await model.check(sensitivity, later(deps.steady(), checkMs));
  return lineOfCheck(subjectOf(config), check, config, sensitivity === 'private');
}

/** A name that no provider has, so that it answers with the names of all its models. */
const noModel = 'svc-asks-for-the-list';

/** Asks a provider for the names of its models. */
export async function namesOfProvider(
  config: ModelConfig,
  secrets: Secrets,
  deps: BrainDeps,
): Promise<{ readonly names: readonly string[]; readonly reason: string | null }> {
  const { provider, baseUrl, apiKeyEnv } = config;
  if (apiKeyEnv !== null && !secrets.has(apiKeyEnv)) {
    return { names: [], reason: `${apiKeyEnv} is not set. Set the key and try again.` };
  }
  const model = createModel({ ...config, modelId: noModel }, secrets, deps);
  const check = await model.check('public', later(deps.steady(), checkMs));
  if (check.kind === 'failed') {
    const { kind, detail } = check.failure;
    return { names: [], reason: `${detail}. ${remedyOf(kind, provider, '') ?? anyRemedy}` };
  }
  const isEmpty = check.others.length === 0;
  return { names: check.others, reason: isEmpty ? `${baseUrl} lists no models.` : null };
}

/** @param given `context_tokens`; null: the runtime decides */
function lineOfContext(
  subject: string,
  { isLoaded, loaded, set, most }: ContextSizes,
  given: number | null,
): PreflightLine {
  if (given !== null && most !== null && most < given) {
    const message = `was made for ${digits(most)} tokens, and context_tokens is ${digits(given)}`;
    return warning(subject, message, `Write "context_tokens": ${most}, which is all it gets.`);
  }
  if (given !== null) {
    const message = `gets ${digits(given)} tokens, as context_tokens says`;
    if (loaded === null || loaded === given) return ok(subject, message);
    const now = `it is loaded with ${digits(loaded)} now, and the next message loads it again`;
    return ok(subject, `${message}; ${now}`);
  }
  const upTo = most === null ? '' : `, up to ${digits(most)}`;
  const hint = `svc leaves out history beyond that; context_tokens sets another number${upTo}`;
  return ok(subject, `${describeContext(isLoaded, loaded, set)}; ${hint}`);
}

/** The default is from docs/context-length.mdx of github.com/ollama/ollama. */
function describeContext(isLoaded: boolean, loaded: number | null, set: number | null): string {
  if (loaded !== null) return `is loaded with ${digits(loaded)} tokens`;
  if (isLoaded) return 'is loaded, and its runtime does not say with how many tokens';
  if (set !== null) return `is not loaded; its model file sets num_ctx ${digits(set)}`;
  return (
    'is not loaded, so its context is not known: Ollama takes OLLAMA_CONTEXT_LENGTH, or 4,096 ' +
    'tokens below 24 GiB of video memory'
  );
}

const digits = (tokens: number): string => tokens.toLocaleString('en-US');

const anyRemedy = 'Check base_url and the way to the network.';

function lineOfCheck(
  subject: string,
  check: ModelCheck,
  { provider, modelId, locality }: ModelConfig,
  isPrivate: boolean,
): PreflightLine {
  if (check.kind === 'failed') {
    const { kind, detail } = check.failure;
    return failed(subject, detail, remedyOf(kind, provider, modelId) ?? anyRemedy);
  }
  if (check.hasModel === false) {
    const remedy = remedyOf('not_found', provider, modelId) ?? anyRemedy;
    return failed(subject, `answers, but has no model "${modelId}"`, remedy);
  }
  if (check.runs === 'elsewhere' && locality === 'local') {
    const message = 'answers, but hands the model’s requests on to a vendor';
    const remedy = 'Use a model that runs on this machine, or declare this one cloud.';
    return isPrivate ? failed(subject, message, remedy) : warning(subject, message, remedy);
  }
  if (check.runs === 'unknown' && isPrivate) {
    const message = 'answers, but does not list its models, so nothing private is sent to it';
    const remedy = 'Let it answer GET /api/tags with a list that holds the model.';
    return warning(subject, message, remedy);
  }
  if (check.hasModel === null) {
    const remedy = 'Nothing to do, when the model’s name is right.';
    return warning(subject, 'answers, but lists no models to look it up in', remedy);
  }
  return ok(subject, 'answers and has the model');
}

// Lines about the database server, by the result of a probe.

/** The result of a probe; a problem: the server was not reached. */
export type ServerSeen = Awaited<ReturnType<typeof probeServer>>;

const serverSubject = 'database server';

/** @param urlEnv the variable with the URL, named in a remedy that changes the URL */
export function serverLines(seen: ServerSeen, urlEnv: string): readonly PreflightLine[] {
  if (seen.kind === 'problem') {
    const remedy = `${urlEnv} has its URL, such as ${databaseUrlForm}; svc starts once it answers.`;
    return [failed(serverSubject, seen.message, remedy)];
  }
  return [
    versionLine(seen),
    ...encryptionLines(seen, urlEnv),
    ...durabilityLines(seen),
    rightsLine(seen),
    encodingLine(seen),
    standbyLine(seen),
  ];
}

/** The line without a URL: the server was not asked. */
export function unaskedLine(urlEnv: string): PreflightLine {
  const message = `was not asked, since ${urlEnv} is not set`;
  return warning(serverSubject, message, 'Set it and try again.');
}

function versionLine({ host, version, isKnown }: ServerProbe): PreflightLine {
  const message = `answers at ${host}: PostgreSQL ${version}`;
  if (isKnown) return ok(serverSubject, message);
  return failed(
    serverSubject,
    `${message}, which is too old`,
    'Bring it to PostgreSQL 14 or newer.',
  );
}

function encryptionLines({ tls, warnings }: ServerProbe, urlEnv: string): PreflightLine[] {
  const remedy = `Change the URL in ${urlEnv}, and restart svc.`;
  if (warnings.length > 0) return warnings.map((one) => warning('TLS', one, remedy));
  const near = 'is not in use: the server is on this machine';
  return [ok('TLS', tls === null ? near : `the way to the server is encrypted (${tls})`)];
}

/**
 * Without these settings svc does not start: it would acknowledge data that a power loss destroys.
 */
function durabilityLines(probe: ServerProbe): PreflightLine[] {
  const { fsync, synchronousCommit, fullPageWrites } = probe;
  const lines = [
    ...(fsync
      ? []
      : [
          failed(
            'durability',
            'fsync is off there: a loss of power takes back what was acknowledged',
            'Set fsync = on in its postgresql.conf, and reload that.',
          ),
        ]),
    ...(synchronousCommit === 'off'
      ? [
          failed(
            'durability',
            'synchronous_commit is off there: a crash takes back what was acknowledged',
            'Set it on: ALTER ROLE … SET synchronous_commit = on; look at the database, too.',
          ),
        ]
      : []),
    ...(fullPageWrites
      ? []
      : [
          warning(
            'durability',
            'full_page_writes is off there: a loss of power may damage the database',
            'Set full_page_writes = on, unless its disk writes whole pages or none.',
          ),
        ]),
  ];
  if (lines.length > 0) return lines;
  const how = `fsync is on, synchronous_commit ${synchronousCommit}`;
  return [ok('durability', `what is acknowledged is on its disk (${how})`)];
}

function rightsLine({ lacking }: ServerProbe): PreflightLine {
  if (lacking === null) return ok('rights', 'the user may make and use the tables of svc');
  const remedy = 'Let it own the database: ALTER DATABASE … OWNER TO …; or grant it what it lacks.';
  return failed('rights', `the user ${lacking}`, remedy);
}

function encodingLine({ encoding }: ServerProbe): PreflightLine {
  if (encoding === 'UTF8') return ok('encoding', 'the database keeps every character (UTF8)');
  const remedy = "Make another: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.";
  return failed('encoding', `the database is in ${encoding}, and has to be in UTF8`, remedy);
}

/** A single server is a valid choice, so it is no warning. */
function standbyLine({ synchronousStandbys: count }: ServerProbe): PreflightLine {
  if (count === null) return ok('standby', 'the user may not see whether there is one');
  if (count > 0) return ok('standby', `a commit waits for ${plural(count, 'synchronous standby')}`);
  const lost = 'what was acknowledged last may be lost with the disk of the server';
  return ok('standby', `there is no synchronous one: ${lost}`);
}
