import type { AdminPorts } from '../admin.ts';
import { problem, tell, type Answer } from '../http/answer.ts';
import { deletedSchema } from '../schemas/story.ts';

/** What every route that deletes what people wrote says of itself. */
export const deletion = {
  schema: { name: 'Deleted', of: deletedSchema },
  problems: { 503: 'The storage failed: not all of it is deleted.' },
} as const;

/**
 * Fails when the storage has failed, so that nobody believes that something is gone which is not.
 * @param act how many went; rejects when the storage has failed
 */
export async function deleted(
  ports: Pick<AdminPorts, 'health'>,
  act: () => Promise<number>,
): Promise<Answer> {
  try {
    return tell(deletedSchema, { deleted: await act() });
  } catch (error) {
    const state = ports.health();
    if (state.status === 'ok') throw error;
    const detail = `svc cannot work: ${state.reason}. Not all of it is deleted; ask again later.`;
    return problem(503, 'storage_failed', detail);
  }
}
