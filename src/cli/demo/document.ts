/** The configuration that the demo runs on: the same fields that a person would write. */
import { validateText } from '../../config/validate.ts';
import type { Config } from '../../config/config.ts';

export type DemoChoices = {
  readonly webhookPort: number;
  readonly adminPort: number;
  readonly receiverPort: number;
  readonly modelId: string;
  /** null: the runtime's own default address. */
  readonly modelPort: number | null;
  /** Absolute; null: no storage. */
  readonly storagePath: string | null;
};

export const webhookSecretName = 'SVC_DEMO_SECRET';
export const replySecretName = 'SVC_DEMO_REPLY_SECRET';
export const adminTokenName = 'SVC_DEMO_ADMIN_TOKEN';
export const demoBrainName = 'practice';

/** @returns the document's text and what it parses to */
export function demoConfig(choices: DemoChoices): {
  readonly text: string;
  readonly config: Config;
} {
  const text = JSON.stringify(documentOf(choices), null, 2);
  const validation = validateText(text);
  if (validation.kind === 'invalid') {
    const [first] = validation.problems;
    throw new Error(`the demo's own configuration is wrong: ${first?.path} ${first?.message}`);
  }
  return { text, config: validation.config };
}

function documentOf(choices: DemoChoices): object {
  const { modelPort, storagePath } = choices;
  return {
    channels: [
      {
        type: 'webhook',
        token_env: webhookSecretName,
        webhook: {
          bind: `127.0.0.1:${choices.webhookPort}`,
          outbound_url: `http://127.0.0.1:${choices.receiverPort}/replies`,
          outbound_token_env: replySecretName,
        },
      },
    ],
    brains: [
      {
        name: demoBrainName,
        sensitivity: 'private',
        policy: { kind: 'priority' },
        models: [
          {
            provider: 'local_runtime',
            model_id: choices.modelId,
            locality: 'local',
            ...(modelPort !== null && { base_url: `http://127.0.0.1:${modelPort}` }),
          },
        ],
      },
    ],
    routes: [{ channel: 'webhook', brain: demoBrainName }],
    observability: { addr: `127.0.0.1:${choices.adminPort}` },
    admin: { token_env: adminTokenName },
    ...(storagePath !== null && { storage: { path: storagePath } }),
  };
}
