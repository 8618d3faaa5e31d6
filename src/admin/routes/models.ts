import type { AdminPorts } from '../admin.ts';
import { problem, tell } from '../http/answer.ts';
import { modelProbeSchema, modelNameSchema } from '../schemas/models.ts';
import { askRoute, type Route } from './route.ts';

export function modelRoutes({ models }: Pick<AdminPorts, 'models'>): Route[] {
  return [
    askRoute({
      path: '/api/v1/models/look',
      summary: 'Whether a model of the configuration in use is there; nothing of anyone is sent.',
      contentType: 'application/json',
      body: {
        kind: 'json',
        summary: 'The name of the model: its provider and its id, with a slash between.',
        bytesMax: 4_096,
        example: { model: 'local_runtime/llama3.2' },
        schema: { name: 'ModelNamed', of: modelNameSchema },
      },
      problems: { 404: 'No brain may ask such a model.', 429: 'Four are under way.' },
      schema: { name: 'ModelLook', of: modelProbeSchema },
      answer: async (_values, { body }) => {
        const looked = await models.look(body.model);
        switch (looked.kind) {
          case 'looked':
            return tell(modelProbeSchema, looked.look);
          case 'none':
            return problem(404, 'not_found', 'No brain of the configuration may ask such a model.');
          case 'busy':
            return problem(429, 'busy', 'Four are looked at already; ask again in a moment.', {
              'retry-after': '2',
            });
          default:
            return looked satisfies never;
        }
      },
    }),
  ];
}
