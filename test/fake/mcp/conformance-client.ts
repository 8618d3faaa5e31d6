/** svc's own connection, as the client of the conformance suite. The last argument is the URL. */
import { steadyNow } from '../../../src/lib/clock.ts';
import { createDeadlines } from '../../../src/lib/deadlines.ts';
import { createHttpClient } from '../../../src/lib/http-client.ts';
import { Connection } from '../../../src/brains/tools/mcp/connection.ts';
import { patienceMs } from '../../support/waiting.ts';

const url = new URL(process.argv.at(-1)!);
const http = createHttpClient(createDeadlines());
const own = { url, token: null, nearOnly: true, timeoutMs: patienceMs, http };
const connection = new Connection({
  reach: { kind: 'url', ...own, steady: steadyNow, version: '0' },
  version: '0',
  steady: steadyNow,
  initMs: patienceMs,
  toolsChanged: () => {},
});
const { signal } = new AbortController();
await connection.open(signal);
for (const { name } of await connection.tools(signal)) {
  await connection.call(name, { a: 2, b: 3 }, { signal, timeoutMs: patienceMs });
}
await connection.close();
await http.close();
