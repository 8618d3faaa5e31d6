import { spans } from '../../telemetry/figures/figures.ts';
import type { AdminPorts } from '../admin.ts';
import { FiguresView } from '../figures.ts';
import { tell } from '../http/answer.ts';
import { figuresSchema } from '../schemas/figures.ts';
import { unread } from './parameters.ts';
import { readRoute, type Route } from './route.ts';

type Ports = Pick<AdminPorts, 'reader' | 'figures' | 'gauges' | 'now'>;

export function figuresRoute(ports: Ports): Route {
  const view = new FiguresView(ports);
  return readRoute({
    path: '/api/v1/figures',
    principal: 'reader',
    summary: 'What happened over time, by steps, of all instances; an answer stands for seconds.',
    parameters: {
      span: { kind: 'word', summary: 'Over how long; an hour where left out.', words: spans },
    },
    contentType: 'application/json',
    problems: unread,
    schema: { name: 'Figures', of: figuresSchema },
    answer: async ({ span }) => tell(figuresSchema, await view.told(span ?? 'hour')),
  });
}
