/**
 * Schemathesis reads svc's OpenAPI description of the admin API. It asks every route for what the
 * description allows and for what it forbids. No answer is a 5xx, and each fits the description.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asks, inTurn } from '../agents/stage.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { patienceMs, until } from '../support/waiting.ts';
import { operatorToken, type Counterpart, type Svc } from './world.ts';

/** Its settings: exceptions from some checks, and ids of rows that svc has. */
async function settingsOf(svc: Svc): Promise<string> {
  const kinds = ['messages', 'conversations', 'approvals', 'dead-letters', 'deliveries'];
  const ids = await Promise.all(kinds.map((kind) => idOf(svc, kind)));
  const known = kinds.map(
    (kind, at) => `
[[operations]]
include-path-regex = '^/api/v1/${kind}/\\{id\\}'
parameters = { "path.id" = "${ids[at]}" }
`,
  );
  return `
# svc may refuse an id that does not exist, and a head that is too large.
[checks]
positive_data_acceptance.enabled = false
negative_data_rejection.expected-statuses = [400, 401, 403, 404, 405, 409, 413, 415, 428, 431]
missing_required_header.expected-statuses = [400, 401, 403, 428]

# A machine without a keychain answers 503 there, as described.
[[operations]]
include-path = "/api/v1/secrets/{name}"
checks.not_a_server_error.enabled = false

# A GET of such a path reads the conversation with that name.
[[operations]]
include-path-regex = '/conversations/\\{id\\}/(answer|hold|release)$'
checks.unsupported_method.enabled = false

# After a deletion the list is empty, and not a 404.
[[operations]]
include-path-regex = '/notes$'
checks.use_after_free.enabled = false

[[operations]]
include-path = "/api/v1/tool-uses/{key}"
parameters = { "path.key" = "${await idOf(svc, 'tool-uses')}" }
${known.join('')}`;
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
    const steps = [
      asks('calc', { expression: '7+8' }),
      { answer: 'It is 15.' },
      asks('echo', { text: 'hello' }),
      { answer: 'hello' },
    ];
    const model = world.use(await startFakeOllama(inTurn(...steps)));
    const governance = [
      { tool: 'calc', mode: 'allow' },
      { tool: 'echo', mode: 'ask' },
    ];
    const brain = { agent: { tools: ['calc', 'echo'], governance } };
    const svc = await world.svc({ base_url: model.url }, { brain });
    // A use of a tool, a call that waits for approval, a dead letter, and a retried reply.
    svc.receiver.script.push(200, 200, 410, 503);
    for (let said = 0; said < 4; said++) await svc.say('hello');
    const folder = await world.folder();
    await writeFile(join(folder, 'schemathesis.toml'), await settingsOf(svc));
    const report = join(folder, 'report.json');
    const ran = await world.outcome(
      join(bin, 'schemathesis'),
      [
        ['run', `${svc.admin}/api/v1/openapi.json`, '--url', svc.admin],
        ['-H', `Authorization: Bearer ${operatorToken}`],
        ['--phases', 'examples,coverage,fuzzing,stateful'],
        ['--max-examples', String(examplesMax), '--seed', '1', '--no-shrink'],
        ['--continue-on-failure', '--request-timeout', String(patienceMs / 1_000)],
        // A stream of events never ends.
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
    world.made(cases.generated);
    for (const { title, operations } of failures) {
      for (const one of operations) world.check(`${one}: ${title}`, false, wordsOn(one, ran.out));
    }
    world.check('schemathesis finds nothing', ran.code === 0 || failures.length > 0, ran.out);
    const health = await fetch(`${svc.admin}/healthz`);
    world.equal('/healthz in the end', health.status, 200);
  },
};

/** The id of the newest entry of a list, once there is one. */
function idOf(svc: Svc, kind: string): Promise<string> {
  const headers = { authorization: `Bearer ${operatorToken}` };
  return until(`one of ${kind}`, async () => {
    const answer = await fetch(`${svc.admin}/api/v1/${kind}`, { headers });
    const { rows } = (await answer.json()) as {
      readonly rows: readonly { readonly id?: string; readonly key?: string }[];
    };
    return rows[0]?.id ?? rows[0]?.key ?? null;
  });
}

/** Its output about an operation: the answer, and the command to repeat the request. */
function wordsOn(operation: string, out: string): string {
  const section = out.split(/^_{3,} (?=\w)/m).find((one) => one.startsWith(`${operation} `));
  return (section ?? '').replaceAll(/\s+/g, ' ').slice(0, 500);
}
