/** The configuration that is kept with a release, as people write it, and its addresses. */

/** The addresses that a test uses in place of those of the file. */
export type Places = {
  readonly webhook: string;
  readonly admin: string;
  readonly model: string;
  readonly receiver: string;
  readonly messenger: string;
};

/** The addresses in the file. */
const written: Places = {
  webhook: '127.0.0.1:8090',
  admin: '127.0.0.1:2112',
  model: '127.0.0.1:11434',
  receiver: '127.0.0.1:9000',
  messenger: '127.0.0.1:8081',
};

export const document = {
  channels: [
    {
      type: 'webhook',
      token_env: 'WEBHOOK_SECRET',
      webhook: { bind: written.webhook, outbound_url: `http://${written.receiver}/replies` },
    },
    {
      type: 'messenger_a',
      mode: 'polling',
      token_env: 'TELEGRAM_TOKEN',
      base_url: `http://${written.messenger}`,
      access: { pairing: true },
    },
  ],
  brains: [
    {
      name: 'clerk',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [ofModel('llama3.2')],
      agent: { tools: ['time', 'memory_note'], memory: { max_notes: 20 } },
    },
    {
      name: 'house',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [ofModel('qwen3')],
    },
  ],
  routes: [
    { channel: 'webhook', brain: 'clerk' },
    { channel: 'messenger_a', brain: 'house' },
  ],
  // A test must find these rows years later.
  storage: { path: 'svc.db', retention_days: 0 },
  session: { recall_max: 10 },
  observability: { addr: written.admin },
  admin: { token_env: 'ADMIN_TOKEN' },
};

function ofModel(id: string): object {
  return {
    provider: 'local_runtime',
    model_id: id,
    locality: 'local',
    base_url: `http://${written.model}`,
  };
}

const names = Object.keys(written) as (keyof Places)[];

/** Returns the same text with the addresses of a test. */
export function placed(text: string, places: Places): string {
  return moved(text, written, places);
}

/** Returns the same text with the addresses that people write. */
export function unplaced(text: string, places: Places): string {
  return moved(text, places, written);
}

/** Replaces each whole address once: an address of a test may be another one of the file. */
function moved(text: string, from: Places, to: Places): string {
  const other = new Map(names.map((name) => [from[name], to[name]]));
  return text.replaceAll(/127\.0\.0\.1:\d+/g, (address) => other.get(address) ?? address);
}
