import { Writable } from 'node:stream';
import type { ModelConfig } from '../../config/config.ts';
import { createEvents } from '../../telemetry/events.ts';
import { systemClock } from '../../lib/clock.ts';
import { createLog } from '../../lib/log.ts';
import { lineOfModel } from '../../app/preflight/models.ts';
import { createServiceDeps } from '../../app/service.ts';
import { programVersion } from '../../lib/program.ts';

/**
 * Why a model that needs no key would not answer a private message now, and what to do about it;
 * null: it would.
 */
export async function doubtOf(model: ModelConfig): Promise<string | null> {
  const silence = new Writable({ write: (_part, _encoding, done) => done() });
  const log = createLog({ stream: silence, level: 'error', format: 'text' });
  const deps = createServiceDeps(createEvents({ log, ...systemClock }), programVersion());
  try {
    const { mark, message, remedy } = await lineOfModel(model, 'private', new Map(), deps);
    return mark === 'ok' ? null : `${model.modelId}: ${message}. ${remedy ?? ''}`.trimEnd();
  } finally {
    await deps.http.close();
  }
}
