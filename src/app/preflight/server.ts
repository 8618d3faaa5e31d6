/** The database server, as a look at it saw it. */
import { databaseUrlForm } from '../../config/database-url.ts';
import { plural } from '../../domain/plural.ts';
import type { probeServer, ServerProbe } from '../storage.ts';
import { failed, ok, warning, type PreflightLine } from './lines.ts';

/** What came of a look: a problem where there is no way to it. */
export type ServerSeen = Awaited<ReturnType<typeof probeServer>>;

const subject = 'database server';

/** @param urlEnv the variable with the URL, which is named where the URL is to be changed */
export function serverLines(seen: ServerSeen, urlEnv: string): readonly PreflightLine[] {
  if (seen.kind === 'problem') {
    const remedy = `${urlEnv} has its URL, such as ${databaseUrlForm}; svc starts once it answers.`;
    return [failed(subject, seen.message, remedy)];
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

/** Nothing was asked, for there is no URL. */
export function unaskedLine(urlEnv: string): PreflightLine {
  const message = `was not asked, since ${urlEnv} is not set`;
  return warning(subject, message, 'Set it and try again.');
}

function versionLine({ host, version, isKnown }: ServerProbe): PreflightLine {
  const message = `answers at ${host}: PostgreSQL ${version}`;
  if (isKnown) return ok(subject, message);
  return failed(subject, `${message}, which is too old`, 'Bring it to PostgreSQL 14 or newer.');
}

function encryptionLines({ tls, warnings }: ServerProbe, urlEnv: string): PreflightLine[] {
  const remedy = `Change the URL in ${urlEnv}, and restart svc.`;
  if (warnings.length > 0) return warnings.map((one) => warning('TLS', one, remedy));
  const near = 'is not in use: the server is on this machine';
  return [ok('TLS', tls === null ? near : `the way to the server is encrypted (${tls})`)];
}

/** Without them svc does not start: it would acknowledge what a loss of power takes back. */
function durabilityLines(look: ServerProbe): PreflightLine[] {
  const { fsync, synchronousCommit, fullPageWrites } = look;
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

/** One server is a fine choice, so that it is no warning. */
function standbyLine({ synchronousStandbys: count }: ServerProbe): PreflightLine {
  if (count === null) return ok('standby', 'the user may not see whether there is one');
  if (count > 0) return ok('standby', `a commit waits for ${plural(count, 'synchronous standby')}`);
  const lost = 'what was acknowledged last may be lost with the disk of the server';
  return ok('standby', `there is no synchronous one: ${lost}`);
}
