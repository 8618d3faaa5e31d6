import { namedSecrets } from '../../config/secrets.ts';
import type { Access, AdminPorts, ConfigNames } from '../admin.ts';
import { channelsIn } from '../channel-named.ts';
import { completionsChannel } from '../../domain/ids.ts';
import { answerWith } from '../http/answer.ts';
import { channelsOf } from '../reports/merging.ts';
import { wholeOf } from '../reports/report.ts';
import { brainsOf, routesOf, statusOf, storageOf } from '../status.ts';
import * as schemas from '../schemas/status.ts';
import { readRoute, type Route } from './route.ts';

const contentType = 'application/json';

/** The current parts of the service and their states. */
export function runningConfigRoutes(ports: AdminPorts, access: Access): Route[] {
  return [
    readRoute({
      path: '/api/v1/status',
      principal: 'reader',
      summary: 'States, times, counts and backlog. No texts, no ids of senders, no secrets.',
      contentType,
      schema: { name: 'Status', of: schemas.statusSchema },
      answer: async (_values, { asker }) =>
        answerWith(schemas.statusSchema, await statusOf(ports, access, asker)),
    }),
    readRoute({
      path: '/api/v1/channels',
      principal: 'reader',
      summary: 'The channels and their states.',
      contentType,
      schema: { name: 'Channels', of: schemas.channelsSchema },
      answer: async (_values, { asker }) => {
        const rows = channelsOf(await wholeOf(ports), ports.runningConfig().config, asker);
        return answerWith(schemas.channelsSchema, { rows });
      },
    }),
    readRoute({
      path: '/api/v1/brains',
      principal: 'reader',
      summary: 'The brains, and the models that they ask.',
      contentType,
      schema: { name: 'Brains', of: schemas.brainsSchema },
      answer: () => answerWith(schemas.brainsSchema, { rows: brainsOf(ports.runningConfig()) }),
    }),
    readRoute({
      path: '/api/v1/routes',
      principal: 'reader',
      summary: 'The routes in order, with their conditions, and whether their channels run.',
      contentType,
      schema: { name: 'Routes', of: schemas.routesSchema },
      answer: async (_values, { asker }) => {
        const rows = routesOf(await wholeOf(ports), ports.runningConfig().config, asker);
        return answerWith(schemas.routesSchema, { rows });
      },
    }),
    namesRoute(ports),
  ];
}

function namesRoute(ports: AdminPorts): Route {
  return readRoute({
    path: '/api/v1/config/names',
    principal: 'reader',
    summary: 'Names of the configuration in use: its parts, and variables for secrets.',
    contentType,
    schema: { name: 'ConfigNames', of: schemas.configNamesSchema },
    answer: () => answerWith(schemas.configNamesSchema, namesOf(ports)),
  });
}

function namesOf(ports: AdminPorts): ConfigNames {
  const { revision, usedAt, config } = ports.runningConfig();
  return {
    revision,
    usedAt,
    channels: channelsIn(config).map(({ name }) => name),
    brains: config.brains.map(({ name }) => name),
    routes: [
      ...config.routes.map(({ channel, brain }) => ({ channel, brain })),
      ...(config.completions?.brains ?? []).map((brain) => {
        return { channel: completionsChannel, brain };
      }),
    ],
    storage: storageOf(config),
    session: config.session !== null,
    secrets: namedSecrets(config).map(({ name }) => name),
  };
}
