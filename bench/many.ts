/**
 * Measures several instances of svc on one PostgreSQL database. `traffic`: messages a second and
 * CPU at 1, 2, 4 and 8 instances. `idle`: a message, a heartbeat and a dead instance beside ever
 * more resting conversations. Arguments: which of these; default both. `--quick`: small and short.
 */
import { cpus, loadavg } from 'node:os';
import { connect } from '../src/ledger/postgres/server/connect.ts';
import { measureIdle } from './many/idle.ts';
import { startServer } from './many/server.ts';
import { measureThroughput, ways } from './many/traffic.ts';

const isQuick = process.argv.includes('--quick');
const quick = {
  traffic: { ways: ways.slice(0, 1), counts: [1, 2, 4], ms: 1_000, rounds: 1 },
  idle: { conversations: [10_000, 40_000], blind: false, times: 20, deaths: 1, queues: 100 },
};
const whole = {
  traffic: { ways, counts: [1, 2, 4, 8], ms: 5_000, rounds: 3 },
  idle: { conversations: [1e4, 1e5, 1e6], blind: true, times: 200, deaths: 3, queues: 1_000 },
};
const sizes = isQuick ? quick : whole;
const parts = {
  traffic: () => measureThroughput(sizes.traffic),
  idle: () => measureIdle(sizes.idle),
};

await sayMachine();
const asked = process.argv.slice(2).filter((one) => !one.startsWith('--'));
for (const [name, measure] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue;
  console.log(`\n${name}; load ${loadavg()[0]!.toFixed(1)}`);
  await measure();
}

async function sayMachine(): Promise<void> {
  await using server = await startServer();
  const client = await connect(server.url());
  const { rows } = await client.query<{ version: string }>(
    "SELECT current_setting('server_version') AS version",
  );
  await client.end();
  const [core] = cpus();
  console.log(
    `${cpus().length} cores for all (${core!.model}), Node ${process.versions.node}, ` +
      `PostgreSQL ${rows[0]!.version}`,
  );
}
