/**
 * Schemathesis reads svc's own description of its admin API and asks every route for what the
 * description allows, and for what it forbids: no 5xx, and every answer is as it is described.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startFakeOllama } from '../fake/ollama.ts';
import { patienceMs } from '../support/waiting.ts';
import { operatorToken, type Counterpart, type Svc } from './world.ts';

/** What holds on some paths alone. The values of `parameters` are of what svc has. */
async function settingsOf(svc: Svc): Promise<string> {
  const [message] = await listOf(svc, 'messages');
  const [conversation] = await listOf(svc, 'conversations');
  return `
# A text that stands for something that is not there may be refused, and so may a head of its size.
[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 428, 431]
missing_required_header.expected-statuses = [400, 401, 403, 428]

# A machine without a keychain answers 503 there, as described.
[[operations]]
include-path = "/api/v1/secrets/{name}"
checks.not_a_server_error.enabled = false

# By GET they are the conversation of that name on that channel.
[[operations]]
include-path-regex = '/conversations/\\{id\\}/(answer|hold|release)$'
checks.unsupported_method.enabled = false
parameters = { "path.id" = "${conversation!.id}" }

[[operations]]
include-path-regex = '/messages/\\{id\\}'
parameters = { "path.id" = "${message!.id}" }
`;
}

/** Tries of each operation in each phase. */
const examplesMax = 12;

type Report = {
  readonly test_cases: { readonly generated: number };
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[];
};

export const schemathesis: Counterpart = {
  name: 'schemathesis',
  of: "PyPI's schemathesis",
  async run(world) {
    const bin = await world.python('schemathesis');
    const model = world.use(await startFakeOllama({ answer: 'hello' }));
    const svc = await world.svc({ base_url: model.url });
    await svc.say('hello');
    const folder = await world.folder();
    await writeFile(join(folder, 'schemathesis.toml'), await settingsOf(svc));
    const report = join(folder, 'report.json');
    const ran = await world.outcome(
      join(bin, 'schemathesis'),
      [
        ['run', `${svc.admin}/api/v1/openapi.json`, '--url', svc.admin],
        ['-H', `Authorization: Bearer ${operatorToken}`],
        ['--phases', 'examples,coverage,fuzzing'],
        ['--max-examples', String(examplesMax), '--seed', '1', '--no-shrink'],
        ['--continue-on-failure', '--request-timeout', String(patienceMs / 1_000)],
        // A stream of events has no end.
        ['--exclude-path', '/api/v1/events'],
        ['--report', 'json', '--report-json-path', report],
      ].flat(),
      { cwd: folder },
    );
    const text = await readFile(report, 'utf8').catch(() => null);
    world.check('schemathesis writes its report', text !== null, ran.out + ran.err);
    if (text === null) return;
    const { failures, test_cases: cases } = JSON.parse(text) as Report;
    world.check('it asked for something', cases.generated > 0, cases);
    for (const { title, operations } of failures) {
      for (const one of operations) world.check(`${one}: ${title}`, false, wordsOn(one, ran.out));
    }
    world.check('schemathesis finds nothing', ran.code === 0 || failures.length > 0, ran.out);
    const health = await fetch(`${svc.admin}/healthz`);
    world.equal('/healthz in the end', health.status, 200);
  },
};

async function listOf(svc: Svc, what: string): Promise<readonly { readonly id: string }[]> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  const answer = await fetch(`${svc.admin}/api/v1/${what}`, { headers });
  const body = (await answer.json()) as { readonly rows: readonly { readonly id: string }[] };
  return body.rows;
}

/** What it prints of an operation: the answer, and how to ask for it again. */
function wordsOn(operation: string, out: string): string {
  const section = out.split(/^_{3,} (?=[A-Z]+ \/)/m).find((one) => one.startsWith(`${operation} `));
  return (section ?? '').replaceAll(/\s+/g, ' ').slice(0, 500);
}
