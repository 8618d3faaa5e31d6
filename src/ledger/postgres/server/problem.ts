/**
 * Why a server cannot be used, and what a person can do about it. No sentence has the URL or its
 * password.
 */
import type { StoreProblem } from '../../ledger.ts';
import { codeOf, faultOf, isOfTls } from './errors.ts';
import type { ServerFacts } from './probe.ts';
import { ForeignSchema, isTooNew, migrationFiles, NewerSchema } from './migrations.ts';

/** The oldest PostgreSQL release that has all features that svc uses. */
export const versionMin = 14;

const otherUrl = 'name another database in the URL';
const andUrl = 'and that the URL names the right host and port';

/**
 * @param error thrown while connecting, probing or migrating
 * @param where the address, for people: `database "svc" on db.example:5432`
 */
export function problemOf(error: unknown, where: string): StoreProblem {
  const at = `The ${where}`;
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'SVC_URL') return problem('storage_url', message);
  if (error instanceof ForeignSchema) return foreignProblem(where);
  if (error instanceof NewerSchema) return newerProblem(where);
  if (code === 'SVC_AUTHORITIES') {
    const what = 'give this user the right to read it, or name another file';
    return problem('storage_tls', `${at} cannot be trusted: ${message}; ${what}.`);
  }
  if (code === 'SVC_NO_TLS') {
    const what =
      'switch ssl on there; only on a network that nobody else can read, write ?sslmode=disable';
    return problem('storage_tls', `${at} does not speak TLS; ${what}.`);
  }
  if (isOfTls(code)) return certificateProblem(at, code);
  if (code.startsWith('28') || code === 'SVC_NO_PASSWORD') return refusedProblem(at, code, message);
  if (code === '3D000') {
    const what = 'make the database, or correct its name in the URL';
    return problem('storage_missing', `${at} does not exist; ${what}.`);
  }
  if (code === '42501') return rightsProblem(where, null);
  return passingProblem(at, error, message);
}

/** Problems that may be gone at the next start. */
function passingProblem(at: string, error: unknown, message: string): StoreProblem {
  const code = codeOf(error);
  if (code === 'SVC_STANDBY') {
    const what = 'name the primary in the URL, beside it or instead';
    return problem('storage_unreachable', `${at} takes no writes: it is a standby; ${what}.`);
  }
  if (code === 'SVC_READ_ONLY' || code === '25006') {
    const why = 'default_transaction_read_only is on for it or for this user';
    const what = 'switch that off there, or name another host in the URL';
    return problem('storage_unreachable', `${at} takes no writes: ${why}; ${what}.`);
  }
  if (code === '53300') {
    const what = 'raise max_connections there, or end what holds them';
    return problem('storage_unreachable', `${at} has no connection left; ${what}.`);
  }
  const fault = faultOf(error);
  switch (fault) {
    case 'full':
      return problem('storage_full', `${at} stands on a full disk; make room there.`);
    case 'away': {
      const why = code.startsWith('SVC_') || code === '' ? message : code;
      const what = `see that the server runs, ${andUrl}`;
      return problem('storage_unreachable', `${at} cannot be reached (${why}); ${what}.`);
    }
    case 'fenced':
      return lockedProblem(at.slice('The '.length), null);
    case 'again':
    case 'conflict':
    case 'fault':
      return problem('storage_unusable', `${at} cannot be used: ${message}.`);
    default:
      return fault satisfies never;
  }
}

/** @returns why a start does not use that server; null: it does */
export function refusalOf(facts: ServerFacts, where: string): StoreProblem | null {
  const at = `The ${where}`;
  if (facts.versionNumber < versionMin * 10_000) {
    const what = `svc needs ${versionMin} or newer; upgrade it, or name another server in the URL`;
    return problem('storage_too_old', `${at} is PostgreSQL ${facts.version}, and ${what}.`);
  }
  if (facts.encoding !== 'UTF8') {
    const how = "make one with ENCODING 'UTF8' TEMPLATE template0, and name that in the URL";
    return problem('storage_encoding', `${at} has the encoding ${facts.encoding}; ${how}.`);
  }
  if (facts.isStandby) return problemOf({ code: 'SVC_STANDBY' }, where);
  if (facts.isReadOnly) return problemOf({ code: 'SVC_READ_ONLY' }, where);
  const off = [
    ...(facts.fsync ? [] : ['fsync']),
    ...(facts.synchronousCommit === 'off' ? ['synchronous_commit'] : []),
  ].join(' and ');
  if (off !== '') {
    const what = `has ${off} off: it would lose what svc has acknowledged; switch that on there`;
    return problem('storage_not_durable', `${at} ${what}.`);
  }
  if (facts.schema === 'foreign') return foreignProblem(where);
  if (isTooNew(facts.schemaVersion, migrationFiles().length)) return newerProblem(where);
  return facts.missingRight === null ? null : rightsProblem(where, facts.missingRight);
}

/** @param holder the svc that uses it, for people; null: unknown */
export function lockedProblem(where: string, holder: string | null): StoreProblem {
  const by = holder === null ? '' : ` (${holder})`;
  const what = `is in use by another svc${by}. Stop that one, or ${otherUrl}`;
  return problem('storage_locked', `The ${where} ${what}.`);
}

/** @param holder an svc of the release before, for people */
export function aloneProblem(where: string, holder: string): StoreProblem {
  const what = `is in use by an older svc that shares it with none (${holder})`;
  return problem('storage_locked', `The ${where} ${what}. Stop that one, then start this one.`);
}

/** Its tables have been locked for longer than anything but a command locks them. */
export function movedProblem(where: string): StoreProblem {
  const what = 'is locked by another program, as svc migrate does';
  return problem('storage_locked', `The ${where} ${what}. Start svc when that has ended.`);
}

function foreignProblem(where: string): StoreProblem {
  const what = `has a schema svc that belongs to another program; ${otherUrl}`;
  return problem('storage_foreign', `The ${where} ${what}.`);
}

function newerProblem(where: string): StoreProblem {
  const what = 'was written by a newer svc; run that one, or a newer one';
  return problem('storage_newer_schema', `The ${where} ${what}.`);
}

/** @param right null: the server does not say which */
function rightsProblem(where: string, right: string | null): StoreProblem {
  const lacks = right ?? 'a right that svc needs';
  const how =
    right === null || right.startsWith('CREATE on the database')
      ? 'have an administrator run CREATE SCHEMA svc AUTHORIZATION for that user'
      : 'have an administrator grant it';
  return problem('storage_rights', `The ${where} does not give this user ${lacks}; ${how}.`);
}

function refusedProblem(at: string, code: string, message: string): StoreProblem {
  if (code === 'SVC_NO_PASSWORD') {
    const what = 'asks for a password, and the URL has none; write it there';
    return problem('storage_refused', `${at} ${what}.`);
  }
  if (/no encryption|SSL off/.test(message)) {
    const what = 'lets nobody in without TLS; write ?sslmode=verify-full in the URL';
    return problem('storage_tls', `${at} ${what}.`);
  }
  const what =
    'correct the user and the password in the URL, or have an administrator let this user in ' +
    'from this machine (pg_hba.conf)';
  return problem('storage_refused', `${at} refuses this user (${code}); ${what}.`);
}

function certificateProblem(at: string, code: string): StoreProblem {
  const other = code === 'ERR_TLS_CERT_ALTNAME_INVALID';
  const what = other
    ? 'has a certificate of another name; name that host in the URL'
    : `has a certificate that cannot be verified (${code}); name the file of its authority with ` +
      'sslrootcert in the URL';
  return problem('storage_tls', `${at} ${what}.`);
}

/**
 * Problems that a restart may solve: the server is back, has room again, or another instance is
 * gone.
 */
const passing = new Set([
  'storage_unreachable',
  'storage_full',
  'storage_locked',
  'storage_unusable',
]);

function problem(code: string, message: string): StoreProblem {
  return { kind: 'problem', code, message, isPassing: passing.has(code) };
}
