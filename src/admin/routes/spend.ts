import type { SpendBy } from '../../domain/spend.ts';
import type { AdminPorts } from '../admin.ts';
import { Fresh, FiguresView } from '../figures.ts';
import { answerWith } from '../http/answer.ts';
import { budgetsSchema, spendSchema } from '../schemas/spend.ts';
import {
  budgetsSummary,
  spendDaysMax,
  spendDaysUsual,
  spendSummary,
  type SpendSummary,
} from '../spend.ts';
import { unread, readRoute, type Parameter, type Route } from './route.ts';
import { spans } from '../../telemetry/figures/figures.ts';
import { figuresSchema } from '../schemas/figures.ts';

type Ports = Pick<AdminPorts, 'reader' | 'runningConfig' | 'now'>;

const contentType = 'application/json';
const schema = { name: 'Spend', of: spendSchema };
const problems = unread;

const days = {
  kind: 'integer',
  summary: 'Of how many local days, today among them.',
  min: 1,
  max: spendDaysMax,
  otherwise: spendDaysUsual,
} as const satisfies Parameter;

/**
 * How long an answer is cached. Answers with senders are not, since a sender may be forgotten
 * meanwhile.
 */
const freshMs = 5_000;

/** What calls to models used and cost, and how full budgets are. */
export function spendRoutes({ reader, runningConfig: plan, now }: Ports): Route[] {
  const fresh = new Fresh<string, SpendSummary>();
  const summary = (by: Exclude<SpendBy, 'sender'>, of: number): Promise<SpendSummary> =>
    fresh.summary(`${by} ${of}`, freshMs, now(), () => spendSummary(reader, by, of, now()));
  return [
    readRoute({
      path: '/api/v1/spend',
      principal: 'reader',
      summary: 'What calls to models used and cost, by model, brain or day. Cached for seconds.',
      parameters: {
        by: {
          kind: 'word',
          summary: 'What it is added up by; models where left out.',
          words: ['day', 'brain', 'model'],
        },
        days,
      },
      contentType,
      problems,
      schema,
      answer: async (asked) =>
        answerWith(spendSchema, await summary(asked.by ?? 'model', asked.days)),
    }),
    readRoute({
      path: '/api/v1/spend/senders',
      principal: 'operator',
      summary: 'What calls to models used and cost, by sender, without trials.',
      parameters: { days },
      contentType,
      problems,
      schema,
      answer: async (asked) =>
        answerWith(spendSchema, await spendSummary(reader, 'sender', asked.days, now())),
    }),
    readRoute({
      path: '/api/v1/spend/budgets',
      principal: 'reader',
      summary: 'The budgets of brains, and how much of each is used and reserved today.',
      contentType,
      problems,
      schema: { name: 'Budgets', of: budgetsSchema },
      answer: async () =>
        answerWith(budgetsSchema, await budgetsSummary(reader, plan().config.brains, now())),
    }),
  ];
}

type FiguresPorts = Pick<AdminPorts, 'reader' | 'figures' | 'gauges' | 'now'>;

export function figuresRoute(ports: FiguresPorts): Route {
  const view = new FiguresView(ports);
  return readRoute({
    path: '/api/v1/figures',
    principal: 'reader',
    summary: 'Counts and times by steps of time, of all instances. Cached for seconds.',
    parameters: {
      span: { kind: 'word', summary: 'Over how long; an hour where left out.', words: spans },
    },
    contentType: 'application/json',
    problems: unread,
    schema: { name: 'Figures', of: figuresSchema },
    answer: async ({ span }) => answerWith(figuresSchema, await view.summary(span ?? 'hour')),
  });
}
