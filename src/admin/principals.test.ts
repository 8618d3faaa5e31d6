/** Who may use which route, listed apart from the table, since the other walks trust the table. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWalk } from '../../test/admin/walk.ts';

const expected = `
prober   GET /healthz
prober   GET /metrics
reader   GET /ui
reader   GET /ui/assets/{file}
operator GET /builder
reader   GET /builder/assets/{file}

reader   GET /api/v1/openapi.json
reader   GET /api/v1/status
reader   GET /api/v1/channels
reader   GET /api/v1/brains
reader   GET /api/v1/routes
reader   GET /api/v1/events
reader   GET /api/v1/messages
reader   GET /api/v1/messages/{id}
operator GET /api/v1/messages/{id}/text
operator GET /api/v1/messages/lines
operator GET /api/v1/messages/origins
reader   GET /api/v1/deliveries
reader   GET /api/v1/deliveries/reasons
operator POST /api/v1/deliveries/{id}/try
operator POST /api/v1/deliveries/try
reader   GET /api/v1/dead-letters
reader   GET /api/v1/dead-letters/reasons
operator GET /api/v1/dead-letters/{id}
operator POST /api/v1/dead-letters/{id}/replay
operator POST /api/v1/dead-letters/{id}/discard
operator GET /api/v1/audit
reader   GET /api/v1/figures
reader   GET /api/v1/spend
operator GET /api/v1/spend/senders
reader   GET /api/v1/spend/budgets
reader   GET /api/v1/search
operator GET /api/v1/search/texts

reader   GET /api/v1/conversations/counts
operator GET /api/v1/conversations
operator GET /api/v1/conversations/{id}
operator POST /api/v1/conversations/{id}/hold
operator POST /api/v1/conversations/{id}/answer
operator POST /api/v1/conversations/{id}/release
operator GET /api/v1/holds
operator GET /api/v1/holds/{id}
operator GET /api/v1/holds/{id}/waiting
operator GET /api/v1/conversations/{channel}/{conversation}
operator DELETE /api/v1/conversations/{channel}/{conversation}
operator GET /api/v1/conversations/{channel}/{conversation}/turns
operator GET /api/v1/senders/{channel}/{sender}/turns
operator DELETE /api/v1/senders/{channel}/{sender}
operator GET /api/v1/notes/{channel}/{conversation}
operator DELETE /api/v1/notes/{channel}/{conversation}
operator GET /api/v1/brains/{brain}/notes
operator DELETE /api/v1/brains/{brain}/notes
reader   GET /api/v1/approvals
operator GET /api/v1/approvals/{id}
operator POST /api/v1/approvals/{id}/approve
operator POST /api/v1/approvals/{id}/refuse
reader   GET /api/v1/tool-uses
operator GET /api/v1/tool-uses/{key}

reader   GET /api/v1/turned-away
operator GET /api/v1/turned-away/senders
operator GET /api/v1/pairings
operator POST /api/v1/pairings/{code}
operator DELETE /api/v1/pairings/{channel}/{sender}

reader   GET /api/v1/config/names
operator GET /api/v1/config
operator PUT /api/v1/config
operator GET /api/v1/config/disk
operator GET /api/v1/config/history
operator GET /api/v1/config/history/{revision}
operator POST /api/v1/config/history/{revision}/restore
operator POST /api/v1/config/validate
operator POST /api/v1/config/preflight
operator POST /api/v1/config/models
operator POST /api/v1/config/try
operator POST /api/v1/models/look
operator GET /api/v1/secrets
operator POST /api/v1/secrets/presence
operator PUT /api/v1/secrets/{name}
operator DELETE /api/v1/secrets/{name}
`;

test('each route has the principal that is written down here, and no route has none', async () => {
  await using started = await startWalk();
  const told = started.admin.routes.map((route) => {
    return `${route.principal.padEnd('operator'.length)} ${route.method} ${route.path}`;
  });
  const lines = expected.split('\n').filter((line) => line !== '');
  assert.deepEqual(told.toSorted(), lines.toSorted());
});
